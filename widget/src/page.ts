// What is in the page itself, on the sites that want it: its menu, and at its end
// whether it helped, asked once in a tab. It is a chunk of its own: most sites
// have neither.
import { menu } from './menu'
import css from './page.css'

export const [[h, put, , adopt, , root, config, base], s, mainOf, has, tab, feedback] = PAGE
PAGE_TEXTS.forEach((text, i) => { s[T.helpful + i] ??= text })

/** inPage puts elements into the page, in the colors of the box. place gives
 * them their place, also after a router has replaced the page. */
export const inPage = (place: (host: HTMLElement) => void, ...children: Element[]) => {
  const host = document.createElement('caddy-docs')
  const shadow = host.attachShadow({ mode: 'open' })
  shadow.adoptedStyleSheets = root.adoptedStyleSheets
  put(shadow, children)

  const watch = new MutationObserver(() => keep())
  const keep = () => {
    if (!window.Docs) { // Docs.destroy
      watch.disconnect()
      host.remove()
      return
    }
    host.style.cssText = (root.host as HTMLElement).style.cssText
    place(host)
  }
  const start = () => {
    watch.observe(document, { childList: true, subtree: true })
    watch.observe(root.host, { attributes: true })
    keep()
  }
  // A framework that takes over the page's HTML must find it as it was sent.
  if (document.readyState === 'complete') start()
  else addEventListener('load', start)
}

const pageFeedback = () => {
  const bar = h('div.chip.page-feedback')
  let path = ''
  inPage(host => {
    const here = location.pathname
    if (path === here && host.isConnected) return
    path = here
    bar.hidden = tab(here)
    put(bar, s[T.helpful], feedback(() => {
      tab(here, 1)
      return { path: here }
    }))
    // Below the text rather than beside it, where main has columns.
    const text = mainOf().querySelector('article:has(h1)') ?? mainOf()
    text.append(host)
  }, bar)
}

adopt(root, css)
if (has('page_feedback')) pageFeedback()
if (has('page_menu')) menu()
