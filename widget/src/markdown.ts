// Markdown as answers use it: CommonMark's paragraphs, headings, lists, quotes,
// code, links and emphasis, and GitHub's tables, task lists, ~~ and bare URLs.
// What is code and what is a link is decided as in assistant/citation, which
// has checked the text; testdata/markdown.json has the cases of both. There are
// no images, no HTML, no reference links and no indented code.
import { icons } from './icons'
import { base, h, name, press, put, s } from './parts'

/** copier makes a button that copies a text. */
export const copier = (label: string, text: () => string) => {
  const b: HTMLElement = press(label, icons.copy, () => {
    navigator.clipboard?.writeText(text()).then(() => name(put(b, '✓'), s[T.copied]))
  })
  return b
}

/** anchor makes a link to a web page, or what only looks like one. What is on
 * another origin opens beside the page. */
export const anchor = (address: string, children: (Node | string)[] = []): HTMLElement => {
  try {
    const url = new URL(address, base + '/')
    if (/^https?:$/.test(url.protocol)) {
      return h('a', { href: url.href, ...url.origin !== location.origin && { target: '_blank', rel: 'noreferrer' } }, children)
    }
  } catch { /* not one */ }
  return h('span', {}, children)
}

/** renderer returns a function that shows a growing text in an element. Blocks
 * that are finished are never touched again; of the last one, only what has
 * changed. */
export const renderer = (out: HTMLElement) => {
  let done = 0 // characters in finished blocks
  let finished = 0 // elements of them
  return (text: string) => {
    const lines = text.slice(done).split('\n')
    const begins: number[] = []
    const made = blocks(lines, 0, begins)
    morph(out, made, finished)
    // The last line may still turn out to belong to the block before.
    const whole = made.length - (begins.at(-1)! < lines.length - 1 ? 1 : 2)
    if (whole > 0) {
      finished += whole
      done += lines.slice(0, begins[whole]).join('\n').length + 1
    }
  }
}

/** morph makes the children of an element, from one of them on, equal to those
 * made. What is equal already stays, and so do a selection and the focus in it. */
const morph = (parent: Element, made: Node[], from = 0) => {
  const shown = [...parent.childNodes].slice(from)
  made.forEach((e, i) => {
    const old = shown[i]
    if (!old) parent.append(e)
    else if (old instanceof Text && e instanceof Text && e.data.startsWith(old.data)) old.appendData(e.data.slice(old.length))
    else if (!old.isEqualNode(e)) {
      if (old.cloneNode().isEqualNode(e.cloneNode())) morph(old as Element, [...e.childNodes])
      else old.replaceWith(e)
    }
  })
  for (const old of shown.slice(made.length)) old.remove()
}

/** blocks makes the elements of lines. begins gets the lines that they begin
 * with. */
