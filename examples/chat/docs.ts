// What the chat pages share: the address of the assistant, the key, the thread,
// and the sentence of an error.
const server = import.meta.env.VITE_DOCS_SERVER ?? 'http://localhost:8080'
const site = import.meta.env.VITE_DOCS_SITE ?? 'manual'
const key = import.meta.env.VITE_DOCS_KEY ?? 'svc_dsc_example_key_of_the_manual'

const headers = { Authorization: `Bearer ${key}` }
let threadId: string | null = null

/** For the DefaultChatTransport of AI SDK 5, 6 and 7. */
export const v2 = {
  api: `${server}/v2/assistant/${site}/message`,
  headers,
  body: () => ({ fp: 'anonymous', threadId, currentPath: location.pathname.slice(0, 200) }),
  // The hook sends no answer with the request that regenerates the first one,
  // so the thread is kept here.
  async fetch(input: RequestInfo | URL, init?: RequestInit) {
    const response = await fetch(input, init)
    threadId = response.headers.get('X-Thread-Id') ?? threadId
    return response
  },
}

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
