// App is what the parts of the widget share.
import type { Client } from './api'
import type { Strings } from './strings/en'
import type { Config, Context, Mode } from './types'

export interface App extends Context {
  s: Strings
  client: Client
  /** has reports whether the site wants a feature. */
  has(feature: string): boolean
  /** say tells screen readers. */
  say(text: string): void
  /** emit dispatches docs:name on the document. The reader's own words go
   * along only if the site wants them. */
  emit(name: string, detail?: object, words?: object): void
  show(mode: Mode): void
  /** leave closes the modal dialog when a link in it is followed. */
  leave(): void
  /** ask sends a question. */
  ask(question: string): void
  /** explain says in a sentence what went wrong and what to do. */
  explain(error: any): string
  /** kept is where conversations and recent searches are; tab is where the
   * next page finds what it has to do. */
  kept: Store
  tab: Store
}

/** fill replaces {n} or {q} in a sentence. */
export const fill = (sentence: string, value: string | number) => sentence.replace(/\{\w\}/, () => String(value))

/** Store keeps JSON for this site. What cannot be stored is forgotten. */
export interface Store {
  get<T>(name: string): T | undefined
  set(name: string, value?: unknown): void
}

export function store(config: Config, where: string | undefined): Store {
  const area = (name: string, f: (s: Storage, key: string) => any) => {
    try {
      if (where !== 'off') return f(where === 'local' ? localStorage : sessionStorage, 'docs:' + config.site + ':' + name) ?? undefined
    } catch { /* blocked, full, or not ours */ }
  }
  return {
    get: name => area(name, (s, key) => JSON.parse(s.getItem(key)!)),
    set(name, value) { area(name, (s, key) => value === undefined ? s.removeItem(key) : s.setItem(key, JSON.stringify(value))) },
  }
}
