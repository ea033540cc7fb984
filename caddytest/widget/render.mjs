// Renders Markdown, a JSON array of texts on stdin, as readers' clients do.
import { readFileSync } from 'node:fs'
import { Marked } from 'marked'
import MarkdownIt from 'markdown-it'
import { micromark } from 'micromark'
import { gfm, gfmHtml } from 'micromark-extension-gfm'

const marked = new Marked({ gfm: true })
const it = new MarkdownIt({ linkify: true })
if (process.argv[2] !== 'fuzzy') it.linkify.set({ fuzzyLink: false, fuzzyEmail: false })

const texts = JSON.parse(readFileSync(0, 'utf8'))
process.stdout.write(JSON.stringify(texts.map(text => ({
  micromark: micromark(text, { extensions: [gfm()], htmlExtensions: [gfmHtml()] }),
  marked: marked.parse(text),
  'markdown-it': it.render(text),
}))))
