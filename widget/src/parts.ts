// What the loader has made is not loaded again: it hands its functions over.
import type * as dom from './dom'

export let h: typeof dom.h, icon: typeof dom.icon, adopt: typeof dom.adopt

export function use(d: Pick<typeof dom, 'h' | 'icon' | 'adopt'>) { ({ h, icon, adopt } = d) }

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
