// Whether a page helped: asked at its end, once in a tab.
import { tab } from './app'
import { feedback } from './feedback'
import { h, put, root, s } from './parts'

export function pageFeedback() {
  const bar = h('div.page-feedback')
  let path = ''
  const rated = () => (tab('rated') ?? []) as string[]
  const look = () => {
    const here = location.pathname
    if (path !== here) {
      bar.hidden = true
      put(bar, s[T.helpful], feedback(r => {
        tab('rated', [...rated(), here].slice(-99))
        return { path: here, ...r }
      }))
    }
    path = here
    if (bar.hidden) bar.hidden = innerHeight + scrollY < document.documentElement.scrollHeight - 99 || rated().includes(here)
  }
  root.append(bar)
  addEventListener('scroll', look, { passive: true })
  look()
}
