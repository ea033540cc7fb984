/** icons are paths on a field of 24 by 24. The build puts them where they are
 * used. */
export const enum icons {
  ask = 'M4 5h16v11H9l-5 4z',
  again = 'M4 12a8 8 0 1 0 2-6M4 4v4h4',
  close = 'M6 6l12 12M18 6 6 18',
  copy = 'M9 9h11v11H9zM5 15V4h10',
  fresh = 'M12 5v14M5 12h14',
  send = 'M12 19V5M6 11l6-6 6 6',
  side = 'M4 5h16v14H4zM14 5v14',
  stop = 'M7 7h10v10H7z',
  thumb = 'M3 11h4l4-8q4 2 2 7h8l-3 10H3z',
}
