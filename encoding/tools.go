package encoding

// maxTools bounds the tool calls of one reply that are told to the client.
const maxTools = 256

// Tools keeps which tool calls of a reply were told, so that no call comes
// twice and no result comes without its call: both are errors to the clients.
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

// Result reports whether the call was told and this is its first result.
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