const blocks = (lines: string[], depth = 0, begins: number[] = []) => {
  const made: HTMLElement[] = []
  let i = 0
  /** gather makes the blocks in a container of the lines that are inside. */
  const gather = (inside: (line: string) => boolean, cut: (line: string) => string, own: string[] = []) => {
    for (; i < lines.length && (inside(lines[i]) || continues(lines[i], own, depth + 1)); i++) own.push(cut(lines[i]))
    return blocks(own, depth + 1)
  }
  while (i < lines.length) {
    const start = i
    const line = lines[i++]
    let e: HTMLElement
    let m: RegExpExecArray | null
    if (blank(line)) continue
    if ((m = fence.exec(line))) {
      const [, indent, mark, info] = m
      while (i < lines.length && !/^ {0,3}(`+|~+)[ \t]*$/.exec(lines[i])?.[1].startsWith(mark)) i++
      const text = h('code', {}, lines.slice(start + 1, i++).map(l => strip(l, indent.length)).join('\n'))
      e = h('div.code', {}, h('div.bar', {}, h('span', {}, info.trim().split(/[\s{]/)[0]), copier(s[T.copyCode], () => text.textContent!)), scrolling('pre', s[T.code], text))
    } else if ((m = heading.exec(line))) {
      e = inline(h('h3'), m[1] ?? '')
    } else if (rule.test(line)) {
      e = h('hr')
    } else if (depth < 16 && quote.test(line)) { // containers in containers
      i--
      e = h('blockquote', {}, gather(l => quote.test(l), l => l.replace(quote, '')))
    } else if (depth < 16 && (m = item.exec(line))) {
      const [, , mark] = m
      const first = parseInt(mark)
      e = h(first >= 0 ? 'ol' : 'ul', { start: first })
      for (i--; i < lines.length && (m = item.exec(lines[i])) && m[2].at(-1) === mark.at(-1) && !rule.test(lines[i]);) {
        const before = m[1].length + m[2].length
        const rest = ' '.repeat(before) + m[3]
        const pad = columns(rest, before + 5)[0] - before
        const offset = before + (blank(m[3]) || pad > 4 ? 1 : pad)
        i++
        e.append(h('li', {}, gather(l => blank(l) || columns(l, offset)[0] >= offset, l => strip(l, offset), [
          strip(rest, offset).replace(/^\[ \](?= )/, '☐').replace(/^\[x\](?= )/i, '☑'),
        ])))
      }
    } else if (isTable(lines, start)) {
      for (i++; i < lines.length && !blank(lines[i]) && !starts(lines[i]); i++);
      e = table(lines.slice(start, i))
    } else {
      while (i < lines.length && !blank(lines[i]) && !starts(lines[i], true) && !underline.test(lines[i]) && !isTable(lines, i)) i++
      const text = lines.slice(start, i).map(l => l.trimStart()).join('\n').trimEnd()
      e = inline(h(underline.test(lines[i]) ? (i++, 'h3') : 'p'), text)
    }
    begins.push(start)
    made.push(e)
  }
  return made
}

/** continues reports whether a line without the marks of its container still
 * belongs to the paragraph at the container's end. */
const continues = (line: string, own: string[], depth: number) => {
  if (blank(line) || blank(own.at(-1)!) || starts(line) || own.length > 99) return false
  let e: Element | null | undefined = blocks(own, depth).at(-1)
  while (e && e.nodeName !== 'P') e = e.lastElementChild
  return !!e
}

/** scrolling makes an element that scrolls, so the keyboard must reach it. */
export const scrolling = <K extends keyof HTMLElementTagNameMap>(kind: K | `${K}.${string}`, label: string, child?: Node) => h(kind, { tabIndex: 0, role: 'group', ariaLabel: label }, child)

const table = (lines: string[]) => {
  const [head, marks, ...rows] = lines.map(cells)
  return scrolling('div.table', head.join(), h('table', {}, [head, ...rows].map((row, line) => h('tr', {}, marks.map((mark, i) => {
    const cell = inline(h(line ? 'td' : 'th'), row[i] ?? '')
    if (mark.endsWith(':')) cell.style.textAlign = mark[0] === ':' ? 'center' : 'end'
    return cell
  })))))
}

const inline = <E extends HTMLElement>(parent: E, text: string, linked = false): E => {
  const open: Text[] = []
  const token = /\\[!-/:-@[-`{-~\n]|`+|!?\[|<https?:[^\s<>]*>|(?<![^\s*_~(])https?:\/\/(?:[^\s<()]|\([^\s<()]*\))+(?<![?!.,:*_~'"]|&\w+;)|[*_~]+|&#?\w{2,4};| {2,}\n/gi
  let at = 0
  for (let m: RegExpExecArray | null; (m = token.exec(text));) {
    const from = m.index
    const t = m[0]
    let end = from + t.length
    let node: Node | string
    if (t[0] === '`') {
      const close = codeEnd(text, end, t.length)
      if (close < 0) continue
      node = h('code', {}, text.slice(end, close).replaceAll('\n', ' ').replace(/^ (.*[^ ].*) $/s, '$1'))
      end = close + t.length
    } else if (/^!?\[/.test(t)) {
      const link = readLink(text, end - 1)
      if (!link) continue
      node = inline(linked || t[1] ? h('span') : anchor(plain(link.href)), link.label, true)
      end = link.end
    } else if (/^[<h]/i.test(t)) {
      if (linked) continue
      const address = plain(t.replace(/[<>]/g, ''))
      node = anchor(address, [address])
    } else if (/^[*_~]/.test(t)) {
      const before = text[from - 1] ?? ' '
      const after = text[end] ?? ' '
      // _ means nothing inside words.
      const word = (c: string) => t[0] === '_' && /[\p{L}\p{N}]/u.test(c)
      const mark = node = new Text(t)
      parent.append(text.slice(at, from), mark)
      at = from
      if (before.trim() && !word(after)) close(open, mark)
      if (after.trim() && !word(before)) open.push(mark)
    } else {
      node = t.endsWith('\n') ? h('br') : plain(t)
    }
    parent.append(text.slice(at, from), node)
    token.lastIndex = at = end
  }
  parent.append(text.slice(at))
  return parent
}

// The flag s: a line may hold U+2028, which "." does not match without it.
const fence = /^( {0,3})(`{3,}(?=[^`]*$)|~{3,})(.*)$/s
const heading = /^ {0,3}#{1,6}(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$/s
const item = /^( {0,3})([-*+]|\d{1,9}[.)])((?:[ \t].*)?)$/s
const underline = /^ {0,3}(=+|--+)[ \t]*$/
const rule = /^ {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}$/
const quote = /^ {0,3}> ?/

