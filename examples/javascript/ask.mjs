// Asks the assistant and reports what arrives. Works in browsers and in Node.
//
//   const { threadId } = await ask({ url, key, question, threadId,
//     onText: text => …, onSource: ({ url, title }) => … })
//
// It throws an Error whose message is a sentence for the reader.
export async function ask({ url, key, question, threadId = null, onText, onSource = () => {}, signal }) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({
      fp: 'anonymous',
      threadId,
      messages: [{ id: crypto.randomUUID(), role: 'user', parts: [{ type: 'text', text: question }] }],
    }),
    signal,
  })
  if (!response.ok) {
    const body = await response.text()
    let sentence = body
    try { sentence = JSON.parse(body).error ?? body } catch { /* a proxy's own page */ }
    throw new Error(sentence)
  }
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  let finished = false
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    const lines = (rest + value).split('\n')
    rest = lines.pop()
    for (const line of lines) {
      if (!line.startsWith('data: ') || line === 'data: [DONE]') continue
      const event = JSON.parse(line.slice(6))
      if (event.type === 'text-delta') onText(event.delta)
      if (event.type === 'source-url') onSource({ url: event.url, title: event.title })
      if (event.type === 'error') throw new Error(event.errorText)
      if (event.type === 'finish') finished = true
    }
  }
  if (!finished) throw new Error('The answer broke off; please ask again.')
  return { threadId: response.headers.get('X-Thread-Id') }
}
