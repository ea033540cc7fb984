// What the parts of the widget share.
import { config, features, fill, h, s } from './parts'
import type { Problem } from './api'

export const has = (feature: string) => features.includes(feature)

export const status = h('div.status', { role: 'status' })

/** say announces a text to screen readers. */
export function say(text: string) {
  // Emptied first, so that the same sentence is read twice.
  status.textContent = ''
  setTimeout(() => { status.textContent = text }, 99)
}

/** emit dispatches docs:name on the document. The reader's own words go along
 * only if the site wants them. */
export function emit(name: string, detail?: object, words?: object) {
  document.dispatchEvent(new CustomEvent('docs:' + name, { detail: config.events === 'text' ? { ...detail, ...words } : detail }))
}

/** explain returns a sentence about what went wrong and what to do. */
export const explain = (problem: Problem | Error) => !navigator.onLine ? s[T.offline]
  : problem instanceof Error ? s[T.failed]
  : problem.status === 429 ? fill(s[T.limited], problem.wait ?? 60)
  : problem.message ?? s[T.failed]

/** store keeps JSON for this site. What cannot be stored is forgotten. */
function store(where?: string) {
  const area = (name: string, f: (storage: Storage, key: string) => any) => {
    try {
      if (where !== 'off') return f(where === 'local' ? localStorage : sessionStorage, 'docs:' + config.site + ':' + name) ?? undefined
    } catch { /* blocked, full, or not JSON */ }
  }
  return {
    get: <V>(name: string): V | undefined => area(name, (storage, key) => JSON.parse(storage.getItem(key)!)),
    set(name: string, value?: unknown) {
      area(name, (storage, key) => value === undefined ? storage.removeItem(key) : storage.setItem(key, JSON.stringify(value)))
    },
  }
}

/** kept holds conversations and recent searches; tab, what the next page has
 * to do. */
export const kept = store(config.conversations)
export const tab = store()
