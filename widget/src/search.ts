// Search: results while typing, as a combobox with a list (ARIA APG, "list
// autocomplete with manual selection").
import { App, fill } from './app'
import { mark } from './highlight'
import * as icons from './icons'
import { anchor } from './markdown'
import { h, icon } from './parts'

type Ranges = [from: number, to: number][]

interface Item {
  path: string
  metadata: {
    title: string, heading?: string, breadcrumbs?: string[], url: string, snippet?: string
    highlights?: { title?: Ranges, heading?: Ranges, snippet?: Ranges }
  }
}

export function searchView(app: App) {
  const { s, config, client, kept } = app
  const canAsk = app.has('ask')
  const input = h('input.input', {
    type: 'search', role: 'combobox', 'aria-expanded': 'false', 'aria-controls': 'results', 'aria-autocomplete': 'list', 'aria-label': s.search,
    placeholder: config.placeholder ?? s.placeholder, autocomplete: 'off', autocapitalize: 'off', spellcheck: 'false', enterkeyhint: 'search', maxlength: 1000,
    input() {
      clearTimeout(timer)
      timer = setTimeout(search, 120)
    },
    async keydown(e: KeyboardEvent) {
      const { key, isComposing, shiftKey, ctrlKey, metaKey } = e
      const n = options.length
      if (isComposing || !/^(Arrow(Down|Up)|Enter)$/.test(key)) return
      e.preventDefault()
      if (key !== 'Enter') return select(key > 'ArrowE' ? (active < 1 ? n : active) - 1 : (active + 1) % n)
      const query = input.value.trim()
      if (shiftKey && canAsk && query) return ask(query)
      if (active < 0 && query !== found) await search()
      options[Math.max(active, 0)]?.dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true, composed: true, ctrlKey, metaKey }))
    },
  })
  const list = h('div.results', { id: 'results', role: 'listbox', 'aria-label': s.search })
  const note = h('p.note')
  const view = h('div.search', {}, h('label.field', {}, icon(app.lens), input), note, list)

  let options: HTMLElement[] = []
  let active = -1
  let items: Item[] = []
  let found = '' // the query that items are of
  let timer: number
  let running: AbortController | undefined
  let typed: object | undefined // what to report when typing has ended

  function show(parts: Element[]) {
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
  let groups = 0
  const group = (label: Node | string, children: Element[]) => {
    const id = 'g' + groups++
    return h('div', { role: 'group', 'aria-labelledby': id }, h('div.page', { id, role: 'presentation' }, label), ...children)
  }

  function ask(query: string) {
    report()
    app.ask(query)
  }

  function toAsk(query: string) {
    const o = action(fill(s.askThis, query), icons.ask, () => ask(query), h('kbd', {}, '⇧↵'))
    o.classList.add('action')
    return canAsk ? [o] : []
  }

  function start() {
    items = []
    found = note.textContent = ''
    const recent = kept.get<string[]>('recent') ?? []
    const starters = canAsk && config.starters || []
    show([
      ...recent.length ? [group(s.recent, recent.map(q => action(q, icons.again, () => fillIn(q, true)))), action(s.clear, icons.close, () => {
        kept.set('recent')
        start()
      })] : [],
      ...starters.length ? [group(s.question, starters.map(q => action(q, icons.ask, () => ask(q))))] : [],
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
      const response = await client.post('/v1/search/{}', {
        query, pageSize: 10, fields: ['snippet'], offset, filter: language && { language },
      }, { signal })
      const hits: Item[] = await response.json()
      items = offset ? items.concat(hits) : hits
      found = query
      const total = +response.headers.get('X-Total-Count')! || items.length
      typed = { type: 'search', query, hits: total }
      results(query, total)
      if (offset) select(offset)
      app.say(items.length ? fill(s.count, total) : '')
      note.textContent = items.length ? '' : fill(s.none, query)
      app.emit('search', { hits: total }, { query })
    } catch (error) {
      if (signal.aborted) return
      show(toAsk(query))
      found = ''
      note.textContent = app.explain(error)
    }
    if (note.textContent) app.say(note.textContent)
  }

  function results(query: string, total: number) {
    const pages = new Map<string, Item[]>()
    for (const item of items) {
      const page = item.path.replace(/#.*/, '')
      pages.set(page, [...pages.get(page) ?? [], item])
    }
    show([
      ...[...pages.values()].map(own => {
        const { title, breadcrumbs = [], highlights } = own[0].metadata
        return group(h('span', {}, ...breadcrumbs.filter(b => b !== title).map(b => b + ' › '), marked(title, highlights?.title)),
          own.map(item => option(item, query)))
      }),
      ...total > items.length ? [action(s.more, icons.down, () => search(items.length))] : [],
      ...toAsk(query),
    ])
  }

  function option({ path, metadata }: Item, query: string) {
    const { title, heading = title, url, snippet = '', highlights: { title: t, heading: hd, snippet: sn } = {} } = metadata
    const link = anchor(url, app.base, h('span.heading', {}, marked(heading, heading === title ? t : hd)), h('span.snippet', {}, marked(snippet, sn))) as HTMLAnchorElement
    link.className = link.part.value = 'option result'
    link.role = 'option'
    link.tabIndex = -1
    link.target = ''
    link.addEventListener('click', event => {
      const position = items.findIndex(item => item.path === path) + 1
      report()
      send({ type: 'click', query, path, position })
      app.emit('click', { path, position }, { query })
      kept.set('recent', [...new Set([query, ...kept.get<string[]>('recent') ?? []])].slice(0, 5))
      if (event.ctrlKey || event.metaKey || event.shiftKey) return
      const resume = { path: link.pathname, words: [...link.querySelectorAll('mark')].map(m => m.textContent!) }
      app.tab.set('resume', resume)
      // Under a client-side router the page changes without a load, in a while.
      for (const wait of [50, 400, 1500]) setTimeout(arrive, wait, app, resume)
      app.leave()
    })
    return link
  }

  const send = (event: object) => { client.post('/v1/events/{}', event, { keepalive: true }).catch(() => {}) }

  /** report sends the query with which typing ended. */
  function report() {
    if (typed) send(typed)
    typed = undefined
  }

  function fillIn(query: string, run?: boolean) {
    input.value = query
    input.focus()
    if (run) search()
  }

  start()
  return { view, input, fillIn, report, refresh() { if (!input.value) start() } }
}

/** marked is a text with the searched words in <mark>. */
function marked(text: string, ranges: Ranges = []) {
  const out = document.createDocumentFragment()
  let at = 0
  for (const [from, to] of ranges) {
    out.append(text.slice(at, from), h('mark', {}, text.slice(from, to)))
    at = to
  }
  out.append(text.slice(at))
  return out
}

interface Resume { path?: string, words?: string[], panel?: boolean }

/** arrive marks the words of a search on the page that it has led to. It
 * returns whether a panel was open on the page before. */
export function arrive(app: App, resume = app.tab.get<Resume>('resume')) {
  if (resume?.words && resume.path === location.pathname) {
    app.tab.set('resume')
    mark([...new Set(resume.words)])
  }
  return resume?.panel
}
