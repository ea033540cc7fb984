// The ask box: a conversation with the assistant, streamed.
import { element, post } from './api.js'
import { render } from './markdown.js'

const dialog = document.querySelector('#ui-ask')
const turns = document.querySelector('#ui-turns')
const form = document.querySelector('#ui-question')
const input = form.elements.q
const button = form.querySelector('button')
let threadId // of the conversation; the server keeps what was said
let running // the AbortController of the answer under way

document.querySelector('#ui-open-ask').addEventListener('click', () => { dialog.showModal(); input.focus() })
dialog.querySelector('.close').addEventListener('click', () => dialog.close())
dialog.addEventListener('click', event => { if (event.target === dialog) dialog.close() }) // beside it
form.addEventListener('submit', event => {
  event.preventDefault()
  if (running) return running.abort()
  const text = input.value.trim()
  if (!text) return
  input.value = ''
  ask(text)
})

async function ask(text) {
  running = new AbortController()
  scrolled = false
  button.textContent = 'Stop'
  const out = element('div', '', { class: 'answer' })
  const prose = element('div', 'Searching the manual …')
  const question = element('p', text, { class: 'you' })
  out.append(prose)
  follow(question, () => turns.append(question, out))

  let answer = ''
  const sources = []
  try {
    const response = await post('/v2/assistant/manual/message', {
      fp: 'anonymous',
      threadId,
      currentPath: location.pathname.slice(0, 200),
      messages: [{ id: String(Date.now()), role: 'user', parts: [{ type: 'text', text }] }],
    }, running.signal)
    let ended = false
    for await (const event of events(response.body)) {
      threadId = event.messageMetadata?.threadId ?? threadId
      switch (event.type) {
        case 'text-delta':
          answer += event.delta
          follow(question, () => render(prose, answer))
          break
        case 'source-url': sources.push(event); break
        case 'data-suggestions': follow(question, () => out.append(suggestions(event.data.questions))); break
        case 'error': throw new Error(event.errorText)
        case 'finish': ended = true
      }
    }
    if (!ended) throw new Error('The answer broke off. Please ask again.')
  } catch (error) {
    if (!answer) prose.replaceChildren()
    const stopped = error.name === 'AbortError'
    out.append(element('p', stopped ? 'Stopped.' : error.message, { class: stopped ? 'note' : 'error' }))
  }
  if (sources.length) follow(question, () => out.append(list(sources)))
  running = undefined
  button.textContent = 'Send'
}

// follow keeps the end of an answer in view until its question is at the top,
// unless the reader has scrolled.
let scrolled = false
for (const kind of ['wheel', 'touchmove']) turns.addEventListener(kind, () => { scrolled = true }, { passive: true })

function follow(question, change) {
  change()
  if (!scrolled) turns.scrollTop = question.offsetTop - turns.offsetTop - 4
}

function list(sources) {
  const details = element('details', '', { class: 'sources' })
  const ol = element('ol')
  for (const s of sources) {
    const li = element('li')
    li.append(element('a', s.title || s.url, { href: s.url }))
    ol.append(li)
  }
  details.append(element('summary', sources.length + (sources.length === 1 ? ' source' : ' sources')), ol)
  return details
}

function suggestions(questions) {
  const p = element('p', '', { class: 'suggestions' })
  for (const q of questions) {
    const b = element('button', q, { type: 'button' })
    b.addEventListener('click', () => { if (!running) ask(q) })
    p.append(b)
  }
  return p
}

// events reads a UI message stream: lines of "data: {…}", each with an empty
// line behind it.
async function * events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  let buffer = ''
  for (;;) {
    const { value, done } = await reader.read()
    if (done) return
    buffer += value
    for (let end; (end = buffer.indexOf('\n\n')) >= 0; buffer = buffer.slice(end + 2)) {
      const line = buffer.slice(0, end)
      if (line.startsWith('data: {')) yield JSON.parse(line.slice('data: '.length))
    }
  }
}
