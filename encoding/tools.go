package encoding

// maxTools bounds the tool calls of one reply that are sent to the client.
const maxTools = 256

// Tools records the tool calls that were sent. Clients reject a second call
// with the same id and a result without its call.
type Tools struct {
	ids  []string
	done []bool
}

// Call reports whether the call is new and has an id, and remembers it.
func (t *Tools) Call(id string) bool {
	if id == "" || t.find(id) >= 0 || len(t.ids) >= maxTools {
		return false
	}
	t.ids, t.done = append(t.ids, id), append(t.done, false)
	return true
}

// Result reports whether the call was sent and this is its first result.
func (t *Tools) Result(id string) bool {
	i := t.find(id)
	if i < 0 || t.done[i] {
		return false
	}
	t.done[i] = true
	return true
}

func (t *Tools) find(id string) int {
	for i := range t.ids {
		if t.ids[i] == id {
			return i
		}
	}
	return -1
}
