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

/** icon draws a path on a field of 24 by 24. */
export function icon(path: string) {
  const [svg, line] = ['svg', 'path'].map(name => document.createElementNS('http://www.w3.org/2000/svg', name))
  svg.setAttribute('viewBox', '0 0 24 24')
  svg.setAttribute('aria-hidden', 'true')
  line.setAttribute('d', path)
  svg.append(line)
  return svg
}

/** adopt adds a constructed style sheet, the one kind that style-src
 * 'none' allows. */
export function adopt(to: DocumentOrShadowRoot, css: string) {
  const sheet = new CSSStyleSheet()
  sheet.replaceSync(css)
  to.adoptedStyleSheets = [...to.adoptedStyleSheets, sheet]
}

export const lens = 'M21 21l-5-5M18 11a7 7 0 1 1-14 0 7 7 0 0 1 14 0z'
