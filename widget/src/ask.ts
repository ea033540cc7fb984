// Ask: a conversation with the assistant, streamed, and kept over page loads.
import { post, read, type Problem } from './api'
import { emit, explain, has, kept, say, unlink } from './app'
import { feedback } from './feedback'
import { mainOf } from './highlight'
import { icons } from './icons'
import { anchor, copier, renderer, scrolling } from './markdown'
import { config, fill, h, icon, name, press, put, s } from './parts'

interface Source { sourceId: string, url: string, title?: string }

interface Turn {
  question: string
  answer: string
  sources: Source[]
  cited?: string[]
  next?: string[] // follow-up questions
  id?: string // of the message
  answered?: string
  rating?: string | null
  problem?: string // a sentence
}

let talk: Turn[] = []
let thread: string | undefined
let running: AbortController | undefined
let quote: { type: string, value: string, path: string }[] | undefined
const fp = config.conversations === 'off' ? 'anonymous' : kept('fp') ?? 'w' + Math.random()
kept('fp', fp)

const turns = scrolling('div.turns', s[T.ask])
const input = h('textarea.input', {
  rows: 1, ariaLabel: s[T.question], placeholder: s[T.question],
  onkeydown(e: KeyboardEvent) {
    if (e.key !== 'Enter' || e.shiftKey || e.isComposing) return
    e.preventDefault()
    if (running) return
    submit()
    focus()
  },
})
const chips = h('div.chips')
const button = press('', icons.send, () => running ? stop() : submit(), 'button.send')
export const view = h('div.ask', {}, turns, chips, h('div.field', {}, input, button))

const run = (controller?: AbortController) => {
  running = controller
  put(button, icon(running ? icons.stop : icons.send))
  name(button, s[running ? T.stop : T.send])
}

const save = () => {
  talk = talk.slice(-30)
  kept('talk', { thread, talk })
}

/** draw shows the whole conversation, and returns its last turn. */
const draw = () => {
  put(turns, !talk[0] && [h('p.note', {}, s[T.intro]), config.starters?.map(next)])
  context()
  return talk.map(add).at(-1)
}

const next = (question: string) => press(question, '', () => send(question), 'button.next')

/** context shows what goes along with the question. */
const context = (value?: string) => {
  quote = value ? [{ type: 'textSelection', value: value.slice(0, 8000), path: location.pathname.slice(0, 200) }] : undefined
  put(chips, quote ? h('span.chip', {}, '“' + value!.slice(0, 40) + '”', press(s[T.clear], icons.close, () => context()))
    : !talk[0] && press(s[T.page], '', () => {
      context(mainOf().innerText)
      input.focus()
    }, 'button.chip'))
}

const submit = () => {
  const text = input.value.trim()
  if (!text) return
  input.value = ''
  send(text)
}

/** add shows a turn. It returns its element, the one below the answer, and what
 * shows the answer: whole, with what is below it, unless it is growing. */
const add = (turn: Turn) => {
  const body = h('div.answer')
  const end = h('div.end')
  const e = h('div.turn', {}, h('p.question', {}, turn.question), body, end)
  const show = renderer(body)
  const again = () => send(turn.question, turn)
  const render = (grows?: boolean) => {
    const last = turn === talk.at(-1)
    const { answer, problem, sources, cited = [] } = turn
    const foremost = (x: Source) => +!cited.includes(x.sourceId)
    show(answer)
    if (grows) return
    put(end,
      problem && h('p.problem', {}, problem + ' ', last && press(s[T.retry], '', again, 'button.chip')),
      sources[0] && h('details.sources', {}, h('summary', {}, s[T.sources]),
        h('ol', {}, sources.toSorted((a, b) => foremost(a) - foremost(b)).map(x => h('li', {}, anchor(x.url, [x.title ?? x.url]))))),
      turn.answered === 'no' && config.support && h('a.support', { href: config.support.replace('{t}', thread!), target: '_blank' }, s[T.support]),
      answer && h('div.actions', {}, copier(s[T.copy], () => turn.answer), last && !problem && press(s[T.retry], icons.again, again),
        has('feedback') && thread && feedback(rating => {
          turn.rating = rating
          save()
          return { threadId: thread, messageId: turn.id }
        }, turn.rating)),
      last && turn.next?.map(next))
  }
  turns.append(e)
  render()
  return [e, end, render] as const
}

const part = (role: string, text: string) => ({ role, parts: [{ type: 'text', text }] })

/** send asks a question. replaced is the turn that it asks again. */
export const send = async (question: string, replaced?: Turn) => {
  if (running) return
  const own = new AbortController()
  run(own)
  if (replaced) talk.pop()
  const turn: Turn = { question, answer: '', sources: [] }
  const about = quote
  talk.push(turn)
  // The turns before lose what only the last one has.
  const [e, end, render] = draw()!
  const tell = (text: string) => {
    put(end, h('p.note', {}, text))
    say(text)
  }
  tell(s[T.writing])
  e.scrollIntoView()
  unlink()
  emit('ask', {}, { question })
  const began = Date.now()
  turn.problem = s[T.broke] // until it has ended
  try {
    const response = await post('/v2/assistant/{}/message', {
      fp, threadId: thread, currentPath: location.pathname.slice(0, 200), context: about,
      trigger: replaced?.answer && 'regenerate-message',
      messages: talk.slice(-5).flatMap(t => [part('user', t.question), part('assistant', t.answer)]).slice(0, -1),
    }, { signal: own.signal })
    await read(response.body!, events => {
      for (const event of events) {
        const data = event.messageMetadata
        thread = data?.threadId ?? thread
        switch (event.type) {
          case 'start': turn.id = event.messageId; break
          case 'tool-input-available': tell(fill(s[T.searching], event.input.query ?? event.input.path)); break
          case 'text-start':
            tell(s[T.writing])
            if (turn.answer) turn.answer += '\n\n' // another step's text
            break
          case 'text-delta': turn.answer += event.delta; break
          case 'source-url': turn.sources.push(event); break
          case 'data-suggestions': turn.next = event.data.questions; break
          case 'error': turn.problem = event.errorText; break
          case 'finish':
            Object.assign(turn, data, { problem: undefined })
        }
      }
      render(true)
    })
  } catch (problem) {
    turn.problem = own.signal.aborted ? s[T.stopped] : explain(problem as Problem)
  }
  run()
  render()
  save()
  say(turn.problem ?? fill(s[T.complete], turn.sources.length))
  emit('answer', { answered: turn.answered, sources: turn.sources.length, complete: !turn.problem, ms: Date.now() - began }, { question, answer: turn.answer })
}

export const stop = () => running?.abort()

/** opened takes up what is selected on the page, and what another tab has
 * said meanwhile. */
export const opened = (text: string) => {
  if (running) return
  ({ thread, talk } = kept('talk') ?? { thread, talk })
  draw()
  context(text)
}

export const focus = () => {
  // On a phone the keyboard would hide the conversation.
  (talk[0] && matchMedia('(pointer:coarse)').matches ? turns : input).focus()
}

export const fillIn = (question?: string | null) => {
  input.value = question || input.value
}

export const fresh = () => {
  stop()
  talk = []
  thread = undefined
  save()
  draw()
  input.focus()
}

addEventListener('pagehide', save) // half an answer is kept
run()
