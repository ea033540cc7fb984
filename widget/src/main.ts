// The dialog, with search and the assistant in it.
import { client, Failure } from './api'
import { type App, fill, store } from './app'
import { askView } from './ask'
import { unmark } from './highlight'
import * as icons from './icons'
import css from './main.css'
import { pageFeedback } from './page'
import { adopt, h, press, use } from './parts'
import { arrive, searchView } from './search'
import english, { type Strings } from './strings/en'
import type { Api, Context, Mode } from './types'

declare const __DOCS_STRINGS__: string // by the build: the hash of strings/*.ts

export async function mount(context: Context): Promise<Api> {
  use(context)
  const { root, config, base, language } = context
  const { title, features = ['search', 'ask', 'feedback'] } = config
  const own = /^(de|es|fr|it|ja|ko|pt|ru|zh)$/.test(language) && await import(`${base}/v1/widget/${language}-${__DOCS_STRINGS__}.js`).catch(() => 0)
  const s: Strings = { ...english, ...own.default, ...config.strings?.[language] }
  const status = h('div.status', { role: 'status' })
  const tab = store(config, '')
  let mode: Mode = 'search'
  let panel: boolean | undefined
  let before: HTMLElement | null

  const app: App = {
    ...context, s, tab,
    kept: store(config, config.conversations),
    client: client(base, config.site),
    has: feature => features.includes(feature),
    say(text) {
      // Emptied first, so that the same sentence is read twice.
      status.textContent = ''
      setTimeout(() => { status.textContent = text }, 99)
    },
    emit(name, detail, words) {
      document.dispatchEvent(new CustomEvent('docs:' + name, { detail: config.events === 'text' ? { ...detail, ...words } : detail }))
    },
    explain: error => !navigator.onLine ? s.offline : error.status === 429 ? fill(s.limited, error.wait ?? 60)
      : error instanceof Failure && error.message || s.failed,
    show,
    leave() { if (!panel) close() },
    ask(question) {
      show('ask')
      ask.send(question)
    },
  }
  adopt(root, css)
  const search = searchView(app)
  const ask = askView(app)
  const modes = (['search', 'ask'] as const).filter(app.has).map(m => press(s[m], '', () => {
    show(m)
    // One key from a search to its answer: what was typed goes along.
    ask.fillIn(search.input.value)
  }, `button.mode.${m}-mode`))
  const tools = h('div', {}, press(s.fresh, icons.fresh, ask.fresh), press(s.side, icons.side, () => {
    dialog.close()
    panel = !panel
    tab.set('resume', panel ? { panel } : undefined)
    show('ask')
  }, 'button.icon.aside'))
  const dialog = h('dialog.dialog', {
    'aria-label': title ?? s.search,
    click(e: Event) { if (e.target === dialog) close() },
    cancel(e: Event) {
      e.preventDefault()
      close()
    },
    keydown(e: KeyboardEvent) { if (e.key === 'Escape' && !e.isComposing) close() },
  }, h('div.box', {}, h('div.head', {}, ...modes, h('span'), tools, press(s.close, icons.close, close)), search.view, ask.view), status)
  root.append(dialog)

  function show(wanted: Mode) {
    mode = app.has(wanted) ? wanted : wanted === 'ask' ? 'search' : 'ask'
    const asks = mode === 'ask'
    unmark()
    search.view.hidden = asks
    ask.view.hidden = tools.hidden = !asks
    for (const b of modes) b.ariaPressed = b.classList.contains(mode + '-mode') + ''
    if (!dialog.open) {
      before = document.activeElement as HTMLElement
      ask.opened()
      for (const names of [dialog.classList, dialog.part]) names.toggle('panel', !!panel)
      if (panel) dialog.show()
      else dialog.showModal()
      app.client.authorize().catch(() => 0)
      app.emit('open', { mode })
    }
    if (asks) return ask.focus()
    search.refresh()
    search.input.select()
    search.input.focus()
  }

  function close() {
    if (!dialog.open) return
    dialog.close()
    search.report()
    if (panel) tab.set('resume')
    panel = false
    // A modal dialog gives the focus back itself; a panel does not.
    before?.focus()
    app.emit('close')
  }

  const api: Api = {
    close,
    open: (wanted = dialog.open ? mode : 'search') => show(wanted),
    toggle() {
      if (dialog.open && mode === 'search') close()
      else show('search')
    },
    search(query = '') {
      show('search')
      search.fillIn(query, true)
    },
    ask(question = '') {
      show('ask')
      ask.fillIn(question)
    },
    destroy() {
      close()
      ask.stop()
      unmark()
    },
  }

  panel = arrive(app)
  if (panel) show('ask')
  // A link fills in. It does not send: that costs, and is the reader's to say.
  const params = new URLSearchParams(location.search)
  const question = params.get('ask')
  const query = params.get('q')
  if (question !== null) api.ask(question)
  else if (query !== null && !document.querySelector('[name=q]')) {
    show('search')
    search.fillIn(query)
  }
  if (app.has('page_feedback')) pageFeedback(app)
  return api
}
