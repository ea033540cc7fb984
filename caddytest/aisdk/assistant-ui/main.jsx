// A page as assistant-ui's own manual writes it, with the packaged helper.
import { useState } from 'react'
import { createRoot } from 'react-dom/client'
import { AssistantRuntimeProvider, MessagePrimitive, ThreadListPrimitive, ThreadPrimitive, useAui, useAuiState } from '@assistant-ui/react'
import { AssistantChatTransport, useChatRuntime } from '@assistant-ui/react-ai-sdk'
import { docsTransport } from '../../../contract/client.js'

const transport = new AssistantChatTransport(docsTransport({
  server: import.meta.env.VITE_DOCS_SERVER, site: import.meta.env.VITE_DOCS_SITE, key: import.meta.env.VITE_DOCS_KEY,
}))

const components = {
  Text: ({ text }) => <p>{text}</p>,
  Source: ({ url, title }) => <a href={url}>{title}</a>,
}

function Message() {
  const role = useAuiState(s => s.message.role)
  return <article className={role}><MessagePrimitive.Parts components={components} /></article>
}

function Ask() {
  const aui = useAui()
  const [question, setQuestion] = useState('')
  return (
    <form onSubmit={event => {
      event.preventDefault()
      aui.thread().append(question)
      setQuestion('')
    }}>
      <input value={question} onChange={event => setQuestion(event.target.value)} />
      <button>Ask</button>
    </form>
  )
}

function App() {
  const runtime = useChatRuntime({ transport })
  return (
    <AssistantRuntimeProvider runtime={runtime}>
      <ThreadPrimitive.Root><ThreadPrimitive.Messages components={{ Message }} /></ThreadPrimitive.Root>
      <Ask />
      <ThreadListPrimitive.New>New thread</ThreadListPrimitive.New>
    </AssistantRuntimeProvider>
  )
}

createRoot(document.getElementById('root')).render(<App />)
