// What the chat pages share: where the assistant is, and the key. In your own
// project, import 'caddy-docs-client', the package of a release.
import { docsTransport } from '../../contract/client.js'

export { isComplete, sentence } from '../../contract/client.js'

const server = import.meta.env.VITE_DOCS_SERVER ?? 'http://localhost:8080'
const site = import.meta.env.VITE_DOCS_SITE ?? 'manual'
const key = import.meta.env.VITE_DOCS_KEY ?? 'svc_dsc_example_key_of_the_manual'
const currentPath = () => location.pathname.slice(0, 200)

/** For the DefaultChatTransport of AI SDK 5, 6 and 7. */
export const v2 = docsTransport({ server, site, key, body: () => ({ currentPath: currentPath() }) })

/** For useChat of AI SDK 4, which keeps the thread in the answers. */
export const v1 = {
  api: `${server}/v1/assistant/${site}/message`,
  headers: { Authorization: `Bearer ${key}` },
  body: { fp: 'anonymous', currentPath: currentPath() },
  streamProtocol: 'data',
  sendExtraMessageFields: true,
} as const
