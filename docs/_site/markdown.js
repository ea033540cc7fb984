// A small part of Markdown, enough for answers: headings, paragraphs, lists,
// quotations, tables, code, links and emphasis. It makes elements, never HTML.
import { element } from './api.js'

// render shows Markdown in an element. It is called for every piece of an
// answer; what is not closed yet is shown as far as it goes.
export function render(out, markdown) {
  out.replaceChildren(...blocks(markdown.split('\n')))
}

// The flag s: a line may hold U+2028, which "." does not match without it.
const item = /^(\s*)([-*+]|\d{1,3}[.)])\s+(.*)$/s
const heading = /^#{1,6}\s+(.*)$/s
// A fence as CommonMark has it: behind the backticks that open one there is
// no backtick, behind those that close one there is nothing.
const fence = /^ {0,3}(?:(`{3,})[^`]*|(~{3,}).*)$/s
const closes = mark => new RegExp('^ {0,3}' + mark[0] + '{' + mark.length + ',}\\s*$')

function blocks(lines) {
  const made = []
  for (let i = 0; i < lines.length;) {
    const line = lines[i]
    let m
    if (!line.trim()) {
      i++
    } else if ((m = fence.exec(line))) {
      const code = []
      const end = closes(m[1] ?? m[2])
      for (i++; i < lines.length && !end.test(lines[i]); i++) code.push(lines[i])
      i++
      const pre = element('pre')
      pre.append(element('code', code.join('\n')))
      made.push(pre)
    } else if ((m = heading.exec(line))) {
      made.push(inline(element('h3'), m[1]))
      i++
    } else if (line.startsWith('>')) {
      const quoted = []
      for (; i < lines.length && lines[i].startsWith('>'); i++) quoted.push(lines[i].replace(/^>\s?/, ''))
      const quote = element('blockquote')
      quote.append(...blocks(quoted))
      made.push(quote)
    } else if (line.trim().startsWith('|') && /^[\s|:-]+$/.test(lines[i + 1] ?? '')) {
      const rows = []
      for (; i < lines.length && lines[i].trim().startsWith('|'); i++) rows.push(lines[i])
      made.push(table(rows))
    } else if (item.test(line)) {
      const own = []
      for (; i < lines.length; i++) {
        const blank = !lines[i].trim()
        if (blank ? !(item.test(lines[i + 1] ?? '') || /^\s{2,}\S/.test(lines[i + 1] ?? '')) : !(item.test(lines[i]) || /^\s/.test(lines[i]))) break
        own.push(lines[i])
      }
      made.push(list(own))
    } else {
      const text = [line]
      for (i++; i < lines.length && lines[i].trim() && !fence.test(lines[i]) && !item.test(lines[i]) && !heading.test(lines[i]); i++) text.push(lines[i])
      made.push(inline(element('p'), text.join('\n')))
    }
  }
  return made
}

// list makes a list of lines, the items' own lines indented below them.
function list(lines) {
  const [, indent, mark] = item.exec(lines[0])
  const ul = element(/\d/.test(mark) ? 'ol' : 'ul')
  if (/^\d/.test(mark) && parseInt(mark) !== 1) ul.start = parseInt(mark)
  for (let i = 0; i < lines.length;) {
    const [, , , first] = item.exec(lines[i]) ?? [, , , lines[i].trim()]
    const rest = []
    for (i++; i < lines.length; i++) {
      const m = item.exec(lines[i])
      if (m && m[1].length <= indent.length) break
      rest.push(lines[i])
    }
    const margin = Math.min(...rest.filter(l => l.trim()).map(l => /^\s*/.exec(l)[0].length))
    const li = inline(element('li'), first)
    li.append(...blocks(rest.map(l => l.slice(margin))))
    ul.append(li)
  }
  return ul
}

function table(rows) {
  const cells = row => row.trim().replace(/^\||\|$/g, '').split(/(?<!\\)\|/).map(c => c.trim().replaceAll('\\|', '|'))
  const t = element('table')
  rows.forEach((row, i) => {
    if (i === 1) return
    const tr = element('tr')
    for (const c of cells(row)) tr.append(inline(element(i ? 'td' : 'th'), c))
    t.append(tr)
  })
  return t
}

const span = /(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)|\[((?:[^\[\]\\]|\\.|\[[^\[\]]*\])+)\]\(<?([^)\s>]{1,2048})>?(?:\s+"[^"]*")?\)|\*\*(.+?)\*\*|(?<![\w*])\*([^*\s](?:[^*]*[^*\s])?)\*(?![\w*])|<(https?:\/\/[^>\s]+)>/s

function inline(parent, text) {
  for (let m; (m = span.exec(text)); text = text.slice(m.index + m[0].length)) {
    parent.append(plain(text.slice(0, m.index)))
    const [, , code, label, address, strong, emphasis, bare] = m
    if (code) parent.append(element('code', code.trim()))
    else if (strong) parent.append(inline(element('strong'), strong))
    else if (emphasis) parent.append(inline(element('em'), emphasis))
    else if (bare) parent.append(element('a', bare, { href: bare }))
    else if (/^(https?:|mailto:|\/|#)/.test(address)) parent.append(inline(element('a', '', { href: address }), label))
    else parent.append(inline(element('span'), label))
  }
  parent.append(plain(text))
  return parent
}

const entities = { lt: '<', gt: '>', amp: '&', quot: '"', '#39': "'" }

// plain resolves escapes and the entities that answers hold.
function plain(text) {
  return text.replace(/&(lt|gt|amp|quot|#39);/g, (_, name) => entities[name]).replace(/\\([\\`*_{}[\]()#+\-.!|<>~&"])/g, '$1')
}
