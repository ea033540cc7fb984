// The loader: the button, the shortcut and windowindow.Docs. The rest comes at
// first use.
import { adopt, h, icon, lens } from './dom'
import css from './button.css'
import type { Api, Config, Mode } from './types'

// Put in by widget.Loader and by the build.
declare const __DOCS_CONFIG__: Config
declare const __DOCS_MAIN__: string

const labels = 'de Suche fr Recherche es Buscar pt Pesquisar it Cerca ru Поиск zh 搜索 ja 検索 ko 검색'

const script = document.currentScript as HTMLScriptElement

// A router or a second tag may run the script again.
if (!window.Docs) {
  const config: Config = __DOCS_CONFIG__
  for (const name of ['accent', 'theme', 'shortcut', 'position', 'placeholder', 'title', 'features', 'conversations'] as const) {
    const value = script.dataset[name]
    if (value) (config as any)[name] = name === 'features' ? value.split(/[\s,]+/) : value
  }
  const { accent, features, position = 'bottom-right', shortcut = 'mod+k', site, strings, theme = 'auto' } = config
  const base = script.src.replace(/\/v1\/widget\/[^/]*$/, '')
  const page = document.documentElement
  const language = (page.lang || navigator.language).slice(0, 2).toLowerCase()

  const tag = 'caddy-docs'
  customElements.get(tag) ?? customElements.define(tag, class extends HTMLElement {})
  const host = document.createElement(tag)
  const root = host.attachShadow({ mode: 'open' })
  adopt(root, css)
  if (accent) host.style.setProperty('--docs-accent', accent)

  let main: Promise<Api> | undefined
  const load = () => main ??= import(base + '/v1/widget/' + __DOCS_MAIN__).then(m => m.mount({ host, root, config, base, language, h, icon, adopt, lens }))
  const soon = () => { load().catch(() => { main = undefined }) }
  const call = <K extends keyof Api>(name: K) => (...args: Parameters<Api[K]>) => {
    load().then(m => (m[name] as any)(...args), error => {
      // The page that needs no script is there where this one can't be had.
      console.error(error)
      main = undefined
      location.assign(base + '/v1/ask/' + site)
    })
  }
  const open = call('open')
  const toggle = call('toggle')

  const mac = /Mac|iP/.test(navigator.platform)
  const shortcuts = shortcut.toLowerCase().split(/[\s,]+/).filter(s => s && s !== 'off').map(s => s.split(/\+(?=.)/))
  const pressed = (e: KeyboardEvent) => shortcuts.some(parts => {
    const key = parts.at(-1)!
    const wants = (name: string) => parts.slice(0, -1).includes(name)
    // The letter on the key, for layouts without Latin letters.
    const typed = e.key > '\x7f' ? e.code.slice(3) : e.key
    return typed.toLowerCase() === key && e.altKey === wants('alt')
      && e.ctrlKey === (wants('ctrl') || (wants('mod') && !mac))
      && e.metaKey === (wants('meta') || (wants('mod') && mac))
      && (e.shiftKey === wants('shift') || !/[a-z]/.test(key))
  })

  const listening = new AbortController()
  const { signal } = listening
  const own = /^(bottom-(left|right)|none)$/.test(position) ? '' : ',' + position
  document.addEventListener('keydown', e => {
    if (e.defaultPrevented || e.isComposing || !pressed(e)) return
    // A letter alone belongs to whoever types.
    if (!e.ctrlKey && !e.metaKey && !e.altKey && (e.composedPath()[0] as Element).matches('input,textarea,select,[contenteditable]')) return
    e.preventDefault()
    toggle()
  }, { signal })
  document.addEventListener('click', e => {
    const opener = (e.target as Element).closest<HTMLElement>('[data-docs-open]' + own)
    if (!opener) return
    e.preventDefault()
    open(opener.dataset.docsOpen as Mode)
  }, { signal })

  if (!own && position !== 'none') {
    const label = strings?.[language]?.open ?? strings?.[language]?.search ?? RegExp('\\b' + language + ' (\\S+)').exec(labels)?.[1] ?? 'Search'
    root.append(h(position === 'bottom-left' ? 'button.button.left' : 'button.button', {
      type: 'button', 'aria-haspopup': 'dialog', click: () => open(), pointerenter: soon, focus: soon,
    }, icon(lens), h('span', {}, label), h('kbd', {}, shortcuts[0]?.map(k => k === 'mod' ? mac ? '⌘' : 'Ctrl' : k.toUpperCase()).join(' '))))
  }

  const keep = () => {
    // Some frameworks remove what they don't know.
    if (!host.isConnected) page.append(host)
    host.style.colorScheme = theme === 'auto' ? '' : theme === 'light' || theme === 'dark' ? theme
      : page.matches(theme) || document.body?.matches(theme) ? 'dark' : 'light'
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

  const query = new URLSearchParams(location.search)
  let resume
  try { resume = sessionStorage.getItem('docs:' + site + ':resume') } catch { /* storage is blocked */ }
  if (resume || query.has('ask') || query.has('q') && !document.querySelector('[name=q]') || features?.includes('page_feedback')) soon()
}
