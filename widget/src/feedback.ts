// Thumbs, with a reason and a note.
import { post } from './api'
import { emit, explain, say } from './app'
import { icons } from './icons'
import { h, press, put, s } from './parts'

/** feedback returns two buttons and the form that they open. rated is called
 * with a rating, and returns what it is for. */
export const feedback = (rated: (rating: string | null) => object, rating: string | null = null): HTMLElement[] => {
  const note = h('input.input', { maxLength: 1000, placeholder: s[T.note], ariaLabel: s[T.note] })
  const form = h('form.why', {
    hidden: true,
    onsubmit(e: Event) {
      e.preventDefault()
      send([...form.querySelectorAll<HTMLInputElement>(':checked')].map(c => c.value), note.value)
      put(form, s[T.thanks])
    },
  })
  const send = (reasons?: string[], comment?: string) => {
    post('/v1/feedback/{}', { ...rated(rating), rating, reasons, comment }).then(() => say(s[T.thanks]), e => {
      form.hidden = false
      put(form, explain(e))
    })
    emit('feedback', { rating, reasons }, { comment })
  }
  // The texts of the ratings follow each other, and so do those of the reasons.
  const buttons = ['up', 'down'].map((value, i) => press(s[T.good + i], icons.thumb, () => {
    rating = rating === value ? null : value
    show()
    send()
    form.hidden = !rating
    // Only a vote down has reasons.
    put(form, i && ['wrong', 'incomplete', 'unclear'].map((value, i) => h('label.chip', {}, h('input', { type: 'checkbox', value }), s[T.wrong + i])), h('div.field', {}, note), h('button.chip', {}, s[T.send]))
    form.scrollIntoView({ block: 'nearest' })
  }, `button.icon.${value}`))
  const show = () => buttons.forEach(b => { b.ariaPressed = b.part.contains(rating!) as any })
  show()
  return [...buttons, form]
}
