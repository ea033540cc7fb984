import { ask } from './ask.mjs'

const { DOCS_URL: url, DOCS_KEY: key } = process.env
const questions = process.argv.slice(2)
let threadId = null
try {
  for (const question of questions) {
    const sources = []
    ;({ threadId } = await ask({ url, key, question, threadId, onText: t => process.stdout.write(t), onSource: s => sources.push(s) }))
    console.log('\n')
    for (const s of sources) console.log(`${s.title}: ${s.url}`)
    console.log(`thread ${threadId}`)
  }
} catch (error) {
  console.error(error.message)
  process.exitCode = 1
}
