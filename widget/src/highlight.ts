// Marks the words of a search on the page that it led to, without a change to
// the page's DOM (CSS Custom Highlight API).
import { adopt } from './parts'

let styled = false

export const unmark = () => CSS.highlights?.delete('docs-hit')

/** mark marks words in the section that the address names, or on the page. */
export function mark(words: string[]) {
  if (!CSS.highlights || !words[0]) return
  const walk = document.createTreeWalker(mainOf())
  const own = document.getElementById(decodeURIComponent(location.hash.slice(1)))
  const heading = own?.closest('h1,h2,h3,h4,h5,h6')
  if (own) walk.currentNode = heading ?? own
  // A section ends at the next heading of its heading's rank.
  let rank = heading?.nodeName
  const any = words.map(w => w.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')).join('|')
  // Words begin where letters begin, but not in scripts without spaces.
  const found = RegExp(/[\u3040-\u9fff]/.test(any) ? any : '(?<![\\p{L}\\p{N}])(' + any + ')', 'giu')
  const ranges: Range[] = []
  for (let node: Node | null; (node = walk.nextNode()) && ranges.length < 200;) {
    if (own && /^H\d/.test(node.nodeName)) {
      if (node.nodeName <= rank!) break
      rank ??= node.nodeName
    }
    if (node instanceof Text && !node.parentElement!.closest('script,style')) {
      for (const m of node.data.matchAll(found)) {
        const range = new Range()
        range.setStart(node, m.index)
        range.setEnd(node, m.index + m[0].length)
        ranges.push(range)
      }
    }
  }
  if (!styled) adopt(document, '::highlight(docs-hit){background:var(--docs-mark,Mark);color:var(--docs-mark-text,MarkText)}')
  styled = true
  CSS.highlights.set('docs-hit', new Highlight(...ranges))
}

/** mainOf is the part of the page that is documentation. */
export const mainOf = () => document.querySelector<HTMLElement>('main,article,[role=main]') ?? document.body
