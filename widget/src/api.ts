// How the API is asked: with a browser token, fetched at first use and renewed
// unseen. It goes as X-API-Key: the Authorization header belongs to the site's
// own login.
import { base, config } from './parts'

/** Problem is thrown for a response that is no answer. */
export interface Problem { message?: string, status?: number, wait?: string | null }

let token: Promise<string> | undefined

async function send(path: string, init?: RequestInit) {
  const response = await fetch(base + path.replace('{}', config.site), { method: 'POST', ...init })
  if (response.ok) return response
  const { error } = await response.json().catch(() => ({}))
  throw { message: error, status: response.status, wait: response.headers.get('Retry-After') }
}

/** authorize gets a token. It is called early, so that the first search need
 * not wait. */
export const authorize = () => token ??= send('/v1/token/{}').then(r => r.json()).then(t => t.token).catch(problem => {
  token = undefined
  throw problem
})

/** post sends a body to a path in which {} is the site. */
export async function post(path: string, body: object, init?: RequestInit, again = true): Promise<Response> {
  const key = await authorize()
  try {
    return await send(path, { ...init, body: JSON.stringify(body), headers: { 'X-API-Key': key, 'Content-Type': 'application/json' } })
  } catch (problem) {
    if (!again || (problem as Problem).status !== 401) throw problem
    token = undefined
    return post(path, body, init, false)
  }
}

/** read reads a UI message stream: lines of "data: {…}", each with an empty
 * line behind it. It passes the first events on at once, and later ones seven
 * times a second: that is smooth, and cheaper than each event alone. */
export async function read(body: ReadableStream<BufferSource>, show: (events: any[]) => void) {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let buffer = ''
  let timer = 0
  let wait = 0
  const pass = () => {
    timer = 0
    const lines = buffer.split('\n')
    buffer = lines.pop()!
    const events = lines.filter(l => l[6] === '{').map(l => JSON.parse(l.slice(6)))
    if (events.some(e => e.delta)) wait = 150
    show(events)
  }
  try {
    for (;;) {
      const { value, done } = await reader.read()
      if (done) break
      buffer += decoder.decode(value, { stream: true })
      timer ||= setTimeout(pass, wait)
    }
  } finally {
    clearTimeout(timer)
    pass()
  }
}
