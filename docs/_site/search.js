// The search box: results as you type, by keyboard or mouse.
import { element, post } from './api.js'

const form = document.querySelector('#ui-search')
const box = form.querySelector('input')
const hits = document.querySelector('#ui-hits')
let newest = 0

async function search() {
  const query = box.value.trim()
  const mine = ++newest
  if (!query) return show([])
  let items
  try {
    const response = await post('/v1/search/manual', { query, pageSize: 8 })
    items = (await response.json()).map(item)
    if (!items.length) items = [element('p', 'Nothing found for “' + query + '”.')]
  } catch (error) {
    items = [element('p', error.message, { class: 'error' })]
  }
  if (mine === newest) show(items) // a later keystroke may have been faster
}

function item({ content, metadata: { title, heading, url } }) {
  const link = element('a', heading && heading !== title ? title + ' › ' + heading : title, { href: url })
  link.append(element('small', content.replace(/\s+/g, ' ').slice(0, 160)))
  return link
}

function show(items) {
  hits.replaceChildren(...items.map(i => { const li = element('li'); li.append(i); return li }))
  hits.hidden = !items.length
}

// step moves the focus from the box through the results and back.
function step(by) {
  const stops = [box, ...hits.querySelectorAll('a')]
  const at = stops.indexOf(document.activeElement)
  stops[(at + by + stops.length) % stops.length].focus()
}

let pause
box.addEventListener('input', () => { clearTimeout(pause); pause = setTimeout(search, 100) })
box.addEventListener('focus', () => { hits.hidden = !hits.children.length })
form.addEventListener('submit', event => {
  event.preventDefault()
  const first = hits.querySelector('a')
  if (first && !hits.hidden) first.click()
  else search()
})
form.addEventListener('keydown', event => {
  if (event.key === 'ArrowDown') step(1)
  else if (event.key === 'ArrowUp') step(-1)
  else if (event.key === 'Escape') { box.focus(); hits.hidden = true; return } // focus opens the list
  else return
  event.preventDefault()
})
document.addEventListener('click', event => { if (!form.contains(event.target)) hits.hidden = true })
hits.addEventListener('click', event => { if (event.target.closest('a')) hits.hidden = true })
document.addEventListener('keydown', event => {
  const typing = /^(INPUT|TEXTAREA)$/.test(document.activeElement.tagName)
  if (event.key === '/' && !typing && !event.ctrlKey && !event.metaKey) { event.preventDefault(); box.focus() }
})

// Where we are, in the menu; and a link on each heading.
for (const link of document.querySelectorAll('nav a')) {
  if (link.pathname === location.pathname.replace(/(.)\/$/, '$1')) link.setAttribute('aria-current', 'page')
}
for (const heading of document.querySelectorAll('main :is(h2, h3, h4)[id]')) {
  heading.append(element('a', '#', { class: 'anchor', href: '#' + heading.id, 'aria-label': 'Link to this section' }))
}
