// How the API is asked: with a browser token, fetched at first use and renewed
// unseen. It goes as X-API-Key: the Authorization header belongs to the site's
// own login.

/** Failure is a response that is no answer. */
export class Failure extends Error {
  status = 0
  wait = 0
}

export type Client = ReturnType<typeof client>

export function client(base: string, site: string) {
  let token = ''
  let until = 0
  let fetching: Promise<void> | undefined

  const send = async (path: string, init: RequestInit = {}) => {
    const response = await fetch(base + path.replace('{}', site), { method: 'POST', ...init })
    if (response.ok) return response
    const { error } = await response.json().catch(() => ({}))
    throw Object.assign(new Failure(error), { status: response.status, wait: response.headers.get('Retry-After') })
  }

  /** authorize gets a token. It is called early, so that the first search need
   * not wait. */
  const authorize = async () => {
    if (Date.now() < until) return
    await (fetching ??= send('/v1/token/{}').then(r => r.json()).then(t => {
      token = t.token
      until = Date.now() + (t.expiresIn - 30) * 1000
    }).finally(() => { fetching = undefined }))
  }

  /** post sends a body to a path in which {} is the site. */
  const post = async (path: string, body: object, init?: RequestInit) => {
    for (let again = true; ; again = false) {
      await authorize()
      try {
        return await send(path, { ...init, body: JSON.stringify(body), headers: { 'X-API-Key': token, 'Content-Type': 'application/json' } })
      } catch (error) {
        if (!again || (error as Failure).status !== 401) throw error
        until = 0
      }
    }
  }
  return { authorize, post }
}

/** read reads a UI message stream: lines of "data: {…}", each with an empty
 * line behind it. A generator would cost more than all else in an answer. */
export async function read(body: ReadableStream<BufferSource>, event: (e: any) => void) {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let buffer = ''
  for (;;) {
    const { value, done } = await reader.read()
    if (done) return
    const frames = (buffer + decoder.decode(value, { stream: true })).split('\n\n')
    buffer = frames.pop()!
    for (const frame of frames) if (frame.startsWith('data: {')) event(JSON.parse(frame.slice(6)))
  }
}
