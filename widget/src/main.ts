// What the loader's dialog is for: search and the assistant.
import css from './main.css'
import { authorize } from './api'
import { emit, has, linked, query, question, say, stays, tab } from './app'
import * as ask from './ask'
import { feedback } from './feedback'
import { mainOf, unmark } from './highlight'
import { icons } from './icons'
import { adopt, chunk, config, dialog, h, press, put, root, s, selected, started } from './parts'
import * as search from './search'
import type { Mode } from './types'

let mode: Mode = 'search'
let shown = false
// What was typed before this was here goes on, and is not selected.
let typed = dialog.open

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
  if (panel) {
    tab('resume', panel = false)
    room()
  }
  dialog.close()
}
/** room makes room for the panel beside the page (see highlight.ts), and keeps in
 * place what the reader sees there. */
const room = () => {
  const seen = [...mainOf().querySelectorAll('*')].find(e => e.getBoundingClientRect().top > 0)
  const top = () => seen?.getBoundingClientRect().top ?? 0
  const before = top()
  document.documentElement.toggleAttribute('data-docs-panel', panel)
  scrollBy({ top: top() - before, behavior: 'instant' })
}

const [head, field] = dialog.children as Iterable<any>
dialog.ariaLabel = config.title ?? s[T.search]
put(head, modes, tools, press(s[T.close], icons.close, close))
dialog.append(search.list, ask.view)
// A click beside the box closes it, and so does a link that is followed.
dialog.onclick = e => {
  if (linked) search.search()
  const link = (e.target as Element).closest('a')
  if (e.target === dialog || link && !panel && !stays(e, link)) close()
}
// The browser closes a modal dialog itself, but not a panel.
dialog.onkeydown = e => { if (e.key === 'Escape' && !e.isComposing) close() }
dialog.onclose = () => {
  if (dialog.open) return // as a panel, or as a dialog again
  shown = false
  search.report()
  emit('close')
}
// A phone's keyboard covers the page and leaves its height as it is.
visualViewport!.addEventListener('resize', ({ target: v }: any) => dialog.style.setProperty('--height', v.height * v.scale + 'px'))

/** show opens the dialog and shows one of its views. On a page that a panel
 * comes along to, the focus stays where it is. */
export const show = (wanted: Mode, along?: boolean) => {
  mode = has(wanted) ? wanted : wanted === 'ask' ? 'search' : 'ask'
  const asks = mode === 'ask'
  unmark()
  say('')
  field.hidden = search.list.hidden = asks
  ask.view.hidden = tools.hidden = !asks
  for (const b of modes) b.ariaPressed = b.part.contains(mode + '-mode') as any
  if (!(shown && dialog.open)) {
    shown = true
    ask.opened(typed ? selected : getSelection() + '')
    dialog.className = dialog.part.value = 'dialog' + (panel ? ' panel' : '')
    if (panel) {
      if (along) dialog.open = true
      else dialog.show() // takes the focus
      room()
    } else if (!dialog.open) dialog.showModal()
    authorize().catch(() => 0)
    emit('open', { mode })
  }
  if (asks) {
    search.report()
    if (typed) ask.fillIn(search.input.value)
    along || ask.focus()
  } else search.focus(typed)
  typed = false
}

started({
  close,
  open: (wanted = dialog.open ? mode : 'search') => show(wanted),
  toggle() {
    if (shown && dialog.open && mode === 'search') close()
    else show('search')
  },
  search(query = '') {
    show('search')
    search.fillIn(query)
  },
  ask(question) {
    show('ask')
    ask.fillIn(question)
  },
  destroy() {
    close()
    ask.stop()
  },
})

// A panel stays open from page to page.
let panel = !typed && search.arrive()
// A link fills in. It does not send: that costs, and is the reader's to say.
if (linked) {
  show(question ? 'ask' : 'search')
  ask.fillIn(question)
  if (query) search.hint(query)
} else if (panel) show('ask', true)
if (/page_/.test(config.features!)) chunk(__DOCS_PAGE__).then(m => m.default([CONTEXT, s, mainOf, has, tab, feedback]))
