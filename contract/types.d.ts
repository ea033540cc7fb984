/**
 * Types of the API of caddy-docs: requests, responses and stream events, and
 * the messages of the AI SDK. They need no package. Save this file next to your
 * code; /v1/types.d.ts has the one of your server's version.
 */

/** The body of every error that comes before a reply has started. */
export interface ApiError {
  /** One sentence that a developer can act on. */
  error: string
  code: ErrorCode
  /** The request in the server's log. */
  requestId: string
  /** A sentence for the reader, in the language of Accept-Language. */
  message: string
}

export type ErrorCode =
  | 'bad_request'
  | 'broken_body'
  | 'busy'
  | 'forbidden'
  | 'host_not_allowed'
  | 'index_not_ready'
  | 'internal'
  | 'method_not_allowed'
  | 'not_json'
  | 'origin_missing'
  | 'origin_not_allowed'
  | 'rate_limited'
  | 'refused'
  | 'search_misconfigured'
  | 'search_unavailable'
  | 'stopping'
  | 'token_expired'
  | 'token_invalid'
  | 'token_network'
  | 'token_origin'
  | 'token_site'
  | 'too_large'
  | 'unauthorized'
  | 'unknown_page'
  | 'unknown_path'
  | 'unknown_site'
  | 'unknown_thread'
  | 'wrong_site'

/** POST /v1/search/{domain} */
export interface SearchRequest {
  /** 1 to 1,000 characters. */
  query: string
  /** 1 to 50. Default: 10. */
  pageSize?: number | null
  /** 0 to 100. Default: 0. */
  offset?: number | null
  /** The texts to return. Default: both. */
  fields?: ('content' | 'snippet')[] | null
  /** 0 to 1. Default: 0. */
  scoreThreshold?: number | null
  filter?: SearchFilter | null
}

export interface SearchFilter {
  version?: string | null
  language?: string | null
  tag?: string | null
  /** Of a group of sites. */
  site?: string | null
}

/** The filter of the v1 message endpoint. */
export interface FilterV1 {
  version?: string | null
  language?: string | null
}

/** The response to a search is an array of these. */
export interface SearchResult {
  /** The section's text, empty if `fields` leaves it out. */
  content: string
  /** The page's path without a slash in front, with #anchor. */
  path: string
  metadata: SearchMetadata
}

export interface SearchMetadata {
  title: string
  /** Empty for the text before a page's first heading. */
  heading: string
  breadcrumbs: string[]
  description?: string
  version?: string
  language?: string
  tags?: string[]
  /** The page's site, in a group of sites. */
  site?: string
  /** Where to link to. */
  url: string
  /** 0 to 1. */
  score: number
  snippet?: string
  highlights?: Highlights
}

/** Start and end, exclusive, in UTF-16 code units. */
export type HighlightRange = [start: number, end: number]

export interface Highlights {
  title?: HighlightRange[]
  heading?: HighlightRange[]
  snippet?: HighlightRange[]
}

/** POST /v1/page/{domain} */
export interface PageRequest {
  path: string
}

export interface Page {
  path: string
  /** Markdown with front matter. */
  content: string
}

/** POST /v1/feedback/{domain}: `threadId` for a reply, or `path` for a page. */
export interface FeedbackRequest {
  threadId?: string | null
  messageId?: string | null
  path?: string | null
  /** Null withdraws the vote. */
  rating: 'up' | 'down' | null
  reasons?: string[] | null
  comment?: string | null
}

/** POST /v1/events/{domain}. A click has `path` and `position`. */
export interface EventRequest {
  type: 'search' | 'click'
  query: string
  hits?: number
  path?: string | null
  position?: number
}

/** POST /v1/token/{domain}, from a page. */
export interface Token {
  token: string
  /** Seconds. */
  expiresIn: number
}

/** What the reader sees or has selected. */
export interface Context {
  type: 'code' | 'textSelection'
  value: string
  path?: string | null
  elementId?: string | null
}

/** POST /v2/assistant/{domain}/message */
export interface MessageRequestV2 {
  /** Identifies the user, or `anonymous`. */
  fp: string
  messages: MessageV2[]
  threadId?: string | null
  /** The X-Thread-Key of the thread. It may be left out. */
  threadKey?: string | null
  /** 1 to 50. Default: 5. */
  retrievalPageSize?: number | null
  filter?: SearchFilter | null
  context?: Context[] | null
  /** At most 200 characters. */
  currentPath?: string | null
  id?: string
  trigger?: string
}

/** A message as the server reads it. Those of the AI SDK are. */
export interface MessageV2 {
  id?: string | null
  role: string
  parts?: PartV2[] | null
  content?: unknown
  metadata?: unknown
}

export interface PartV2 {
  type?: string
  text?: unknown
  url?: string
  mediaType?: string
  filename?: string
}

/** POST /v1/assistant/{domain}/message, for AI SDK 4 */
export interface MessageRequestV1 {
  fp: string
  messages: MessageV1[]
  threadId?: string | null
  threadKey?: string | null
  retrievalPageSize?: number | null
  filter?: FilterV1 | null
  context?: Context[] | null
  currentPath?: string | null
  id?: string
  trigger?: string
}

export interface MessageV1 {
  id?: string | null
  role: 'system' | 'assistant' | 'data' | 'user'
  createdAt?: string
  content?: unknown
  data?: unknown
  annotations?: unknown[] | null
  parts?: PartV1[] | null
  experimental_attachments?: Attachment[] | null
}

