// The loader: the button, the shortcut and window.Docs. The rest comes at
// first use.
import { adopt, h, icon, lens, put } from './dom'
import css from './button.css'
import type { Api, Config, Context, Mode } from './types'

// Put in by widget.Loader and by the build.
declare const __DOCS_CONFIG__: Config
declare const __DOCS_MAIN__: string
declare const __DOCS_STRINGS__: string

const labels = 'de Suche fr Recherche es Buscar pt Pesquisar it Cerca ru Поиск zh 搜索 ja 検索 ko 검색'

const script = document.currentScript as HTMLScriptElement

// A router or a second tag may run the script again.
if (!window.Docs) {
  const config: Config = { ...__DOCS_CONFIG__, ...script.dataset }
  const { accent, position = 'bottom-right', shortcut = 'mod+k', site, strings, theme = 'auto' } = config
  const features = String(config.features ?? 'search,ask,feedback').split(/[\s,]+/)
  const base = script.src.split('/v1/widget/')[0]
  const page = document.documentElement
  const language = (page.lang || navigator.language).slice(0, 2).toLowerCase()
  const own = strings?.[language]
  const label = RegExp('\\b' + language + ' (\\S+)').exec(labels)?.[1]

  const tag = 'caddy-docs'
  customElements.get(tag) ?? customElements.define(tag, class extends HTMLElement {})
  const host = document.createElement(tag)
  const root = host.attachShadow({ mode: 'open' })
  adopt(root, css)
  if (accent) host.style.setProperty('--docs-accent', accent)

  let main: Promise<Api> | undefined
  const chunk = (name: string) => import(base + '/v1/widget/' + name)
  const load = () => (main ??= Promise.all([
    chunk(__DOCS_MAIN__), label && chunk(language + __DOCS_STRINGS__).catch(() => 0),
  ]).then(([m, texts]) => new Promise(started => {
    const context: Context = [h, put, icon, adopt, lens, root, config, features, base, { ...texts?.default, ...own }, started]
    m.default(context)
  }))).catch(() => { main = undefined })
  const call = <K extends keyof Api>(name: K) => (...args: Parameters<Api[K]>) => {
    // The page that needs no script is there where this one can't be had.
    load().then(m => m ? (m[name] as any)(...args) : location.assign(base + '/v1/ask/' + site))
  }
  const open = call('open')
  const toggle = call('toggle')

  const mod = /Mac|iP/.test(navigator.platform) ? 'meta' : 'ctrl'
  const shortcuts = shortcut.toLowerCase().replaceAll('mod', mod).split(/[\s,]+/).map(keys => keys.split(/\+(?=.)/))

  const listening = new AbortController()
  const { signal } = listening
  const openers = /^(bottom-|none)/.test(position) ? '' : ',' + position
  document.addEventListener('keydown', e => {
    // The letter on the key, for layouts without Latin letters.
    const key = (e.key > '\x7f' ? e.code.slice(3) : e.key).toLowerCase()
    // Shift may be what it takes to type a character that is no letter.
    const held = (['alt', 'ctrl', 'meta', 'shift'] as const).filter(name => e[`${name}Key`] && (name !== 'shift' || /[a-z]/.test(key)))
    if (e.defaultPrevented || e.isComposing || !shortcuts.some(keys => keys.toSorted() + '' === [...held, key].sort() + '')) return
    // A letter alone belongs to the text field that has the focus.
    if (!/[acm]/.test(held + '') && (e.composedPath()[0] as Element).matches('input,textarea,select,[contenteditable]')) return
    e.preventDefault()
    e.stopPropagation() // most sites' own search listens on window
    toggle()
  }, { signal })
  document.addEventListener('click', e => {
    const opener = (e.target as Element).closest<HTMLElement>('[data-docs-open]' + openers)
    if (!opener) return
    e.preventDefault()
    open(opener.dataset.docsOpen as Mode)
  }, { signal })

  if (!openers && position !== 'none') {
    root.append(h(`button.button.${position}`, {
      ariaHasPopup: 'dialog', onclick: () => open(), onpointerenter: load, onfocus: load,
    }, icon(lens), h('span', {}, own?.open ?? own?.[T.search] ?? label ?? 'Search'),
    shortcut !== 'off' && h('kbd', {}, shortcuts[0].join(' ').replace('meta', '⌘'))))
  }

  const keep = () => {
    // Some frameworks remove what they don't know.
    if (!host.isConnected) page.append(host)
    const body = document.body ?? page
    host.style.colorScheme = theme === 'auto' ? getComputedStyle(body).colorScheme.replace('normal', '') : !/\W/.test(theme) ? theme
      : body.closest(theme) ? 'dark' : 'light'
  }
  const watch = new MutationObserver(keep)
  watch.observe(page, { childList: true, attributes: true })
  if (document.body) watch.observe(document.body, { attributes: true })
  keep()

  window.Docs = {
    open, ask: call('ask'), search: call('search'),
    close() { main?.then(m => m.close()) },
    destroy() {
      main?.then(m => m.destroy())
      listening.abort()
      watch.disconnect()
      host.remove()
      delete window.Docs
    },
  }

  const params = new URLSearchParams(location.search)
  const question = params.get('ask')
  const query = !document.querySelector('[name=q]') && params.get('q')
  let resume
  try { resume = sessionStorage['docs:' + site + ':resume'] } catch { /* storage is blocked */ }
  // A link fills in. It does not send: that costs, and is the reader's to say.
  if (resume || question || query || features.includes('page_feedback')) {
    load().then(m => question ? m?.ask(question) : query && m?.search(query, false))
  }
}
