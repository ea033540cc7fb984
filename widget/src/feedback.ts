// Thumbs, with a reason and a note.
import { post } from './api'
import { emit, explain, say } from './app'
import * as icons from './icons'
import { h, press, put, s } from './parts'

// The texts of the reasons follow each other.
const reasons = ['wrong', 'incomplete', 'unclear']

export interface Rating { rating: string | null, reasons?: string[], comment?: string }

/** feedback returns two buttons and the form that they open. body makes the
 * request of a rating. */
export function feedback(body: (r: Rating) => object, rating: string | null = null): HTMLElement[] {
  const note = h('input.note', { maxLength: 1000, placeholder: s[T.note], ariaLabel: s[T.note] })
  const form = h('form.why', {
    hidden: true,
    onsubmit(e: Event) {
      e.preventDefault()
      send({ rating, reasons: [...form.querySelectorAll<HTMLInputElement>(':checked')].map(c => c.value), comment: note.value.trim() || undefined })
      put(form, s[T.thanks])
    },
  })
  const send = (r: Rating) => {
    const { comment, ...rest } = r
    post('/v1/feedback/{}', body(r)).then(() => say(s[T.thanks]), e => say(explain(e)))
    emit('feedback', rest, { comment })
  }
  const buttons = (['up', 'down'] as const).map(value => press(s[value === 'up' ? T.good : T.bad], icons.thumb, () => {
    rating = rating === value ? null : value
    show()
    send({ rating })
    form.hidden = !rating
    put(form, value === 'down' && reasons.map((value, i) => h('label.chip', {}, h('input', { type: 'checkbox', value }), s[T.wrong + i])), note, h('button.chip', {}, s[T.send]))
    form.scrollIntoView({ block: 'nearest' })
  }, `button.icon.${value}`))
  const show = () => buttons.forEach(b => { b.ariaPressed = b.part.contains(rating + '') + '' })
  show()
  return [...buttons, form]
}
