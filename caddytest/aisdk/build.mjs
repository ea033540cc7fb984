// Builds chat pages with Vite and their own configuration: node build.mjs FOLDER…
import { build } from 'vite'

for (const root of process.argv.slice(2)) {
  await build({ root, base: './', logLevel: 'error', build: { reportCompressedSize: false, outDir: process.env.OUT ?? 'dist' } })
}
