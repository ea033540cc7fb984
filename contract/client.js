/** Options of a DefaultChatTransport of AI SDK 5, 6 and 7: each chat has a thread. */
export function docsTransport({ server, site, key, ...more }) {
  const threads = new Map() // by the id of the chat: a new chat is a new thread
  return {
    api: `${server}/v2/assistant/${site}/message`,
    headers: key ? { Authorization: `Bearer ${key}` } : {},
    prepareSendMessagesRequest: ({ id, messages, trigger, messageId, body }) => ({
      body: { fp: 'anonymous', threadId: threads.get(id), ...body, id, messages, trigger, messageId },
    }),
    async fetch(input, init) {
      const response = await fetch(input, init)
      const thread = response.headers.get('X-Thread-Id')
      if (thread) threads.set(JSON.parse(String(init?.body)).id, thread)
      return response
    },
    ...more,
  }
}

/** Whether an answer was read to its end: a proxy can cut its stream without an error. */
export function isComplete(message) {
  return message.metadata?.finishReason !== undefined
}

/** The sentence of an error, whose message is the whole body of a response. */
export function sentence(error) {
  try {
    const body = JSON.parse(error.message)
    return body.message ?? body.error ?? error.message
  } catch {
    return error.message
  }
}
