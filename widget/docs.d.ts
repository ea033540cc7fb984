// The widget's JavaScript API and events. Copy this file to your site's types.

/** What the widget's script adds to the page. */
export interface Docs {
  /** Opens the dialog, with search unless "ask" is given. */
  open(mode?: 'search' | 'ask'): void
  close(): void
  /** Opens Ask and fills in a question. The reader sends it. */
  ask(question?: string): void
  /** Opens search and searches for a query. */
  search(query?: string): void
  /** Removes the widget from the page. */
  destroy(): void
}

/** The events that the widget dispatches on document. The fields query,
 * question, answer and comment are there only with `events text`. */
export interface DocsEvents {
  'docs:open': CustomEvent<{ mode: 'search' | 'ask' }>
  'docs:close': CustomEvent<null>
  /** Results are shown. */
  'docs:search': CustomEvent<{ hits: number, query?: string }>
  /** A result is followed. position counts from 1. */
  'docs:click': CustomEvent<{ path: string, position: number, query?: string }>
  /** A question is sent. */
  'docs:ask': CustomEvent<{ question?: string }>
  /** An answer has ended. complete is false after a stop or an error. */
  'docs:answer': CustomEvent<{
    answered?: 'yes' | 'partly' | 'no', sources: number, complete: boolean, ms: number, question?: string, answer?: string
  }>
  'docs:feedback': CustomEvent<{ rating: 'up' | 'down' | null, reasons?: string[], comment?: string }>
}

declare global {
  interface Window { Docs?: Docs }
  interface DocumentEventMap extends DocsEvents {}
}
