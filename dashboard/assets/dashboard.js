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

// On a phone, the rows of tables are cards, whose cells say what they are.
for (const table of document.querySelectorAll('.table table')) {
	const heads = [...table.querySelectorAll('thead th')].map(th => th.textContent)
	for (const row of table.tBodies[0].rows) [...row.cells].forEach((cell, i) => { cell.dataset.label = heads[i] })
	table.classList.add('cards')
}

// On a phone, the list of pages scrolls: to this one.
document.querySelector('.side [aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' })

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

// A link to sign in has the code behind its #, where no log sees it.
const code = document.querySelector('[data-code]')
if (code && /^#[A-Za-z2-7-]{12,14}$/.test(location.hash)) {
	code.value = location.hash.slice(1)
	history.replaceState(null, '', location.pathname)
	code.form.querySelector('button').focus()
}

// Buttons that copy.
for (const b of document.querySelectorAll('[data-copy]')) {
	if (!navigator.clipboard) break
	b.hidden = false
	b.addEventListener('click', async () => {
		await navigator.clipboard.writeText(document.getElementById(b.dataset.copy).textContent)
		const label = b.lastChild
		label.textContent = 'Copied'
		setTimeout(() => { label.textContent = 'Copy' }, 2000)
	})
}