export interface PartV1 {
  type?: string
  text?: unknown
  source?: { sourceType?: string; id?: string; url?: string; title?: string }
  mediaType?: string
  filename?: string
  url?: string
}

export interface Attachment {
  name?: string
  contentType?: string
  /** A `data:` URL. */
  url: string
}

/** A source that the assistant has read: the output of its tools. */
export type ToolResult = {
  path: string
  title: string
  url: string
  score: number
  metadata: { title: string }
}

/** The metadata of a reply. Only `threadId` is there while it is streamed. */
export type DocsMetadata = {
  threadId?: string
  finishReason?: 'stop' | 'length' | 'content-filter' | 'tool-calls' | 'error' | 'other'
  usage?: { inputTokens: number; outputTokens: number; totalTokens: number; cachedInputTokens?: number }
  /** Whether the documentation answers the question. */
  answered?: 'yes' | 'partly' | 'no'
  /** `extractive` without a model. */
  model?: string
  /** The ids of the sources that the answer links to. */
  cited?: string[]
  /** Names in the answer's code that are in none of the sources. */
  unverified?: string[]
  notice?: 'search unavailable' | 'model unavailable'
  /** Not every page could be checked for this reader in time. */
  incomplete?: boolean
  /** Of a reply that ended with an error. */
  error?: { code: StreamErrorCode; requestId: string }
}

export type StreamErrorCode = 'broke_off' | 'stopping' | 'time_limit' | 'unavailable'

/** The data parts of a reply: `data-suggestions`. */
export type DocsData = {
  suggestions: { questions: string[] }
}

/** The tools of a reply: `tool-search` and `tool-read_page`. */
export type DocsTools = {
  search: { input: { query: string }; output: ToolResult[] }
  read_page: { input: { page: string }; output: ToolResult[] }
}

type ToolPart<NAME extends keyof DocsTools> = {
  type: `tool-${NAME}`
  toolCallId: string
  providerExecuted?: boolean
} & (
  | { state: 'input-streaming'; input: Partial<DocsTools[NAME]['input']> | undefined }
  | { state: 'input-available'; input: DocsTools[NAME]['input'] }
  | { state: 'output-available'; input: DocsTools[NAME]['input']; output: DocsTools[NAME]['output'] }
)

export type DocsPart =
  | { type: 'text'; text: string; state?: 'streaming' | 'done' }
  | { type: 'reasoning'; text: string; state?: 'streaming' | 'done' }
  | { type: 'source-url'; sourceId: string; url: string; title?: string }
  | { type: 'file'; mediaType: string; filename?: string; url: string }
  | { type: 'step-start' }
  | { type: 'data-suggestions'; id?: string; data: DocsData['suggestions'] }
  | ToolPart<'search'>
  | ToolPart<'read_page'>

/**
 * A message of AI SDK 5 to 7: `useChat<DocsUIMessage>(…)`. For the type of
 * `onData`, write `UIMessage<DocsMetadata, DocsData, DocsTools>` instead.
 */
export interface DocsUIMessage {
  id: string
  role: 'system' | 'user' | 'assistant'
  metadata?: DocsMetadata
  parts: DocsPart[]
}

/**
 * An event of the v2 stream, for clients that read it themselves: the JSON
 * after `data: `. The last line is `data: [DONE]`.
 */
export type DocsStreamEvent =
  | { type: 'start'; messageId?: string; messageMetadata?: DocsMetadata }
  | { type: 'start-step' }
  | { type: 'finish-step' }
  | { type: 'tool-input-start'; toolCallId: string; toolName: string; providerExecuted: true }
  | { type: 'tool-input-available'; toolCallId: string; toolName: string; input: unknown; providerExecuted: true }
  | { type: 'tool-output-available'; toolCallId: string; output: unknown; providerExecuted: true }
  | { type: 'source-url'; sourceId: string; url: string; title?: string }
  | { type: 'reasoning-start'; id: string }
  | { type: 'reasoning-delta'; id: string; delta: string }
  | { type: 'reasoning-end'; id: string }
  | { type: 'text-start'; id: string }
  | { type: 'text-delta'; id: string; delta: string }
  | { type: 'text-end'; id: string }
  | { type: 'data-suggestions'; data: DocsData['suggestions'] }
  | { type: 'message-metadata'; messageMetadata: DocsMetadata }
  | { type: 'error'; errorText: string }
  | {
      type: 'finish'
      /** This and threadId are absent in replies to AI SDK transports. */
      finishReason?: DocsMetadata['finishReason']
      threadId?: string
      messageMetadata?: DocsMetadata
    }

/** An element of `annotations` of an assistant's message of AI SDK 4. */
export type DocsAnnotation =
  | { type: 'thread'; threadId: string }
  | ({ type: 'finish' } & Omit<DocsMetadata, 'finishReason' | 'usage' | 'error'>)
  | { type: 'error'; code: StreamErrorCode; requestId: string }

/** An element of `data` of useChat of AI SDK 4. The last `finish` counts. */
export type DocsStreamData =
  | { type: 'finish'; threadId: string }
  | { type: 'suggestions'; data: DocsData['suggestions'] }

/** A message of AI SDK 4, with the annotations of a reply. */
export interface DocsMessageV4 {
  id: string
  role: 'system' | 'user' | 'assistant' | 'data'
  createdAt?: Date
  content: string
  annotations?: DocsAnnotation[]
}
