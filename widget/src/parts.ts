// What the loader has made is not loaded again: it hands its functions over.
import english from './strings/en.json'

export const [h, put, icon, adopt, chunk, root, config, base, texts, dialog, selected, started] = CONTEXT

/** s are the texts: the build makes a list of strings/en.json. */
export const s: string[] = Object.assign(english as unknown as string[], texts)

/** fill replaces {n} or {q} in a text. What readers wrote may run the other way
 * than the text around it. */
export const fill = (text: string, value: string | number) => text.replace(/\{\w\}/, mark => mark === '{q}' ? '\u2068' + value + '\u2069' : value + '')

/** name gives a button its accessible name, which is shown as a tooltip. */
export const name = (button: HTMLElement, label: string) => {
  button.title = button.ariaLabel = label
}

/** press makes a button of an icon or, without one, of its label. */
export const press = (label: string, path: string, click: () => void, kind: `button.${string}` = 'button.icon') => {
  const b = h(kind as 'button.icon', { onclick: click }, path ? icon(path) : label)
  if (path) name(b, label)
  return b
}
