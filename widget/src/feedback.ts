// Thumbs, with a reason and a note.
import type { App } from './app'
import * as icons from './icons'
import { h, press } from './parts'

export interface Rating { rating: string | null, reasons?: string[], comment?: string }

/** feedback returns two buttons and the form that they open. body makes the
 * request of a rating. */
export function feedback(app: App, body: (r: Rating) => object, rated?: string | null): HTMLElement[] {
  const { s } = app
  let rating = rated ?? null
  const form = h('form.why', {
    hidden: true,
    submit(e: Event) {
      e.preventDefault()
      const reasons = [...form.querySelectorAll<HTMLInputElement>(':checked')].map(c => c.value)
      send({ rating, reasons, comment: note.value.trim() || undefined })
      form.replaceChildren(s.thanks)
    },
  })
  const note = h('input.note', { maxlength: 1000, placeholder: s.note, 'aria-label': s.note })
  const send = (r: Rating) => {
    app.client.post('/v1/feedback/{}', body(r)).then(() => app.say(s.thanks), e => app.say(app.explain(e)))
    app.emit('feedback', { rating, reasons: r.reasons }, { comment: r.comment })
  }
  const show = () => buttons.forEach((b, i) => { b.ariaPressed = rating === values[i] ? 'true' : 'false' })
  const values = ['up', 'down']
  const buttons = values.map((value, i) => press(i ? s.bad : s.good, icons.thumb, () => {
    rating = rating === value ? null : value
    show()
    send({ rating })
    form.hidden = !rating
    form.replaceChildren(...i ? (['wrong', 'incomplete', 'unclear'] as const).map(r => h('label.chip', {}, h('input', { type: 'checkbox', value: r }), s[r])) : [],
      note, h('button.chip', {}, s.send))
    form.scrollIntoView({ block: 'nearest' })
  }, `button.icon.${value}`))
  show()
  return [...buttons, form]
}
