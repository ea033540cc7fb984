// The dialog, with search and the assistant in it.
import css from './main.css'
import { authorize } from './api'
import { emit, has, say, stays, status, tab } from './app'
import * as ask from './ask'
import { unmark } from './highlight'
import { icons } from './icons'
import { pageFeedback } from './page'
import { adopt, config, h, press, root, s, started } from './parts'
import * as search from './search'
import type { Mode } from './types'

let mode: Mode = 'search'

adopt(root, css)
const modes = (['search', 'ask'] as const).filter(has).map(m => press(s[m === 'ask' ? T.ask : T.search], '', () => {
  show(m)
  // One key from a search to its answer: what was typed goes along.
  ask.fillIn(search.input.value)
}, `button.mode.${m}-mode`))
const tools = h('div', {}, press(s[T.fresh], icons.fresh, ask.fresh), press(s[T.side], icons.side, () => {
  dialog.close()
  panel = !panel
  tab('resume', panel && { panel })
  show('ask')
}, 'button.icon.aside'))
// The dialog's close event comes with the next frame, when it may be open again.
const close = () => {
  if (panel) tab('resume', panel = false)
  dialog.close()
}
const dialog = h('dialog.dialog', {
  ariaLabel: config.title ?? s[T.search],
  // A click beside the box closes it, and so does a link that is followed.
  onclick(e: MouseEvent) {
    const link = (e.target as Element).closest('a')
    if (e.target === dialog || link && !panel && !stays(e, link)) close()
  },
  // The browser closes a modal dialog itself, but not a panel.
  onkeydown(e: KeyboardEvent) { if (e.key === 'Escape' && !e.isComposing) close() },
  onclose() {
    if (dialog.open) return // as a panel, or as a dialog again
    search.report()
    emit('close')
  },
}, h('div.head', {}, modes, h('span'), tools, press(s[T.close], icons.close, close)), search.view, ask.view, status)
root.append(dialog)

/** show opens the dialog and shows one of its views. */
export const show = (wanted: Mode) => {
  mode = has(wanted) ? wanted : wanted === 'ask' ? 'search' : 'ask'
  const asks = mode === 'ask'
  unmark()
  say('')
  search.view.hidden = asks
  ask.view.hidden = tools.hidden = !asks
  for (const b of modes) b.ariaPressed = b.part.contains(mode + '-mode') + ''
  if (!dialog.open) {
    ask.opened()
    dialog.className = dialog.part.value = panel ? 'dialog panel' : 'dialog'
    if (panel) dialog.show()
    else dialog.showModal()
    authorize().catch(() => 0)
    emit('open', { mode })
  }
  if (asks) {
    search.report()
    ask.focus()
  } else search.focus()
}

started({
  close,
  open: (wanted = dialog.open ? mode : 'search') => show(wanted),
  toggle() {
    if (dialog.open && mode === 'search') close()
    else show('search')
  },
  search(query = '', run = true) {
    show('search')
    search.fillIn(query, run)
  },
  ask(question = '') {
    show('ask')
    ask.fillIn(question)
  },
  destroy() {
    close()
    ask.stop()
  },
})

// A panel stays open from page to page.
let panel = search.arrive()
if (panel) show('ask')
if (has('page_feedback')) pageFeedback()
