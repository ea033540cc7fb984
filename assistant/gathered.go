package assistant

// gathered collects pieces of a text, most of which are as short as a token.
// The latest stand in the struct itself: appending each to the text would
// fetch another page of memory for every token of every stream.
type gathered struct {
	recent [48]byte
	n      int // bytes of recent
	text   []byte
}

// gatheredAtOnce is the room that is made for a text which outgrows recent:
// most answers are longer still.
const gatheredAtOnce = 4 << 10

func (g *gathered) add(b []byte) {
	if len(b) > len(g.recent)-g.n {
		if g.text == nil {
			g.text = make([]byte, 0, gatheredAtOnce)
		}
		g.text = append(g.text, g.recent[:g.n]...)
		g.n = 0
		if len(b) > len(g.recent) {
			g.text = append(g.text, b...)
			return
		}
	}
	g.n += copy(g.recent[g.n:], b)
}

func (g *gathered) len() int { return len(g.text) + g.n }

// bytes is the whole text, valid until the next add.
func (g *gathered) bytes() []byte {
	g.text = append(g.text, g.recent[:g.n]...)
	g.n = 0
	return g.text
}
