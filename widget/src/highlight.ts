// Marks the words of a search on the page that it led to, without a change to
// the page's DOM (CSS Custom Highlight API).
import { adopt } from './parts'

adopt(document, '::highlight(docs-hit){background:var(--docs-mark,Mark);color:var(--docs-mark-text,MarkText)}')

export const unmark = () => CSS.highlights?.delete('docs-hit')

/** mark marks words in the section that the address names, or on the page. */
export function mark(words: string[]) {
  if (!CSS.highlights || !words[0]) return
  const walk = document.createTreeWalker(mainOf())
  const own = document.getElementById(decodeURIComponent(location.hash.slice(1)))
  const heading = own?.closest('h1,h2,h3,h4,h5,h6')
  if (own) walk.currentNode = heading ?? own
  // A section ends at the next heading; what the address names may be right
  // before its own.
  let headings = heading ? 0 : 1
  // Words begin where letters begin, but not in scripts without spaces.
  const found = RegExp('(?<!\\w)(' + words.map(w => w.replace(/\W/g, '\\$&')).join('|') + ')', 'gi')
  const ranges: Range[] = []
  for (let node: Node | null; (node = walk.nextNode()) && ranges.length < 200;) {
    if (own && /^H\d/.test(node.nodeName) && !headings--) break
    if (node instanceof Text && !node.parentElement!.closest('script,style')) {
      for (const m of node.data.matchAll(found)) {
        const range = new Range()
        range.setStart(node, m.index)
        range.setEnd(node, m.index + m[0].length)
        ranges.push(range)
      }
    }
  }
  CSS.highlights.set('docs-hit', new Highlight(...ranges))
}

/** mainOf is the part of the page that is documentation. */
export const mainOf = () => document.querySelector<HTMLElement>('main,article,[role=main]') ?? document.body
