// What the widget's files share. docs.d.ts is the part that sites see.
import type * as dom from './dom'
import type { Strings } from './strings/en'

export type Mode = 'search' | 'ask'

/** Config comes with the script; see widget.Loader in widget.go. */
export interface Config {
  site: string
  title?: string
  placeholder?: string
  accent?: string
  theme?: string
  shortcut?: string
  position?: string
  features?: string[]
  conversations?: string
  strings?: Record<string, Partial<Strings>>
  support?: string
  starters?: string[]
  events?: string
  languages?: string[]
}

/** Context is what the loader hands to the rest. */
export interface Context extends Pick<typeof dom, 'h' | 'icon' | 'adopt' | 'lens'> {
  host: HTMLElement
  root: ShadowRoot
  config: Config
  /** base is the URL before /v1/. */
  base: string
  language: string
}

export interface Api {
  open(mode?: Mode): void
  close(): void
  ask(question?: string): void
  search(query?: string): void
  toggle(): void
  destroy(): void
}
