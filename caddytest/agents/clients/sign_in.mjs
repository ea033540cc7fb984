// Signs in to an MCP server with the OAuth clients of both generations of the
// TypeScript SDK, as a browser would, and prints what each found, by person:
// node sign_in.mjs URL PERSON…
import { UnauthorizedError as FirstUnauthorized } from '@modelcontextprotocol/sdk/client/auth.js'
import { Client as First } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as FirstTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { Client as Second, StreamableHTTPClientTransport as SecondTransport, UnauthorizedError as SecondUnauthorized } from '@modelcontextprotocol/client'

const [url, ...people] = process.argv.slice(2)

// What a client remembers, and the browser that it opens: it follows the
// provider's redirects up to the client's own URL.
class Memory {
  constructor(person) { this.person = person }
  redirectUrl = 'http://127.0.0.1:9/callback'
  clientMetadata = {
    client_name: 'test', redirect_uris: [this.redirectUrl], grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'], token_endpoint_auth_method: 'none',
  }
  clientInformation() { return this.client }
  saveClientInformation(client) { this.client = client }
  tokens() { return this.saved }
  saveTokens(tokens) { this.saved = tokens }
  codeVerifier() { return this.verifier }
  saveCodeVerifier(verifier) { this.verifier = verifier }
  async redirectToAuthorization(target) {
    const cookies = new Map()
    target.searchParams.set('login_hint', this.person)
    this.resource = target.searchParams.get('resource')
    for (let next = target; ;) {
      if (next.href.startsWith(this.redirectUrl)) {
        this.callback = next
        return
      }
      const response = await fetch(next, { redirect: 'manual', headers: { Cookie: [...cookies].map(c => c.join('=')).join('; ') } })
      for (const cookie of response.headers.getSetCookie()) {
        const [name, value] = cookie.split(';')[0].split(/=(.*)/s)
        cookies.set(name, value)
      }
      if (!response.headers.has('location')) throw new Error(`${next}: ${response.status} ${await response.text()}`)
      next = new URL(response.headers.get('location'), next)
    }
  }
}

async function signIn(person, make, Transport, Unauthorized) {
  const memory = new Memory(person)
  const first = new Transport(new URL(url), { authProvider: memory })
  try {
    await make().connect(first)
    throw new Error('it connects without signing in')
  } catch (error) {
    if (!(error instanceof Unauthorized)) throw error
  }
  // The second generation checks who has issued the code (RFC 9207).
  await first.finishAuth(Transport === SecondTransport ? memory.callback.searchParams : memory.callback.searchParams.get('code'))
  const client = make()
  await client.connect(new Transport(new URL(url), { authProvider: memory }))
  const search = await client.callTool({ name: 'search', arguments: { query: 'salary bands' } })
  const { results } = search.structuredContent
  const page = results.length ? (await client.callTool({ name: 'fetch', arguments: { id: results[0].id } })).structuredContent.text : ''
  await client.close()
  return { found: results.map(r => r.url), page, resource: memory.resource, token: memory.saved.access_token, client: memory.client.client_id }
}

const info = { name: 'test', version: '1' }
const found = {}
for (const person of people) {
  found[person] = {
    'sdk 1': await signIn(person, () => new First(info), FirstTransport, FirstUnauthorized),
    'client 2': await signIn(person, () => new Second(info, { versionNegotiation: { mode: 'auto' } }), SecondTransport, SecondUnauthorized),
  }
}
console.log(JSON.stringify(found))
