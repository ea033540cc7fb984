// The loader: the site's own search button or one of the widget's, the shortcut,
// window.Docs, and the dialog, which takes what is typed until the rest has come.
import { adopt, h, icon, lens, put } from './dom'
import css from './loader.css'
import type { Api, Config, Context } from './types'

// Put in by widget.Loader and by the build.
declare const __DOCS_CONFIG__: Config
declare const __DOCS_MAIN__: string
declare const __DOCS_STRINGS__: string

/** searches are what opens the built-in searches of site generators, and their
 * keys: DocSearch, Docusaurus with a local search, Starlight, Material, mdBook,
 * Sphinx, Hugo Book, Docsy, Just the Docs, and MkDocs. */
const searches = '.DocSearch-Button /|.navbar__search-input |[data-open-modal] |.md-search,[for=__search] /fs|[id$=search-toggle],.book-search /s|[action*=search],[class*=search-button] /|.td-search,.search-input |[data-bs-target*=search] s'.split('|')

const script = document.currentScript as HTMLScriptElement

// A router or a second tag may run the script again.
if (!window.Docs) {
  const config: Config = { ...__DOCS_CONFIG__, ...script.dataset }
  const page = document.documentElement
  const { accent = '', position, replace, shortcut = 'mod+k', site, strings, theme = 'auto' } = config
  const base = script.src.split('/v1/widget/')[0]
  const language = (page.lang || navigator.language).slice(0, 2).toLowerCase()
  const own = strings?.[language]
  const name = own?.[T.search] ?? 'Search'

  const host = document.createElement('caddy-docs')
  const root = host.attachShadow({ mode: 'open' })
  adopt(root, css)

  let api: Api | undefined // once the rest has come
  let main: Promise<void> | undefined
  let tries = ''
  let selected = '' // text of the page
  let early: Event | undefined // Enter, before it has
  const chunk = (name: string) => import(base + '/v1/widget/' + name + tries)
  const load = () => main ??= Promise.all([
    chunk(__DOCS_MAIN__), language !== 'en' && chunk(language + __DOCS_STRINGS__).catch(() => 0),
  ]).then(([m, texts]) => {
    const context: Context = [h, put, icon, adopt, chunk, root, config, base, { ...texts?.default, ...own }, dialog, selected, started => { api = started }]
    m.default(context)
  }).catch(() => {
    main = undefined
    tries += '?' // browsers may keep the failure of an address
    // The page that needs no script may be there where this one can't be had.
    put(status, navigator.onLine ? h('a', { href: base + '/v1/ask/' + site + '?q=' + encodeURIComponent(input.value) }, name) : 'Offline')
  })
  const call = <K extends keyof Api>(name: K) => (...args: Parameters<Api[K]>) => {
    const run = () => (api as any)[name](...args)
    if (api) return run()
    keep()
    selected ||= getSelection() + ''
    dialog.open || dialog.showModal()
    load().then(() => {
      if (!api || !dialog.open) return
      run()
      if (early) root.activeElement?.dispatchEvent(new KeyboardEvent('keydown', early))
    })
  }
  const open = call('open')

  const input = h('input.input', {
    type: 'search', autofocus: true, ariaLabel: name, oninput: () => main || open(),
  })
  const status = h('output.status')
  const dialog = h('dialog.dialog', {
    ariaLabel: name,
    onkeydown(e: KeyboardEvent) { if (e.key === 'Enter') early = e },
  }, h('div.head', {}, h('button.icon', { onclick: () => dialog.close() }, '✕')),
  h('div.search', {}, h('label.field', {}, icon(lens), input)), status)

  const shortcuts = shortcut.toLowerCase().replaceAll('mod', /Mac|iP/.test(navigator.platform) ? 'meta' : 'ctrl').split(/[\s,]+/).map(keys => keys.split(/\+(?=.)/))
  let openers = ''
  try {
    page.matches(position!)
    openers = position!.replace(/^(bottom-|none).*/, '')
  } catch { /* not given, or not a selector: each click would throw */ }
  const button = h(`button.button.${openers ? '' : position}`, {
    onclick: () => open(), onpointerenter: load,
  }, icon(lens), h('span', {}, own?.open ?? name))
  put(root, button, dialog)
  // Keys in the box are none of the site's shortcuts.
  root.addEventListener('keydown', e => e.stopPropagation())

  let keys = '' // of the site's own search
  const keep = () => {
    // Some frameworks remove what they don't know.
    if (!host.isConnected) page.append(host)
    const body = document.body ?? page
    const look = getComputedStyle(body)
    const link = body.querySelector(':is(main,[role=main]) p a:not([class*=btn])')
    const set = (name: string, value: string | null) => host.style.setProperty(name, value)
    set('--docs-accent', accent)
    set('--page-accent', link && getComputedStyle(link).color)
    set('--page-font', look.fontFamily)
    set('color-scheme', theme === 'auto' ? look.colorScheme.replace('normal', '') : !/\W/.test(theme) ? theme
      : body.closest(theme) ? 'dark' : 'light')
    const row = !position && replace !== 'off' && searches.find(row => body.querySelector(row.split(' ')[0]))
    if (row) [openers, keys] = row.split(' ')
    // A search that the reader does not see, as below a phone's menu, is none.
    button.hidden = !!openers && [...body.querySelectorAll(openers)].some(e => e.getBoundingClientRect().right > 0)
  }

  const listening = new AbortController()
  // Before the site's own handlers.
  for (const type of 'click mousedown focus focusin keydown resize'.split(' ')) addEventListener(type, (e: any) => {
    const { key = '' } = e
    const target: any = e.composedPath()[0]
    const plain = !e.ctrlKey && !e.metaKey && !e.altKey
    // The letter on the key, for layouts without Latin letters.
    const letter = (key > '\x7f' ? e.code.slice(3) : key).toLowerCase()
    const shortcut = type === 'keydown' && !e.isComposing
      // A letter alone belongs to the text field that has the focus.
      && !(plain && target.matches?.('input,textarea,select,[contenteditable]'))
      && (plain && keys.includes(letter) || shortcuts.some(held => held.at(-1) === letter && ['alt', 'ctrl', 'meta', 'shift'].every(name =>
        // Shift may be what it takes to type a character that is no letter.
        (e as any)[name + 'Key'] === held.includes(name) || name > 's' && !/[a-z]/.test(letter))))
    const opener = target.closest?.('[data-docs-open]' + (openers && ',' + openers))
    if (!shortcut && !opener) return
    e.stopImmediatePropagation()
    // What is typed into the site's field goes into the box, which has the focus
    // then.
    const field = target.select
    const acts = key ? plain && field && /^(.|Enter)$/.test(key) : type === 'click'
    if (shortcut || (key ? acts && key[1] : acts || field)) e.preventDefault()
    if (shortcut) call('toggle')()
    else if (acts) open(opener.dataset.docsOpen)
    else load()
  }, { capture: true, signal: listening.signal })

  const watch = new MutationObserver(keep)
  watch.observe(page, { childList: true, attributes: true })
  if (document.body) watch.observe(document.body, { attributes: true })
  keep()

  window.Docs = {
    open, ask: call('ask'), search: call('search'),
    close() { (api ?? dialog).close() },
    destroy() {
      api?.destroy()
      listening.abort()
      watch.disconnect()
      host.remove()
      delete window.Docs
    },
  }

  let resume
  try { resume = sessionStorage['docs:' + site + ':resume'] } catch { /* storage is blocked */ }
  if (resume || /[?&](q|ask)=/.test(location.search) || /page_/.test(config.features!)) load()
}
