// Search: results while typing, as a combobox with a list (ARIA APG, "list
// autocomplete with manual selection").
import { post } from './api'
import { emit, explain, has, kept, say, tab } from './app'
import * as assistant from './ask'
import { mark } from './highlight'
import * as icons from './icons'
import { leave, show } from './main'
import { anchor } from './markdown'
import { config, fill, h, icon, lens, s } from './parts'

type Ranges = [from: number, to: number][]

interface Item {
  path: string
  metadata: {
    title: string, heading?: string, breadcrumbs?: string[], url: string, snippet?: string
    highlights?: { title?: Ranges, heading?: Ranges, snippet?: Ranges }
  }
}

let options: HTMLElement[] = []
let active = -1
let items: Item[] = []
let found = '' // the query that items are of
let timer: number
let running: AbortController | undefined
let typed: object | undefined // what to report when typing has ended

export const input = h('input.input', {
  type: 'search', role: 'combobox', 'aria-expanded': 'false', 'aria-controls': 'results', 'aria-autocomplete': 'list', 'aria-label': s[T.search],
  placeholder: config.placeholder ?? s[T.placeholder], autocomplete: 'off', autocapitalize: 'off', spellcheck: 'false', enterkeyhint: 'search', maxlength: 1000,
  input() {
    clearTimeout(timer)
    timer = setTimeout(search, 120)
  },
  async keydown(e: KeyboardEvent) {
    const { key, ctrlKey, metaKey } = e
    const n = options.length
    if (e.isComposing || !/^(Arrow(Down|Up)|Enter)$/.test(key)) return
    e.preventDefault()
    if (key !== 'Enter') return select(key > 'ArrowE' ? (active < 1 ? n : active) - 1 : (active + 1) % n)
    const query = input.value.trim()
    if (e.shiftKey && has('ask') && query) return ask(query)
    if (active < 0 && query !== found) await search()
    options[Math.max(active, 0)]?.dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true, composed: true, ctrlKey, metaKey }))
  },
})
const list = h('div.results', { id: 'results', role: 'listbox', 'aria-label': s[T.search] })
const note = h('p.note')
export const view = h('div.search', {}, h('label.field', {}, icon(lens), input), note, list)

function fillList(parts: Element[]) {
  list.replaceChildren(...parts)
  list.hidden = !parts[0]
  input.ariaExpanded = !list.hidden + ''
  options = [...list.querySelectorAll<HTMLElement>('[role=option]')]
  options.forEach((o, i) => { o.id = 'o' + i })
  select(-1)
}

function select(i: number) {
  if (options[active]) options[active].ariaSelected = 'false'
  const o = options[active = i]
  input.setAttribute('aria-activedescendant', o?.id ?? '')
  if (!o) return
  o.ariaSelected = 'true'
  o.scrollIntoView({ block: 'nearest' })
}

const action = (text: string, path: string, click: () => void, ...more: Element[]) => h('div.option', { role: 'option', click }, icon(path), text, ...more)

function group(label: (Node | string)[], children: Element[]) {
  const heading = h('div.page', { role: 'presentation' }, ...label)
  return h('div', { role: 'group', 'aria-label': heading.textContent! }, heading, ...children)
}

function ask(question: string) {
  report()
  show('ask')
  assistant.send(question)
}

const toAsk = (query: string) => has('ask') ? [action(fill(s[T.askThis], query), icons.ask, () => ask(query), h('kbd', {}, '⇧↵'))] : []

function start() {
  items = []
  found = note.textContent = ''
  const recent = kept.get<string[]>('recent') ?? []
  const starters = has('ask') && config.starters || []
  fillList([
    ...recent.length ? [group([s[T.recent]], recent.map(q => action(q, icons.again, () => fillIn(q, true)))), action(s[T.clear], icons.close, () => {
      kept.set('recent')
      start()
    })] : [],
    ...starters.length ? [group([s[T.question]], starters.map(q => action(q, icons.ask, () => ask(q))))] : [],
  ])
}

