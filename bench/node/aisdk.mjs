// A chat route as the AI SDK's documentation has it: streamText to a UI
// message stream, over an OpenAI-compatible endpoint. No search, no key, no
// limits, no thread: only the stream.
//
//	node aisdk.mjs PORT http://MODEL/v1
import { createServer } from 'node:http'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { convertToModelMessages, streamText } from 'ai'

const [port, baseURL] = process.argv.slice(2)
const provider = createOpenAICompatible({ name: 'bench', baseURL, apiKey: 'none', includeUsage: true })

createServer(async (req, res) => {
  const chunks = []
  for await (const chunk of req) chunks.push(chunk)
  try {
    const { messages } = JSON.parse(Buffer.concat(chunks).toString())
    const result = streamText({
      model: provider('bench'),
      instructions: 'You answer questions about the documentation.',
      messages: await convertToModelMessages(messages),
    })
    result.pipeUIMessageStreamToResponse(res)
  } catch (error) {
    res.writeHead(500)
    res.end(String(error))
  }
}).listen({ port: Number(port), host: '127.0.0.1', backlog: 4096 })
