// Calls an MCP server with both generations of the TypeScript SDK, and prints
// what each of them got: node client.mjs URL
import { Client as First } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as FirstTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { EmptyResultSchema } from '@modelcontextprotocol/sdk/types.js'
import { Client as Second, StreamableHTTPClientTransport as SecondTransport } from '@modelcontextprotocol/client'

const url = process.argv[2]
const info = { name: 'test', version: '1' }

async function use(client, transport, unknown) {
  await client.connect(transport)
  const { tools } = await client.listTools()
  const search = await client.callTool({ name: 'search', arguments: { query: 'install on linux' } })
  // The SDKs compare it with the output schema.
  const { results } = search.structuredContent
  const fetched = await client.callTool({ name: 'fetch', arguments: { id: results[0].id } })
  const { resources } = await client.listResources()
  const { contents } = await client.readResource({ uri: resources[0].uri })
  const answer = {
    server: client.getServerVersion()?.name ?? '', tools: tools.map(t => t.name).sort(),
    found: results[0].url, text: results[0].text, page: JSON.parse(fetched.content[0].text).text, resource: contents[0].text,
  }
  if (unknown) answer.refused = await unknown(client)
  await client.close()
  return answer
}

const unknown = client => client.request({ method: 'tools/sing' }, EmptyResultSchema).catch(error => error.code)

console.log(JSON.stringify({
  'sdk 1': await use(new First(info), new FirstTransport(new URL(url)), unknown),
  'client 2, initialize': await use(new Second(info), new SecondTransport(new URL(url))),
  'client 2, discover': await use(new Second(info, { versionNegotiation: { mode: 'auto' } }), new SecondTransport(new URL(url))),
}))
