// Marks the words of a search on the page that it led to, without a change to
// the page's DOM (CSS Custom Highlight API).
import { adopt } from './parts'

adopt(document, '::highlight(docs-hit){background:var(--docs-mark,Mark);color:var(--docs-mark-text,MarkText)}')

export const unmark = () => CSS.highlights?.delete('docs-hit')

/** mark marks words in the section that the address names, or on the page. */
export const mark = (words: string[]) => {
  if (!CSS.highlights || !words[0]) return
  const walk = document.createTreeWalker(mainOf())
  const own = document.getElementById(decodeURIComponent(location.hash.slice(1)))
  if (own) walk.currentNode = own
  let begun = '' // text of the section
  // Words begin where letters begin, but not in scripts without spaces.
  const found = RegExp('(?<!\\w)(' + words.map(w => w.replace(/\W/g, '\\$&')).join('|') + ')', 'gi')
  const ranges: Range[] = []
  for (let node: Node | null; (node = walk.nextNode());) {
    // A section ends at the next heading; what the address names may be before
    // its own.
    if (own && begun && /^H\d/.test(node.nodeName)) break
    if (node instanceof Text) {
      begun += node.data.trim()
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