async function search(offset?: number) {
  clearTimeout(timer)
  const query = input.value.trim()
  running?.abort()
  if (!query) return start()
  if (query === found && !offset) return
  const { signal } = running = new AbortController()
  const language = config.languages?.find(l => l === document.documentElement.lang)
  try {
    const response = await post('/v1/search/{}', { query, pageSize: 7, fields: ['snippet'], offset, filter: language && { language } }, { signal })
    const hits: Item[] = await response.json()
    items = offset ? items.concat(hits) : hits
    found = query
    const total = +response.headers.get('X-Total-Count')! || items.length
    typed = { type: 'search', query, hits: total }
    results(total)
    if (offset) select(offset)
    note.textContent = items.length ? '' : fill(s[T.none], query)
    emit('search', { hits: total }, { query })
    say(note.textContent || fill(s[T.count], total))
  } catch (problem) {
    if (signal.aborted) return
    fillList(toAsk(query))
    found = ''
    say(note.textContent = explain(problem as Error))
  }
}

function results(total: number) {
  fillList([
    ...[...Map.groupBy(items, item => item.path.replace(/#.*/, '')).values()].map(own => {
      const { title, breadcrumbs = [], highlights } = own[0].metadata
      return group([...breadcrumbs.filter(b => b !== title).map(b => b + ' › '), ...marked(title, highlights?.title)], own.map(option))
    }),
    ...total > items.length ? [action(s[T.more], icons.down, () => search(items.length))] : [],
    ...toAsk(found),
  ])
}

function option(item: Item) {
  const { path, metadata: { title, heading = title, url, snippet = '', highlights = {} } } = item
  const query = found
  const link = anchor(url,
    h('span.heading', {}, ...marked(heading, heading === title ? highlights.title : highlights.heading)),
    h('span.snippet', {}, ...marked(snippet, highlights.snippet))) as HTMLAnchorElement
  link.className = link.part.value = 'option result'
  link.role = 'option'
  link.tabIndex = -1
  link.target = ''
  link.addEventListener('click', event => {
    const position = items.indexOf(item) + 1
    report()
    send({ type: 'click', query, path, position })
    emit('click', { path, position }, { query })
    kept.set('recent', [...new Set([query, ...kept.get<string[]>('recent') ?? []])].slice(0, 5))
    if (event.ctrlKey || event.metaKey || event.shiftKey) return
    const resume = { path: link.pathname, words: [...link.querySelectorAll('mark')].map(m => m.textContent!) }
    tab.set('resume', resume)
    // Under a client-side router the page changes without a load, in a while.
    for (const wait of [50, 400, 1500]) setTimeout(arrive, wait, resume)
    leave()
  })
  return link
}

const send = (event: object) => { post('/v1/events/{}', event, { keepalive: true }).catch(() => {}) }

/** report sends the query with which typing ended. */
export function report() {
  if (typed) send(typed)
  typed = undefined
}

export function fillIn(query: string, run?: boolean) {
  input.value = query
  input.focus()
  if (run) search()
}

export function focus() {
  if (!input.value) start()
  input.select()
  input.focus()
}

/** marked is a text with the searched words in <mark>. */
function marked(text: string, ranges: Ranges = []) {
  let at = 0
  return [...ranges.flatMap(([from, to]) => [text.slice(at, from), h('mark', {}, text.slice(from, at = to))]), text.slice(at)]
}

interface Resume { path?: string, words?: string[], panel?: boolean }

/** arrive marks the words of a search on the page that it has led to. It
 * returns whether a panel was open on the page before. */
export function arrive(resume = tab.get<Resume>('resume')) {
  if (resume?.words && resume.path === location.pathname) {
    tab.set('resume')
    mark([...new Set(resume.words)])
  }
  return resume?.panel
}
