// The manual's search box and ask box: plain JavaScript against the API.
'use strict'

const key = 'svc_dsc_example_key_of_the_manual' // keys are public: they are made for pages
const headers = { Authorization: 'Bearer ' + key, 'Content-Type': 'application/json' }
const site = 'manual'

// An element with text in it. Nothing that the server sends becomes HTML.
function element(name, text, attributes = {}) {
  const e = document.createElement(name)
  if (text) e.textContent = text
  for (const k in attributes) e.setAttribute(k, attributes[k])
  return e
}

async function problem(response) {
  const body = await response.json().catch(() => ({}))
  return body.error || 'the server answered ' + response.status
}

// ---- search ----

const box = document.querySelector('#search input')
const hits = document.querySelector('#hits')
let asked = 0

async function search() {
  const query = box.value.trim()
  const mine = ++asked
  if (!query) { hits.hidden = true; return }
  const items = []
  try {
    const response = await fetch('/v1/search/' + site, { method: 'POST', headers, body: JSON.stringify({ query, pageSize: 8 }) })
    if (!response.ok) throw new Error(await problem(response))
    for (const hit of await response.json()) {
      const { title, heading, url } = hit.metadata
      const link = element('a', heading && heading !== title ? title + ' › ' + heading : title, { href: url })
      link.append(element('small', hit.content.slice(0, 160)))
      items.push(link)
    }
    if (!items.length) items.push(element('p', 'Nothing found for “' + query + '”.'))
  } catch (error) {
    items.push(element('p', error.message))
  }
  if (mine !== asked) return // a later keystroke was faster
  hits.replaceChildren(...items.map(item => { const li = element('li'); li.append(item); return li }))
  hits.hidden = false
}

let pause
box.addEventListener('input', () => { clearTimeout(pause); pause = setTimeout(search, 120) })
box.addEventListener('focus', () => { if (hits.children.length && box.value.trim()) hits.hidden = false })
document.querySelector('#search').addEventListener('submit', event => { event.preventDefault(); search() })
document.addEventListener('click', event => { if (!event.target.closest('#search')) hits.hidden = true })
document.addEventListener('keydown', event => {
  if (event.key === 'Escape') hits.hidden = true
  if (event.key === '/' && !/^(INPUT|TEXTAREA)$/.test(document.activeElement.tagName)) { event.preventDefault(); box.focus() }
})

// ---- ask ----

const dialog = document.querySelector('#ask')
const turns = document.querySelector('#turns')
const messages = []
let threadId

document.querySelector('#open-ask').addEventListener('click', () => { dialog.showModal(); dialog.querySelector('input').focus() })
document.querySelector('#question').addEventListener('submit', event => {
  event.preventDefault()
  const input = event.target.elements.q
  const text = input.value.trim()
  if (!text) return
  input.value = ''
  ask(text)
})

async function ask(text) {
  turns.append(element('p', text, { class: 'you' }))
  const out = element('div', '…', { class: 'answer' })
  turns.append(out)
  out.scrollIntoView({ block: 'end' })
  messages.push({ id: crypto.randomUUID?.() ?? String(messages.length), role: 'user', parts: [{ type: 'text', text }] })
  let answer = ''
  const sources = []
  try {
    const response = await fetch('/v2/assistant/' + site + '/message', {
      method: 'POST', headers,
      body: JSON.stringify({ fp: 'anonymous', messages, threadId, retrievalPageSize: 5, currentPath: location.pathname.slice(0, 200) }),
    })
    if (!response.ok) throw new Error(await problem(response))
    for await (const event of events(response.body)) {
      if (event.messageMetadata?.threadId) threadId = event.messageMetadata.threadId
      switch (event.type) {
        case 'text-delta': answer += event.delta; render(out, answer); break
        case 'source-url': sources.push(event); break
        case 'error': throw new Error(event.errorText)
      }
    }
    messages.push({ id: 'a' + messages.length, role: 'assistant', parts: [{ type: 'text', text: answer }] })
  } catch (error) {
    out.append(element('p', error.message, { class: 'error' }))
  }
  if (sources.length) {
    const list = element('p', 'Sources: ', { class: 'sources' })
    sources.forEach((s, i) => { if (i) list.append(' · '); list.append(element('a', s.title || s.url, { href: s.url })) })
    out.append(list)
  }
  out.scrollIntoView({ block: 'end' })
}

// The events of a UI message stream.
async function * events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  let buffer = ''
  for (;;) {
    const { value, done } = await reader.read()
    if (done) return
    buffer += value
    for (let end; (end = buffer.indexOf('\n\n')) >= 0; buffer = buffer.slice(end + 2)) {
      const data = buffer.slice(0, end).replace(/^data: /, '')
      if (data.startsWith('{')) yield JSON.parse(data)
    }
  }
}

// A small subset of Markdown: fences, headings, lists, links, code, emphasis.
function render(out, markdown) {
  const parts = []
  markdown.split(/```/).forEach((block, i) => {
    if (i % 2) {
      const pre = element('pre')
      pre.append(element('code', block.replace(/^[\w-]*\n/, '').replace(/\n$/, '')))
      parts.push(pre)
      return
    }
    for (const paragraph of block.split(/\n{2,}/)) {
      const text = paragraph.trim()
      if (!text) continue
      const heading = /^#{1,6}\s+(.*)$/.exec(text)
      if (heading) { parts.push(inline(element('h3'), heading[1])); continue }
      const lines = text.split('\n')
      if (lines.every(line => /^\s*([-*]|\d+\.)\s/.test(line))) {
        const list = element(/^\s*\d/.test(lines[0]) ? 'ol' : 'ul')
        for (const line of lines) list.append(inline(element('li'), line.replace(/^\s*([-*]|\d+\.)\s+/, '')))
        parts.push(list)
        continue
      }
      parts.push(inline(element(text.startsWith('>') ? 'blockquote' : 'p'), text.replace(/^>\s?/gm, '')))
    }
  })
  out.replaceChildren(...parts)
}

function inline(parent, text) {
  const pattern = /`([^`]+)`|\[([^\]]+)\]\(([^)\s]+)\)|\*\*([^*]+)\*\*/g
  let last = 0
  for (const m of text.matchAll(pattern)) {
    parent.append(text.slice(last, m.index))
    if (m[1]) parent.append(element('code', m[1]))
    else if (m[2]) parent.append(/^(https?:|\/|#)/.test(m[3]) ? inline(element('a', '', { href: m[3] }), m[2]) : m[2])
    else parent.append(element('strong', m[4]))
    last = m.index + m[0].length
  }
  parent.append(text.slice(last))
  return parent
}
