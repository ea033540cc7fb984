// Comfort: every page works without it.

// Times in the visitor's own zone.
const format = new Intl.DateTimeFormat([], { dateStyle: 'medium', timeStyle: 'short' })
for (const t of document.querySelectorAll('time')) {
	const at = new Date(t.dateTime)
	if (!isNaN(at)) {
		t.title = t.textContent
		t.textContent = format.format(at)
	}
}

// Menus close when the focus or a click goes elsewhere.
const menus = [...document.querySelectorAll('header details')]
const close = e => menus.forEach(m => m.contains(e.target) || (m.open = false))
addEventListener('click', close)
addEventListener('focusin', close)
addEventListener('keydown', e => {
	const open = e.key === 'Escape' && menus.find(m => m.open)
	if (open) {
		open.open = false
		open.querySelector('summary').focus()
	}
})
