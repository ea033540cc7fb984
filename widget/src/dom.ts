// Elements are made by calls, never from HTML: a Content-Security-Policy may
// forbid every other way, and nothing that a server sends can become a script.

type Child = Node | string | false | undefined | 0 | Child[]
type Properties = Record<string, string | number | boolean | null | ((event: any) => void)>

/** put gives an element its children. Arrays are flat, and what is false or
 * empty is left out. */
export const put = <E extends ParentNode>(e: E, ...children: Child[]) => {
  e.replaceChildren(...children.flat(2).filter(c => c) as (Node | string)[])
  return e
}

/** h makes an element with properties. "div.turn" names its class, which is its
 * part too. */
export const h = <K extends keyof HTMLElementTagNameMap>(name: K | `${K}.${string}`, properties: Properties = {}, ...children: Child[]) => {
  const [tag, ...names] = name.split('.')
  const e = document.createElement(tag as K)
  Object.assign(e, properties)
  if (names[0]) e.className = e.part.value = names.join(' ')
  return put(e, children)
}

/** icon draws a path on a field of 24 by 24. */
export const icon = (path: string) => {
  const [svg, line] = ['svg', 'path'].map(name => document.createElementNS('http://www.w3.org/2000/svg', name))
  svg.setAttribute('viewBox', '0 0 24 24')
  svg.ariaHidden = 'true'
  line.setAttribute('d', path)
  svg.append(line)
  return svg
}

/** adopt adds a constructed style sheet, the one kind that style-src
 * 'none' allows. */
export const adopt = (to: DocumentOrShadowRoot, css: string) => {
  const sheet = new CSSStyleSheet()
  sheet.replaceSync(css)
  to.adoptedStyleSheets.push(sheet)
}

export const lens = 'M21 21l-5-5M11 4a7 7 0 1 0 .1 0z'
