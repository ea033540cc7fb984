// Markdown as answers use it: CommonMark's paragraphs, headings, lists, quotes,
// code, links and emphasis, and GitHub's tables, ~~ and bare URLs.
// What is code and what is a link is decided as in assistant/citation, which
// has checked the text; testdata/markdown.json has the cases of both. There are
// no images, no HTML, no reference links, no indented code and no headings by
// underlines.
import * as icons from './icons'
import { base, h, name, press, s } from './parts'

interface Block {
  kind: string
  /** source decides whether a block has changed. */
  source: string
  /** line is where it begins. */
  line: number
  inner?: Block[]
  /** make makes the element, or changes the one of the same kind before it. */
  make(old?: HTMLElement): HTMLElement
}

/** copier makes a button that copies a text. */
export function copier(text: () => string) {
  const b: HTMLElement = press(s[T.copy], icons.copy, () => {
    navigator.clipboard?.writeText(text()).then(() => {
      name(b, s[T.copied])
      b.classList.add('copied')
    })
  })
  return b
}

/** anchor makes a link to a web page, or what only looks like one. What is on
 * another origin opens beside the page. */
export function anchor(address: string, ...children: (Node | string)[]): HTMLElement {
  try {
    const url = new URL(address, base + '/')
    if (/^https?:$/.test(url.protocol)) {
      const foreign = url.origin !== location.origin
      return h('a', { href: url.href, target: foreign && '_blank', rel: foreign && 'noopener noreferrer' }, ...children)
    }
  } catch { /* not one */ }
  return h('span', {}, ...children)
}

/** renderer returns a function that shows a growing text in an element. Blocks
 * that are finished are never touched again; of the last one, only what has
 * changed is made again. */
export function renderer(out: HTMLElement) {
  let done = 0 // characters in finished blocks
  let finished = 0 // elements of them
  return (text: string) => {
    const lines = text.slice(done).split('\n')
    const made = blocks(lines)
    sync(out, made, finished)
    // The last line may still turn out to belong to the block before.
    const whole = made.filter(b => b.line < lines.length - 1)
    if (whole.length > 1) {
      finished += whole.length - 1
      done += lines.slice(0, whole.at(-1)!.line).join('\n').length + 1
    }
  }
}

