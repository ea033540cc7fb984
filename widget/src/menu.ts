// A menu below the heading of the page: copy it, open it in an assistant,
// connect to its MCP server.
import { base, config, h, inPage, mainOf, put, s } from './page'

const here = () => location.origin + location.pathname

/** copier makes a row that copies a text, which may have to come first. */
const copier = (label: string, text: () => string | Promise<string>) => {
  const b = h('button.option', {
    onclick() {
      // Safari wants to hear of it in the click, before the text is here.
      const blob = Promise.resolve(text()).then(t => new Blob([t], { type: 'text/plain' }))
      new Promise(done => done(navigator.clipboard.write([new ClipboardItem({ 'text/plain': blob })])))
        .then(() => s[T.copied], () => s[T.failed]).then(text => put(b, text))
    },
  }, label)
  return b
}

const markdown = async () => {
  const response = await fetch(here(), { headers: { Accept: 'text/markdown' } })
  if (!response.ok || !response.headers.get('Content-Type')?.includes('markdown')) throw 0
  return response.text()
}

export const menu = () => {
  const box = h('div.menu', { popover: 'auto', ariaLive: 'polite' })
  box.onbeforetoggle = e => {
    if (e.newState !== 'open') return
    const { left, bottom } = button.getBoundingClientRect()
    box.style.left = Math.max(0, Math.min(left, innerWidth - 300)) + scrollX + 'px'
    box.style.top = bottom + scrollY + 4 + 'px'
    const question = encodeURIComponent(s[T.read].replace('{q}', here()))
    put(box, copier(s[T.markdown], markdown), ['Claude|https://claude.ai/new?q=', 'ChatGPT|https://chatgpt.com/?prompt=', 'Cursor|https://cursor.com/link/prompt?text='].map(row => {
      const [name, href] = row.split('|')
      return h('a.option', { href: href + question, target: '_blank', rel: 'noreferrer' }, s[T.openIn].replace('{q}', name))
    }), config.mcp && copier(s[T.mcp], () => new URL(base + '/v1/mcp/' + config.site, location.href).href))
  }
  const button = h('button.chip', {}, s[T.use], ' ▾')
  button.popoverTargetElement = box

  inPage(host => { host.isConnected || mainOf().querySelector('h1')?.after(host) }, button, box)
}
