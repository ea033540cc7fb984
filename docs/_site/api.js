// What the search box and the ask box share: how the API is asked.

// Keys are public: they are made for pages. This one is of Caddyfile.example.
const key = 'svc_dsc_example_key_of_the_manual'

// post sends a body to an endpoint of the manual's own site. An error's
// message is the sentence that the server says.
export async function post(path, body, signal) {
  const response = await fetch(path, {
    method: 'POST',
    headers: { Authorization: 'Bearer ' + key, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
    signal,
  })
  if (response.ok) return response
  const { error } = await response.json().catch(() => ({}))
  throw new Error(error || 'The server answered ' + response.status + '.')
}

// element makes an element with text in it. Nothing that the server sends
// ever becomes HTML.
export function element(name, text, attributes = {}) {
  const e = document.createElement(name)
  if (text) e.textContent = text
  for (const k in attributes) e.setAttribute(k, attributes[k])
  return e
}
