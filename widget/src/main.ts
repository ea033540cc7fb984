// The dialog, with search and the assistant in it.
import { authorize } from './api'
import { emit, has, status, tab } from './app'
import * as ask from './ask'
import { unmark } from './highlight'
import * as icons from './icons'
import css from './main.css'
import { pageFeedback } from './page'
import { adopt, config, h, press, root, s } from './parts'
import * as search from './search'
import type { Mode } from './types'

let mode: Mode = 'search'
let panel: boolean | undefined
let before: HTMLElement | null

adopt(root, css)
const modes = (['search', 'ask'] as const).filter(has).map(m => press(s[m === 'ask' ? T.ask : T.search], '', () => {
  show(m)
  // One key from a search to its answer: what was typed goes along.
  ask.fillIn(search.input.value)
}, `button.mode.${m}-mode`))
const tools = h('div', {}, press(s[T.fresh], icons.fresh, ask.fresh), press(s[T.side], icons.side, () => {
  dialog.close()
  panel = !panel
  tab.set('resume', panel ? { panel } : undefined)
  show('ask')
}, 'button.icon.aside'))
const dialog = h('dialog.dialog', {
  'aria-label': config.title ?? s[T.search],
  click(e: Event) { if (e.target === dialog) close() },
  cancel(e: Event) {
    e.preventDefault()
    close()
  },
  keydown(e: KeyboardEvent) { if (e.key === 'Escape' && !e.isComposing) close() },
}, h('div.box', {}, h('div.head', {}, ...modes, h('span'), tools, press(s[T.close], icons.close, close)), search.view, ask.view), status)
root.append(dialog)

/** show opens the dialog and shows one of its views. */
export function show(wanted: Mode) {
  mode = has(wanted) ? wanted : wanted === 'ask' ? 'search' : 'ask'
  const asks = mode === 'ask'
  unmark()
  search.view.hidden = asks
  ask.view.hidden = tools.hidden = !asks
  for (const b of modes) b.ariaPressed = b.part.contains(mode + '-mode') + ''
  if (!dialog.open) {
    before = document.activeElement as HTMLElement
    ask.opened()
    for (const names of [dialog.classList, dialog.part]) names.toggle('panel', !!panel)
    if (panel) dialog.show()
    else dialog.showModal()
    authorize().catch(() => 0)
    emit('open', { mode })
  }
  if (asks) ask.focus()
  else search.focus()
}

function close() {
  if (!dialog.open) return
  dialog.close()
  search.report()
  if (panel) tab.set('resume')
  panel = false
  // A modal dialog gives the focus back itself; a panel does not.
  before?.focus()
  emit('close')
}

/** leave closes the modal dialog when a link in it is followed. */
export function leave() { if (!panel) close() }

function searchFor(query = '', run = true) {
  show('search')
  search.fillIn(query, run)
}

function askAbout(question = '') {
  show('ask')
  ask.fillIn(question)
}

CONTEXT.api = {
  close,
  open: (wanted = dialog.open ? mode : 'search') => show(wanted),
  toggle() {
    if (dialog.open && mode === 'search') close()
    else show('search')
  },
  search: searchFor,
  ask: askAbout,
  destroy() {
    close()
    ask.stop()
    unmark()
  },
}

panel = search.arrive()
if (panel) show('ask')
// A link fills in. It does not send: that costs, and is the reader's to say.
const params = new URLSearchParams(location.search)
const question = params.get('ask')
const query = params.get('q')
if (question !== null) askAbout(question)
else if (query !== null && !document.querySelector('[name=q]')) searchFor(query, false)
if (has('page_feedback')) pageFeedback()
