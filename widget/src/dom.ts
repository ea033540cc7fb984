// Elements are made by calls, never from HTML: a Content-Security-Policy may
// forbid every other way, and nothing that a server sends can become a script.

type Child = Node | string | false | undefined | 0
type Value = string | number | boolean | undefined | ((event: any) => void)

/** h makes an element. "div.turn" names its class, which is its part too. A
 * function is a listener. */
export function h<K extends keyof HTMLElementTagNameMap>(name: K | `${K}.${string}`, attributes: Record<string, Value> = {}, ...children: Child[]) {
  const [tag, ...names] = name.split('.')
  const e = document.createElement(tag as K)
  if (names[0]) e.className = e.part.value = names.join(' ')
  for (const k in attributes) {
    const v = attributes[k]
    if (typeof v === 'function') e.addEventListener(k, v)
    else if (v !== undefined && v !== false) e.setAttribute(k, v as string)
  }
  e.append(...children.filter(c => c) as (Node | string)[])
  return e
}

export const icons = {
  ask: 'M4 5h16v11H9l-5 4z',
  again: 'M4 12a8 8 0 1 0 2-6M4 4v4h4',
  close: 'M6 6l12 12M18 6 6 18',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  down: 'M12 5v14M6 13l6 6 6-6',
  fresh: 'M12 5v14M5 12h14',
  search: 'M21 21l-5-5M18 11a7 7 0 1 1-14 0 7 7 0 0 1 14 0z',
  send: 'M12 19V5M6 11l6-6 6 6',
  side: 'M4 5h16v14H4zM14 5v14',
  stop: 'M7 7h10v10H7z',
  thumb: 'M3 11h4l4-8c2 0 3 1 2 4l-.500 2H19c2 0 2 1 2 2l-2 7c0 1-1 2-2 2H3z',
}

/** icon draws a path on a field of 24 by 24. */
export function icon(path: string) {
  const [svg, line] = ['svg', 'path'].map(name => document.createElementNS('http://www.w3.org/2000/svg', name))
  svg.setAttribute('viewBox', '0 0 24 24')
  svg.setAttribute('aria-hidden', 'true')
  line.setAttribute('d', path)
  svg.append(line)
  return svg
}

/** name gives a button its accessible name, which is shown as a tooltip. */
export function name(button: HTMLElement, label: string) {
  button.title = button.ariaLabel = label
}

/** press makes a button of an icon or, without one, of its label. */
export function press(label: string, path: string, click: () => void, kind: `button.${string}` = 'button.icon') {
  const b = h(kind as 'button.icon', { type: 'button', click }, path ? icon(path) : label)
  if (path) name(b, label)
  return b
}

/** adopt adds a constructed style sheet, the one kind that style-src
 * 'none' allows. */
export function adopt(to: DocumentOrShadowRoot, css: string) {
  const sheet = new CSSStyleSheet()
  sheet.replaceSync(css)
  to.adoptedStyleSheets = [...to.adoptedStyleSheets, sheet]
}
