// Whether a page helped: asked at its end, once in a tab.
import { tab } from './app'
import { feedback } from './feedback'
import { h, put, root, s } from './parts'

export const pageFeedback = () => {
  const bar = h('div.page-feedback')
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
