// What the loader and the rest share. docs.d.ts is the part that sites see.
import type * as app from './app'
import type * as dom from './dom'

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
  replace?: string
  features?: string
  conversations?: string
  /** strings are texts by language, keyed by their places (see T). "open" is
   * the button's text. */
  strings?: Record<string, Record<number, string> & { open?: string }>
  support?: string
  starters?: string[]
  events?: string
  mcp?: boolean // the site has an MCP server for everyone
}

/** Context is what the loader hands to the rest: in a list, whose places cost
 * fewer bytes than names. base is the URL before /v1/; texts replace the English
 * ones; dialog has the search field already, and selected
 * was selected on the page when it opened; started gets what the rest can do. */
export type Context = [
  h: typeof dom.h, put: typeof dom.put, icon: typeof dom.icon, adopt: typeof dom.adopt, chunk: (name: string) => Promise<any>,
  root: ShadowRoot, config: Config, base: string, texts: object, dialog: HTMLDialogElement, selected: string, started: (api: Api) => void,
]

export type PageContext = [
  context: Context, s: string[], mainOf: () => Element,
  has: typeof app.has, tab: typeof app.tab, feedback: typeof import('./feedback').feedback,
]

export interface Api {
  open(mode?: Mode): void
  close(): void
  ask(question?: string): void
  search(query?: string): void
  toggle(): void
  destroy(): void
}
