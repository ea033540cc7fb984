// How the API is asked: with a browser token, fetched at first use and renewed
// unseen. It goes as X-API-Key: the Authorization header belongs to the site's
// own login.
import { base, config } from './parts'

/** Problem is thrown for a response that is no answer: the server's sentence,
 * if it has one, the status, and the seconds to wait. */
export interface Problem { message?: string, status?: number, wait?: string | null }

let token: Promise<string> | undefined

/** post sends a body to a path in which {} is the site. Without a body it sends
 * no token. */
export const post = async (path: string, body?: object, init?: RequestInit, again = true): Promise<Response> => {
  const response = await fetch(base + path.replace('{}', config.site), {
    method: 'POST', ...init, body: JSON.stringify(body),
    headers: body && {
      'X-API-Key': await authorize(), 'Content-Type': 'application/json',
      'Accept-Language': document.documentElement.lang || navigator.languages + '',
    },
  })
  const { status } = response
  if (response.ok) return response
  if (again && status === 401) {
    token = undefined
    return post(path, body, init, false)
  }
  throw { ...await response.json().catch(() => 0), status, wait: response.headers.get('Retry-After') }
}

/** authorize gets a token. It is called early, so that the first search need
 * not wait. */
export const authorize = () => token ??= post('/v1/token/{}').then(r => r.json()).then(t => t.token).catch(problem => {
  token = undefined
  throw problem
})

/** read reads a UI message stream: lines of "data: {…}", each with an empty
 * line behind it. It passes the first events on at once, and later ones seven
 * times a second: that is smooth, and cheaper than each event alone. */
export const read = async (body: ReadableStream<BufferSource>, show: (events: any[]) => void) => {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
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
    for (let piece; !(piece = await reader.read()).done;) {
      buffer += piece.value
      timer ||= setTimeout(pass, wait)
    }
  } finally {
    clearTimeout(timer)
    pass()
  }
}