const blank = (line: string) => /^[ \t]*$/.test(line)

/** starts reports whether a line begins a block; with paragraph, one that may
 * come right after a paragraph. */
const starts = (line: string, paragraph = false) => {
  const m = item.exec(line)
  return [fence, heading, quote, rule].some(r => r.test(line)) || m && !(paragraph && (blank(m[3]) || /^(?!1\D)\d/.test(m[2])))
}

/** columns is how far a line is indented, in columns up to most and in
 * characters. */
const columns = (line: string, most: number): [number, number] => {
  let column = 0
  let at = 0
  for (; column < most && /[ \t]/.test(line[at]); at++) column += line[at] === ' ' ? 1 : 4 - column % 4
  return [column, at]
}

/** strip takes columns of indentation away, at most as many as there are. */
const strip = (line: string, by: number) => {
  const [column, at] = columns(line, by)
  return ' '.repeat(Math.max(0, column - by)) + line.slice(at)
}

const cells = (row: string) => row.trim().replace(/^\||(?<!\\)\|$/g, '').split(/(?<!\\)\|/).map(c => c.trim().replaceAll('\\|', '|'))

const isTable = (lines: string[], i: number) => {
  const marks = lines[i + 1] ?? ''
  return lines[i].includes('|') && marks.includes('|') && cells(marks).every(c => /^:?-+:?$/.test(c)) && cells(lines[i]).length === cells(marks).length
}

/** codeEnd is where the code span ends that n backticks opened. */
const codeEnd = (text: string, from: number, n: number) => {
  const run = RegExp('(?<!`)`{' + n + '}(?!`)', 'g')
  run.lastIndex = from
  return run.exec(text)?.index ?? -1
}

/** readLink reads "[label](destination)" at a bracket. */
const readLink = (text: string, at: number) => {
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

const entities: Record<string, string> = { lt: '<', gt: '>', amp: '&', quot: '"', '#39': "'", nbsp: '\xa0' }

/** plain resolves backslashes, and the entities that answers hold. */
const plain = (text: string) => text.replace(/\\([!-/:-@[-`{-~])|&(#?\w{2,4});/g, (all, escaped, name) => escaped ?? entities[name] ?? all)

/** close pairs a run of marks with those that are open, from the inside out. */
const close = (open: Text[], closer: Text) => {
  const mark = closer.data[0]
  for (let i = open.length; closer.data && i--;) {
    const opener = open[i]
    const n = Math.min(opener.length, closer.length, 2)
    if (opener.data[0] !== mark || mark === '~' && n < 2) continue
    const e = h(mark === '~' ? 'del' : n > 1 ? 'strong' : 'em')
    while (opener.nextSibling !== closer) e.append(opener.nextSibling!)
    opener.after(e)
    for (const run of [opener, closer]) run.deleteData(0, n)
    // The same opener may have marks left. Those between are text.
    open.length = opener.data ? ++i : i
  }
}
