// What is in the page itself, on the sites that want it: its menu, and at its end
// whether it helped, asked once in a tab. It is a chunk of its own: most sites
// have neither.
import { menu } from './menu'
import css from './page.css'

export const [[h, put, , adopt, , root, config, base], s, mainOf, has, tab, feedback] = PAGE
PAGE_TEXTS.forEach((text, i) => { s[T.helpful + i] ??= text })

const pageFeedback = () => {
  const bar = h('div.chip.page-feedback')
  let path = ''
  const look = () => {
    const here = location.pathname
    if (path !== here) {
      bar.hidden = true
      put(bar, s[T.helpful], feedback(() => {
        tab(here, 1)
        return { path: here }
      }))
    }
    path = here
    if (bar.hidden) bar.hidden = innerHeight + scrollY < document.documentElement.scrollHeight - 99 || tab(here)
  }
  root.append(bar)
  addEventListener('scroll', look)
  look()
}

adopt(root, css)
if (has('page_feedback')) pageFeedback()
if (has('page_menu')) menu()
