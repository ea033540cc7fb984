// Search: results while typing, as a combobox with a list (ARIA APG, "list
// autocomplete with manual selection").
import { post, type Problem } from './api'
import { emit, explain, has, kept, linked, say, stays, tab, unlink } from './app'
import * as assistant from './ask'
import { mark } from './highlight'
import { icons } from './icons'
import { show } from './main'
import { config, dialog, fill, h, icon, put, s } from './parts'

type Ranges = [from: number, to: number][]

interface Item {
  path: string
  metadata: {
    title: string, heading?: string, breadcrumbs?: string[], url: string, snippet?: string, site?: string
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

export const input = Object.assign(dialog.querySelector('input')!, {
  role: 'combobox', ariaExpanded: 'false', ariaAutoComplete: 'list', ariaLabel: s[T.search],
  placeholder: config.placeholder ?? s[T.placeholder],
  oninput() {
    clearTimeout(timer)
    timer = setTimeout(search, 80)
  },
  async onkeydown(e: KeyboardEvent) {
    const { key } = e
    const n = options.length
    if (linked) return search()
    if (e.isComposing || !/^(Arrow(Down|Up)|Enter)$/.test(key)) return
    e.preventDefault()
    if (key !== 'Enter') return select(key > 'ArrowE' ? (active < 1 ? n : active) - 1 : (active + 1) % n)
    const query = input.value.trim()
    if (e.shiftKey && has('ask') && query) return ask()
    // What is still to come is waited for; a question is not asked unseen.
    const stale = query !== found && (active < 0 || (options[active] as HTMLAnchorElement).href)
    if (stale) await search()
    if (active < 0) await search(0)
    const chosen = options[active] as HTMLAnchorElement | undefined
    if (!chosen || stale && !chosen.href) return
    if (e.ctrlKey || e.metaKey) chosen.target = '_blank'
    chosen.click()
    chosen.target = ''
  },
})
input.setAttribute('aria-controls', 'results')
export const list = h('div.results', { id: 'results', role: 'listbox', ariaLabel: s[T.search] })

const asking = new Text()

/** fillList shows options, and above them the one that asks what was typed.
 * Enter takes the first of the others, if there is one. */
const fillList = (parts: Parameters<typeof put>[1][], question?: string) => {
  const asks = question && has('ask')
  put(list, asks && action(asking, icons.ask, () => ask(), ' ⇧↵'), parts)
  options = [...list.querySelectorAll<HTMLElement>('[role=option]')]
  input.ariaExpanded = !!options[0] as any
  select(Math.min(question ? +!!asks : -1, options.length - 1))
}

const select = (i: number) => {
  active = i
  options.forEach((o, n) => {
    o.id = 'o' + n
    o.ariaSelected = (n === i) as any
  })
  input.setAttribute('aria-activedescendant', options[i]?.id ?? '')
  options[i]?.scrollIntoView({ block: 'nearest' })
}

const action = (text: string | Text, path: string, click: () => void, ...more: string[]) => h('div.option', { role: 'option', onclick: click }, icon(path), text, more)

const group = (label: string | (Node | string | false)[], children: Element[]) => {
  const heading = h('div.page', { role: 'presentation' }, label)
  return h('div', { role: 'group', ariaLabel: heading.textContent }, heading, children)
}

const ask = (question = input.value.trim()) => {
  show('ask')
  assistant.send(question)
}

const start = () => {
  found = ''
  say('')
  const recent: string[] | undefined = kept('recent')
  fillList([
    recent && [group(s[T.recent], recent.map(q => action(q, icons.again, () => fillIn(q)))), action(s[T.clear], icons.close, () => {
      kept('recent', '')
      start()
    })],
    has('ask') && config.starters && group(s[T.question], config.starters.map(q => action(q, icons.ask, () => ask(q)))),
  ])
}

export const search = async (offset?: number) => {
  clearTimeout(timer)
  running?.abort()
  const query = input.value.trim()
  if (!query) return start()
  asking.data = fill(s[T.askThis], query)
  if (query === found && offset == null) return
  const { signal } = running = new AbortController()
  unlink()
  list.ariaBusy = true as any
  try {
    const response = await post('/v1/search/{}', { query, pageSize: 7, fields: ['snippet'], offset }, { signal })
    const more: Item[] = await response.json()
    items = offset ? items.concat(more) : more
    found = query
    const hits = +response.headers.get('X-Total-Count')!
    typed = { type: 'search', query, hits }
    fillList([[...Map.groupBy(items, item => item.path.replace(/#.*/, '')).values()].map(own => {
      const { title, breadcrumbs = [], highlights, site = '' } = own[0].metadata
      // A site among several has a colour by its name.
      const hue = [...site].reduce((n, c) => (n + c.charCodeAt(0)) * 137 % 360, 0)
      return group([...breadcrumbs.map((b, i) => b !== title && h('span', { style: !i && hue && `color:oklch(from var(--link) l .15 ${hue})` }, b + ' › ')), ...marked(title, highlights?.title)], own.map(option))
    }), hits > items.length && action(s[T.more], icons.fresh, () => search(items.length))], found)
    if (offset) select(offset + +has('ask'))
    emit('search', { hits }, { query })
    say(fill(s[hits ? T.count : T.none], hits || query))
    // Pages are still being checked, so the best may be missing.
    if (offset == null && response.headers.get('X-Results-Incomplete')) {
      select(-1)
      say(fill(s[T.searching], query))
      timer = setTimeout(() => active < 0 && search(0), 2000)
    }
  } catch (problem) {
    if (signal.aborted) return
    fillList([], query)
    found = ''
    say(explain(problem as Problem))
  }
  list.ariaBusy = false as any
}

const option = (item: Item) => {
  const { path, metadata: { title, heading = title, url, snippet = '', highlights = {} } } = item
  const query = found
  const link = h('a.option.result', {
    href: url, role: 'option', tabIndex: -1,
    onclick(event: MouseEvent) {
      const position = items.indexOf(item) + 1
      report()
      send({ type: 'click', query, path, position })
      emit('click', { path, position }, { query })
      kept('recent', [...new Set([query, ...kept('recent') ?? []])].slice(0, 5))
      if (stays(event, link)) return
      const resume = { path: link.pathname, words: [...link.querySelectorAll('mark')].map(m => m.textContent!) }
      tab('resume', resume)
      // Under a client-side router the page changes without a load, in a while.
      for (const wait of [50, 400, 1500]) setTimeout(arrive, wait, resume)
    },
  }, h('div.heading', {}, marked(heading, heading === title ? highlights.title : highlights.heading)), h('div.snippet', {}, marked(snippet, highlights.snippet)))
  return link
}

const send = (event: object) => { post('/v1/events/{}', event, { keepalive: true }).catch(() => 0) }

/** report sends the query with which typing ended. A search that is still to
 * come is given up. */
export const report = () => {
  clearTimeout(timer)
  running?.abort()
  if (typed) send(typed)
  typed = undefined
}

export const fillIn = (query: string) => {
  input.value = query
  input.focus()
  search()
}

/** hint shows a query of the page's address. The first key or tap searches. */
export const hint = (query: string) => {
  input.value = query
  say(s[T.search] + ' ↵')
}

/** focus is for the search field. typed: the reader is typing in it. */
export const focus = (typed: boolean) => {
  if (typed || !input.value) search()
  if (!typed) input.select()
  input.focus()
}

/** marked is a text with the searched words in <mark>. */
const marked = (text: string, ranges: Ranges = [], at = 0) =>
  [...ranges.flatMap(([from, to]) => [text.slice(at, from), h('mark', {}, text.slice(from, at = to))]), text.slice(at)]

interface Resume { path?: string, words?: string[], panel?: boolean }

/** arrive marks the words of a search on the page that it has led to. It
 * returns whether a panel was open on the page before. */
export const arrive = (resume: Resume | undefined = tab('resume')) => {
  if (resume?.path === location.pathname) {
    tab('resume', '')
    mark(resume.words!)
  }
  return resume?.panel
}
