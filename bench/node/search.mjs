// Answers queries in process and prints how long each took.
//
//	node search.mjs minisearch|pagefind sections.jsonl queries.json SECONDS
import { readFileSync, mkdtempSync, rmSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL, fileURLToPath } from 'node:url'

const [engine, sectionsFile, queriesFile, seconds] = process.argv.slice(2)
const sections = readFileSync(sectionsFile, 'utf8').split('\n').filter(Boolean).map((l) => JSON.parse(l))
const queries = JSON.parse(readFileSync(queriesFile, 'utf8'))

// MiniSearch with its defaults, title and heading favoured.
async function minisearch() {
  const { default: MiniSearch } = await import('minisearch')
  const index = new MiniSearch({ fields: ['title', 'heading', 'text'], storeFields: ['title', 'heading', 'url', 'text'] })
  index.addAll(sections)
  return (query) => index.search(query, { boost: { title: 3, heading: 2 } }).slice(0, 10)
}

// Pagefind as its own script answers in a browser, its files read from disk.
async function pagefind() {
  const { createIndex, close } = await import('pagefind')
  const { index } = await createIndex()
  for (const s of sections) {
    const { errors } = await index.addCustomRecord({
      url: s.url, content: [s.title, s.heading, s.text].join('\n'), language: 'en', meta: { title: s.title },
    })
    if (errors?.length) throw new Error(errors.join('; '))
  }
  const dir = mkdtempSync(join(tmpdir(), 'bench-pagefind-'))
  process.on('exit', () => rmSync(dir, { recursive: true, force: true }))
  const { errors } = await index.writeFiles({ outputPath: dir })
  if (errors?.length) throw new Error(errors.join('; '))
  await close()
  const real = globalThis.fetch
  globalThis.fetch = async (url, ...rest) => {
    const s = String(url).split('?')[0]
    if (s.startsWith('http:') || s.startsWith('https:')) return real(url, ...rest)
    return new Response(await readFile(s.startsWith('file:') ? fileURLToPath(s) : s))
  }
  globalThis.location ??= { href: pathToFileURL(dir + '/').href, origin: 'file://' }
  globalThis.window ??= globalThis
  globalThis.document ??= { querySelector: () => ({ getAttribute: () => 'en' }), documentElement: { getAttribute: () => 'en' } }
  const browser = await import(pathToFileURL(join(dir, 'pagefind.js')).href)
  await browser.options({ basePath: pathToFileURL(dir + '/').href, baseUrl: '/' })
  await browser.init()
  return async (query) => {
    const { results } = await browser.search(query)
    return Promise.all(results.slice(0, 10).map((r) => r.data()))
  }
}

const begin = performance.now()
const search = await { minisearch, pagefind }[engine]()
const index = performance.now() - begin

let found = 0
for (const q of queries.slice(0, 50)) found += (await search(q)).length
const times = []
const until = performance.now() + 1000 * Number(seconds)
while (performance.now() < until || times.length < queries.length) {
  const q = queries[times.length % queries.length]
  const at = performance.now()
  await search(q)
  times.push(performance.now() - at)
  if (performance.now() > until + 60000) break
}
times.sort((a, b) => a - b)
const quantile = (q) => times[Math.min(times.length - 1, Math.floor(q * times.length))]
console.log(JSON.stringify({ index, found, n: times.length, p50: quantile(0.5), p99: quantile(0.99), rss: process.memoryUsage().rss }))
process.exit(0)
