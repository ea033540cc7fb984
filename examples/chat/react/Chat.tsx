import { useState } from 'react'
import { useChat } from '@ai-sdk/react'
import { DefaultChatTransport, generateId } from 'ai'
import { isComplete, sentence, v2 } from '../docs'

const transport = new DefaultChatTransport(v2)

export function Chat() {
  const [id, setId] = useState(generateId)
  const { messages, sendMessage, regenerate, stop, status, error } = useChat({ id, transport })
  const [question, setQuestion] = useState('')
  const busy = status === 'submitted' || status === 'streaming'
  const last = messages.at(-1)
  const cut = status === 'ready' && last?.role === 'assistant' && !isComplete(last)
  return (
    <main>
      {messages.map(message => (
        <article key={message.id} className={message.role}>
          {message.parts.map((part, i) => {
            if (part.type === 'text') return <p key={i}>{part.text}</p>
            if (part.type === 'source-url') return <a key={i} href={part.url}>{part.title}</a>
            return null
          })}
        </article>
      ))}
      {error && <p role="alert">{sentence(error)}</p>}
      {cut && <p role="alert">The answer is not complete. <button onClick={() => regenerate()}>Try again</button></p>}
      <form
        onSubmit={event => {
          event.preventDefault()
          sendMessage({ text: question })
          setQuestion('')
        }}
      >
        <input aria-label="Your question" value={question} onChange={event => setQuestion(event.target.value)} required />
        {busy
          ? <button type="button" onClick={() => stop()}>Stop</button>
          : <button>Ask</button>}
        {messages.length > 0 && !busy && <button type="button" onClick={() => regenerate()}>Answer again</button>}
        {messages.length > 0 && !busy && <button type="button" onClick={() => setId(generateId())}>New chat</button>}
      </form>
    </main>
  )
}
