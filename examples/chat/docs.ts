// What the chat pages share: the address of the assistant, the key, the threads,
// and the sentence of an error.
import type { PrepareSendMessagesRequest, UIMessage } from 'ai'

const server = import.meta.env.VITE_DOCS_SERVER ?? 'http://localhost:8080'
const site = import.meta.env.VITE_DOCS_SITE ?? 'manual'
const key = import.meta.env.VITE_DOCS_KEY ?? 'svc_dsc_example_key_of_the_manual'

const headers = { Authorization: `Bearer ${key}` }
/** The thread of each chat, by the id of the chat: a new chat is a new thread. */
const threads = new Map<string, string>()

/** For the DefaultChatTransport of AI SDK 5, 6 and 7. */
export const v2 = {
  api: `${server}/v2/assistant/${site}/message`,
  headers,
  // The hook sends no answer with the request that regenerates the first one,
  // so the thread is kept here.
  prepareSendMessagesRequest: ({ id, messages, trigger, messageId, body }) => ({
    body: {
      fp: 'anonymous', threadId: threads.get(id), currentPath: location.pathname.slice(0, 200),
      ...body, id, messages, trigger, messageId,
    },
  }),
  async fetch(input: RequestInfo | URL, init?: RequestInit) {
    const response = await fetch(input, init)
    const thread = response.headers.get('X-Thread-Id')
    if (thread) threads.set(JSON.parse(String(init?.body)).id, thread)
    return response
  },
} satisfies { prepareSendMessagesRequest: PrepareSendMessagesRequest<UIMessage>, [option: string]: unknown }

/** For useChat of AI SDK 4, which keeps the thread in the answers. */
export const v1 = {
  api: `${server}/v1/assistant/${site}/message`,
  headers,
  body: { fp: 'anonymous', currentPath: location.pathname.slice(0, 200) },
  streamProtocol: 'data',
  sendExtraMessageFields: true,
} as const

/** The sentence of an error, whose message is the whole body of a response. */
export function sentence(error: Error): string {
  try {
    return JSON.parse(error.message).error ?? error.message
  } catch {
    return error.message
  }
}
