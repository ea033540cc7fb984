// Whether a page helped: asked at its end, once in a tab.
import type { App } from './app'
import { feedback } from './feedback'
import { h } from './parts'

export function pageFeedback(app: App) {
  const { tab, s } = app
  const bar = h('div.page-feedback')
  let path = ''
  const rated = () => tab.get<string[]>('rated') ?? []
  const look = () => {
    const here = location.pathname
    if (path !== here) {
      bar.hidden = true
      bar.replaceChildren(s.helpful, ...feedback(app, r => {
        tab.set('rated', [...rated(), here].slice(-99))
        return { path: here, ...r }
      }))
    }
    path = here
    if (bar.hidden) bar.hidden = innerHeight + scrollY < document.documentElement.scrollHeight - 99 || rated().includes(here)
  }
  app.root.append(bar)
  addEventListener('scroll', look, { passive: true })
  look()
}
