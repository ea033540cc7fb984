// Whether a page helped: asked at its end, once in a tab.
import { tab } from './app'
import { feedback } from './feedback'
import { h, root, s } from './parts'

export function pageFeedback() {
  const bar = h('div.page-feedback')
  let path = ''
  const rated = () => tab.get<string[]>('rated') ?? []
  const look = () => {
    const here = location.pathname
    if (path !== here) {
      bar.hidden = true
      bar.replaceChildren(s[T.helpful], ...feedback(r => {
        tab.set('rated', [...rated(), here].slice(-99))
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
