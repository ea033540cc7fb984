// What the parts of the widget share.
import { config, dialog, fill, put, s } from './parts'
import type { Problem } from './api'

export const has = (feature: string) => RegExp(`\\b${feature}\\b`).test(config.features ?? 'search,ask,feedback')

/** status is the line below the search field. */
const status = dialog.querySelector('output')!

/** say shows a text in the status line, which screen readers announce. */
export const say = (text: string) => {
  // Emptied first, so that the same sentence is read twice.
  put(status)
  setTimeout(put, 99, status, text)
}

/** emit dispatches docs:name on the document. The reader's own words go along
 * only if the site wants them. */
export const emit = (name: string, detail?: object, words?: object) => {
  document.dispatchEvent(new CustomEvent('docs:' + name, { detail: config.events === 'text' ? { ...detail, ...words } : detail }))
}

const url = new URL(location.href)
const take = (name: string) => {
  const text = url.searchParams.get(name)
  url.searchParams.delete(name)
  return text
}
/** question and query are in the address of the page. A site's own page of
 * results, which has the form for them, keeps its query. */
export const question = take('ask')
export const query = !location.href.startsWith(document.querySelector<HTMLInputElement>('[name=q]')?.form?.action!) && take('q')

/** unlink takes them out of it, once they are sent: a reload begins with the
 * page. */
export const unlink = () => {
  if (linked && url.pathname === location.pathname) history.replaceState(history.state, '', url)
  linked = false
}
export let linked: unknown = question || query

/** stays reports whether a click on a link opens it beside the page. */
export const stays = (e: MouseEvent, link: HTMLAnchorElement) => link.target || e.ctrlKey || e.metaKey || e.shiftKey

/** explain returns a sentence about what went wrong and what to do. */
export const explain = ({ status, wait, message }: Problem) => !navigator.onLine ? s[T.offline]
  : status === 429 ? fill(s[T.limited], wait ?? 60)
  : status && message || s[T.failed] // errors of the browser have a message, too

/** store returns a function that keeps a value under a name for this site, as
 * JSON, and without a value returns what is kept. */
const store = (where = 'session') => (name: string, ...value: unknown[]): any => {
  try {
    const storage = (window as any)[where + 'Storage'] // there is none named "off"
    const key = 'docs:' + config.site + ':' + name
    return value.length ? storage[key] = value[0] ? JSON.stringify(value[0]) : '' : JSON.parse(storage[key])
  } catch { /* blocked, full, or not there */ }
}

/** kept holds conversations and recent searches; tab, what the next page has
 * to do. */
export const kept = store(config.conversations)
export const tab = store()
