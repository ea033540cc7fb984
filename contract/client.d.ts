export type * from './types'

/** Where the assistant is. Other options replace those of the transport. */
export interface DocsTransportOptions {
  /** The URL below which the API is, without a slash at its end. */
  server: string
  /** The {domain} of the API. */
  site: string
  /** Left out on the site's own pages that send a browser token themselves. */
  key?: string
  [option: string]: unknown
}

/** Options of a DefaultChatTransport of AI SDK 5, 6 and 7: each chat has a thread. */
export function docsTransport(options: DocsTransportOptions): {
  api: string
  headers: Record<string, string>
  prepareSendMessagesRequest: (request: {
    id: string
    messages: any[]
    trigger: 'submit-message' | 'regenerate-message'
    messageId: string | undefined
    body: Record<string, any> | undefined
  }) => { body: object }
  fetch: typeof fetch
}

/** Whether an answer was read to its end: a proxy can cut its stream without an error. */
export function isComplete(message: { metadata?: any }): boolean

/** The sentence of an error for the reader. */
export function sentence(error: Error): string
