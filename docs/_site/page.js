// A link on each heading.
for (const heading of document.querySelectorAll('main :is(h2, h3, h4)[id]')) {
  const link = document.createElement('a')
  link.className = 'anchor'
  link.textContent = '#'
  link.href = '#' + heading.id
  link.setAttribute('aria-label', 'Link to this section')
  heading.append(link)
}
// What scrolls can be reached with the keyboard.
for (const part of document.querySelectorAll('pre, table')) if (part.scrollWidth > part.clientWidth) part.tabIndex = 0
for (const pre of document.querySelectorAll('pre')) {
  if (!navigator.clipboard) continue
  const box = document.createElement('div'), button = document.createElement('button')
  box.className = 'code'
  button.textContent = 'Copy'
  button.addEventListener('click', async () => {
    // Of a session in a terminal, the commands alone.
    const lines = pre.textContent.split('\n'), commands = lines.filter(line => line.startsWith('$ '))
    await navigator.clipboard.writeText(commands.length ? commands.map(line => line.slice(2)).join('\n') : pre.textContent.trimEnd())
    button.textContent = 'Copied'
    setTimeout(() => { button.textContent = 'Copy' }, 2000)
  })
  pre.replaceWith(box)
  box.append(pre, button)
}
// Searches of the page open the box. Without it, they are links to a page of results.
const find = (event, query) => {
  if (!window.Docs) return
  event.preventDefault()
  window.Docs.search(query)
}
document.querySelector('.ui-try')?.addEventListener('submit', event => find(event, event.target.q.value))
for (const link of document.querySelectorAll('a.ui-find')) {
  link.addEventListener('click', event => find(event, new URL(link.href).searchParams.get('q')))
}
// The section in view, in the table of contents.
const places = new Map([...document.querySelectorAll('.ui-toc a')].map(link => [decodeURIComponent(link.hash.slice(1)), link]))
if (places.size) {
  const headings = [...document.querySelectorAll('main :is(h2, h3)[id]')]
  const mark = () => {
    const here = headings.findLast(h => h.getBoundingClientRect().top < 120)
    for (const [id, link] of places) link.toggleAttribute('aria-current', id === here?.id)
  }
  addEventListener('scroll', mark, { passive: true })
  mark()
}
