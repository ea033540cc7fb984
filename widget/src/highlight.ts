// Marks the words of a search on the page that it led to, without a change to
// the page's DOM (CSS Custom Highlight API).
import { adopt } from './parts'

adopt(document, '@media(min-width:1100px){[data-docs-panel]{box-sizing:border-box;border-inline-end:448px solid #0000}}::highlight(docs-hit){background:var(--docs-mark,Mark);color:var(--docs-mark-text,MarkText)}')

export const unmark = () => CSS.highlights?.delete('docs-hit')

/** mark marks words on the page. */
export const mark = (words: string[]) => {
  if (!CSS.highlights || !words[0]) return
  const walk = document.createTreeWalker(mainOf(), NodeFilter.SHOW_TEXT)
  // Words begin where letters begin, but not in scripts without spaces.
  const found = RegExp('(?<!\\w)(' + words.map(w => w.replace(/\W/g, '\\$&')).join('|') + ')', 'gi')
  const all = new Highlight()
  for (let node; (node = walk.nextNode() as Text);) {
    for (const m of node.data.matchAll(found)) {
      const range = new Range()
      range.setStart(node, m.index)
      range.setEnd(node, m.index + m[0].length)
      all.add(range)
    }
  }
  CSS.highlights.set('docs-hit', all)
}

/** mainOf is the part of the page that is documentation. */
export const mainOf = () => document.querySelector<HTMLElement>('main,article,[role=main]') ?? document.body
