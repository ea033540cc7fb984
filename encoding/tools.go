package encoding

// maxTools bounds the tool calls of one reply that are sent to the client.
const maxTools = 256

// Tools are the tool calls that were sent, and whether their results were, by
// id. Clients reject a second call with the same id and a result without its
// call.
type Tools map[string]bool

// Call reports whether the call is new and has an id, and remembers it.
func (t *Tools) Call(id string) bool {
	if _, sent := (*t)[id]; id == "" || sent || len(*t) >= maxTools {
		return false
	}
	if *t == nil {
		*t = make(Tools)
	}
	(*t)[id] = false
	return true
}

// Result reports whether the call was sent and this is its first result.
func (t *Tools) Result(id string) bool {
	done, sent := (*t)[id]
	if !sent || done {
		return false
	}
	(*t)[id] = true
	return true
}
