import { useChat } from '@ai-sdk/react'
import { sentence, v1 } from '../docs'

export function Chat() {
  const { messages, input, handleInputChange, handleSubmit, reload, stop, status, error } = useChat(v1)
  const busy = status === 'submitted' || status === 'streaming'
  return (
    <main>
      {messages.map(message => (
        <article key={message.id} className={message.role}>
          {message.parts.map((part, i) => {
            if (part.type === 'text') return <p key={i}>{part.text}</p>
            if (part.type === 'source') return <a key={i} href={part.source.url}>{part.source.title}</a>
            return null
          })}
        </article>
      ))}
      {error && <p role="alert">{sentence(error)}</p>}
      <form onSubmit={handleSubmit}>
        <input aria-label="Your question" value={input} onChange={handleInputChange} required />
        {busy
          ? <button type="button" onClick={stop}>Stop</button>
          : <button>Ask</button>}
        {messages.length > 0 && !busy && <button type="button" onClick={() => reload()}>Answer again</button>}
      </form>
    </main>
  )
}
