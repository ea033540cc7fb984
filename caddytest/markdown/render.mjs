// Renders Markdown as readers' clients do: each line of stdin is a JSON array
// of texts, and is answered with a line that has an object for each of them.
import { createInterface } from 'node:readline'
import { HtmlRenderer, Parser } from 'commonmark'
import MarkdownIt from 'markdown-it'
import { Marked } from 'marked'
import { micromark } from 'micromark'
import { gfm, gfmHtml } from 'micromark-extension-gfm'
import showdown from 'showdown'

const parser = new Parser(), writer = new HtmlRenderer()
const marked = new Marked({ gfm: true })
const it = new MarkdownIt({ linkify: true })
const fuzzy = process.argv[2] === 'fuzzy'
if (!fuzzy) it.linkify.set({ fuzzyLink: false, fuzzyEmail: false })
const converter = new showdown.Converter({ simplifiedAutoLink: true, strikethrough: true, tables: true })

const render = text => ({
  commonmark: writer.render(parser.parse(text)),
  'markdown-it': it.render(text),
  marked: marked.parse(text),
  micromark: micromark(text, { extensions: [gfm()], htmlExtensions: [gfmHtml()] }),
  showdown: converter.makeHtml(text),
})

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(JSON.stringify(JSON.parse(line).map(render)) + '\n')
}
