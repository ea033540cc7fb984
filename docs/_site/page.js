// Where we are, in the menu; and a link on each heading.
for (const link of document.querySelectorAll('nav a')) {
  if (link.pathname === location.pathname.replace(/(.)\/$/, '$1')) link.setAttribute('aria-current', 'page')
}
for (const heading of document.querySelectorAll('main :is(h2, h3, h4)[id]')) {
  const link = document.createElement('a')
  link.className = 'anchor'
  link.textContent = '#'
  link.href = '#' + heading.id
  link.setAttribute('aria-label', 'Link to this section')
  heading.append(link)
}
// Code that scrolls can be reached with the keyboard.
for (const pre of document.querySelectorAll('pre')) if (pre.scrollWidth > pre.clientWidth) pre.tabIndex = 0