function blocks(lines: string[], depth = 0): Block[] {
  const made: Block[] = []
  let i = 0
  let start: number
  const add = (kind: string, make: Block['make'], inner?: Block[]) => {
    made.push({ kind, line: start, source: lines.slice(start, i).join('\n'), inner, make })
  }
  while (i < lines.length) {
    start = i
    const line = lines[i]
    let m: RegExpExecArray | null
    if (blank(line)) {
      i++
    } else if ((m = fence.exec(line))) {
      const [, indent, mark, info] = m
      const closes = RegExp('^ {0,3}' + mark[0] + '{' + mark.length + ',}[ \\t]*$')
      const own: string[] = []
      for (i++; i < lines.length && !closes.test(lines[i]); i++) own.push(strip(lines[i], indent.length))
      i++
      add('pre', code(own.join('\n'), /^[^\s{]*/.exec(info.trim())![0]))
    } else if ((m = heading.exec(line))) {
      i++
      const [, text = ''] = m
      add('h', () => inline(h('h3'), text))
    } else if (rule.test(line)) {
      i++
      add('hr', () => h('hr'))
    } else if (depth < deepest && quote.test(line)) {
      const own: string[] = []
      for (; i < lines.length; i++) {
        const next = lines[i]
        if (!quote.test(next) && !continues(next, own, depth + 1)) break
        own.push(next.replace(quote, ''))
      }
      const inner = blocks(own, depth + 1)
      add('q', container('blockquote', inner), inner)
    } else if (depth < deepest && (m = item.exec(line))) {
      const [, , mark] = m
      const ordered = parseInt(mark)
      const items: Block[] = []
      while (i < lines.length && (m = item.exec(lines[i])) && m[2].at(-1) === mark.at(-1) && !rule.test(lines[i])) {
        const before = m[1].length + m[2].length
        const rest = ' '.repeat(before) + m[3]
        const pad = columns(rest, before + 5)[0] - before
        const offset = before + (blank(m[3]) || pad > 4 ? 1 : pad)
        const own = [strip(rest, offset)]
        for (i++; i < lines.length; i++) {
          const next = lines[i]
          if (!blank(next) && columns(next, offset)[0] < offset && !continues(next, own, depth + 1)) break
          own.push(strip(next, offset))
        }
        const inner = blocks(own, depth + 1)
        items.push({ kind: 'li', line: 0, source: own.join('\n'), inner, make: container('li', inner) })
      }
      const kind = ordered >= 0 ? 'ol' : 'ul'
      add(kind, old => {
        const e = container(kind, items)(old)
        if (ordered > 1) e.setAttribute('start', ordered + '')
        return e
      }, items)
    } else if (isTable(lines, i)) {
      for (i += 2; i < lines.length && !blank(lines[i]) && !starts(lines[i]); i++);
      add('table', table(lines.slice(start, i)))
    } else {
      for (i++; i < lines.length && !blank(lines[i]) && !starts(lines[i], true) && !isTable(lines, i); i++);
      const text = lines.slice(start, i).map(l => l.trimStart()).join('\n').trimEnd()
      add('p', () => inline(h('p'), text))
    }
  }
  return made
}

/** continues reports whether a line without the container's marks belongs to
 * its last paragraph. */
function continues(line: string, own: string[], depth: number) {
  if (blank(line) || blank(own.at(-1)!) || starts(line) || own.length > 99) return
  let last = blocks(own, depth).at(-1)
  while (last?.inner) last = last.inner.at(-1)
  return last?.kind === 'p'
}

function container(tag: 'blockquote' | 'ul' | 'ol' | 'li', inner: Block[]) {
  return (old: HTMLElement = h(tag)) => sync(old, inner)
}

function code(text: string, language: string) {
  return (old?: HTMLElement) => {
    if (!old) {
      const e = h('code', {}, document.createTextNode(''))
      old = h('div.code', {}, h('div.bar', {}, h('span'), copier(() => e.textContent!)),
        h('pre', { tabindex: 0, role: 'group', 'aria-label': s[T.code] }, e))
    }
    old.querySelector('span')!.textContent = language
    const shown = old.querySelector('code')!.firstChild as Text
    if (text.startsWith(shown.data)) shown.appendData(text.slice(shown.length))
    else shown.data = text
    return old
  }
}

function table(lines: string[]) {
  const [head, marks] = lines.slice(0, 2).map(cells)
  return (old = h('div.table', { tabindex: 0, role: 'group', 'aria-label': head.join() }, h('table'))) => {
    const rows = lines.map((source, line) => ({
      kind: 'tr', line, source: marks + source,
      make: () => h('tr', {}, ...head.map((_, i) => {
        const cell = inline(h(line ? 'td' : 'th'), cells(source)[i] ?? '')
        if (marks[i].endsWith(':')) cell.style.textAlign = marks[i][0] === ':' ? 'center' : 'end'
        return cell
      })),
    }))
    rows.splice(1, 1)
    sync(old.firstChild as HTMLElement, rows)
    return old
  }
}

function inline<E extends HTMLElement>(parent: E, text: string, linked = false): E {
  const marks: Mark[] = []
  const token = /\\[!-/:-@[-`{-~\n]|`+|!?\[|<https?:[^\s<>]*>|(?<![^\s*_~(])https?:\/\/[^\s<]+|[*_~]+|&#?\w{2,4};| {2,}\n/gi
  let at = 0
  for (let m: RegExpExecArray | null; (m = token.exec(text));) {
    const from = m.index
    const t = m[0]
    let end = from + t.length
    let node: Node
    if (t[0] === '`') {
      const close = codeEnd(text, end, t.length)
      if (close < 0) continue
      node = h('code', {}, text.slice(end, close).replace(/\n/g, ' ').replace(/^ (.*[^ ].*) $/s, '$1'))
      end = close + t.length
    } else if (t.endsWith('[')) {
      const link = readLink(text, end - 1)
      if (!link) continue
      node = inline(linked || t[1] ? h('span') : anchor(plain(link.href)), link.label, true)
      end = link.end
    } else if (/[<h]/i.test(t[0])) {
      const address = plain(t[0] === '<' ? t.slice(1, -1) : trimmed(t))
      if (t[0] !== '<') end = from + trimmed(t).length
      if (linked) continue
      node = anchor(address, address)
    } else if (/[*_~]/.test(t[0])) {
      const before = text[from - 1] ?? ' '
      const after = text[end] ?? ' '
      // _ means nothing inside words.
      const inWord = t[0] === '_' ? /[\p{L}\p{N}]/u : /(?!)/
      const mark = { node: new Text(t), n: t.length, opens: after.trim() && !inWord.test(before), closes: before.trim() && !inWord.test(after) }
      marks.push(mark)
      node = mark.node
    } else {
      node = t.endsWith('\n') ? h('br') : new Text(plain(t))
    }
    parent.append(text.slice(at, from), node)
    token.lastIndex = at = end
  }
  parent.append(text.slice(at))
  emphasize(marks)
  return parent
}

const deepest = 16 // containers in containers

const made = new WeakMap<Node, Block>()

/** sync makes the children of an element, from one of them on, those of
 * blocks. */
function sync(parent: HTMLElement, blocks: Block[], from = 0) {
  blocks.forEach((block, i) => {
    const old = parent.children[from + i] as HTMLElement | undefined
    const was = old && made.get(old)
    if (was?.source === block.source && was.kind === block.kind) return
    const e = block.make(was?.kind === block.kind ? old : undefined)
    made.set(e, block)
    if (e !== old) old ? old.replaceWith(e) : parent.append(e)
  })
  while (parent.children.length > from + blocks.length) parent.lastChild!.remove()
  return parent
}

// The flag s: a line may hold U+2028, which "." does not match without it.
const fence = /^( {0,3})(`{3,}(?=[^`]*$)|~{3,})(.*)$/s
const heading = /^ {0,3}#{1,6}(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$/s
const item = /^( {0,3})([-*+]|\d{1,9}[.)])((?:[ \t].*)?)$/s
const rule = /^ {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}$/
const quote = /^ {0,3}> ?/

const blank = (line: string) => /^[ \t]*$/.test(line)

/** starts reports whether a line begins a block; with paragraph, one that may
 * come right after a paragraph. */
function starts(line: string, paragraph = false) {
  const m = item.exec(line)
  return fence.test(line) || heading.test(line) || quote.test(line) || rule.test(line)
    || m && !(paragraph && (blank(m[3]) || /^(?!1\D)\d/.test(m[2])))
}

/** columns is how far a line is indented, in columns up to most and in
 * characters. */
function columns(line: string, most: number): [number, number] {
  let column = 0
  let at = 0
  for (; column < most && /[ \t]/.test(line[at]); at++) column += line[at] === ' ' ? 1 : 4 - column % 4
  return [column, at]
}

/** strip takes columns of indentation away, at most as many as there are. */
function strip(line: string, by: number) {
  const [column, at] = columns(line, by)
  return ' '.repeat(Math.max(0, column - by)) + line.slice(at)
}

const cells = (row: string) => row.trim().replace(/^\||(?<!\\)\|$/g, '').split(/(?<!\\)\|/).map(c => c.trim().replaceAll('\\|', '|'))

function isTable(lines: string[], i: number) {
  const marks = lines[i + 1] ?? ''
  return lines[i].includes('|') && marks.includes('|') && cells(marks).every(c => /^:?-+:?$/.test(c)) && cells(lines[i]).length === cells(marks).length
}

/** codeEnd is where the code span ends that n backticks opened. */
function codeEnd(text: string, from: number, n: number) {
  const runs = /`+/g
  runs.lastIndex = from
  for (let m; (m = runs.exec(text));) if (m[0].length === n) return m.index
  return -1
}

/** readLink reads "[label](destination)" at a bracket. */
function readLink(text: string, at: number) {
  let depth = 0
  for (let i = at; i < text.length && i < at + 2000; i++) {
    const c = text[i]
    if (c === '\\') {
      i++
    } else if (c === '`') {
      const n = /^`+/.exec(text.slice(i))![0].length
      const end = codeEnd(text, i + n, n)
      i = (end < 0 ? i : end) + n - 1
    } else if (c === '[') {
      depth++
    } else if (c === ']' && !--depth) {
      const destination = /\(\s*(?:<((?:[^<>\n\\]|\\.)*)>|((?:[^\s()\\]|\\.|\([^\s()]*\))*))(?:\s+(?:"[^"]*"|'[^']*'|\([^()]*\)))?\s*\)/sy
      destination.lastIndex = i + 1
      const m = destination.exec(text)
      return m && { label: text.slice(at + 1, i), href: m[1] ?? m[2], end: destination.lastIndex }
    }
  }
}

/** trimmed is a bare URL without what follows it in the sentence. */
function trimmed(url: string) {
  while (/([?!.,:*_~'"]|&\w+;)$/.test(url) || url.endsWith(')') && url.split('(').length < url.split(')').length) url = url.replace(/(&\w+;|.)$/, '')
  return url
}

const entities: Record<string, string> = { lt: '<', gt: '>', amp: '&', quot: '"', '#39': "'", nbsp: '\xa0' }

/** plain resolves backslashes, and the entities that answers hold. */
const plain = (text: string) => text.replace(/\\([!-/:-@[-`{-~])|&(#?\w{2,4});/g, (all, escaped, name) => escaped ?? entities[name] ?? all)

interface Mark { node: Text, n: number, opens: unknown, closes: unknown }

/** emphasize pairs the marks from the inside out. */
function emphasize(marks: Mark[]) {
  marks.forEach((closer, i) => {
    for (let j = i; closer.closes && closer.n && j--;) {
      const opener = marks[j]
      const mark = closer.node.data[0]
      if (!opener.opens || !opener.n || opener.node.data[0] !== mark) continue
      const n = Math.min(opener.n, closer.n, 2)
      if (mark === '~' && n < 2) continue
      const e = h(mark === '~' ? 'del' : n > 1 ? 'strong' : 'em')
      while (opener.node.nextSibling !== closer.node) e.append(opener.node.nextSibling!)
      opener.node.after(e)
      for (const m of [opener, closer]) m.node.data = mark.repeat(m.n -= n)
      for (let k = j + 1; k < i; k++) marks[k].n = 0
      j++ // the same opener may have marks left
    }
  })
}
