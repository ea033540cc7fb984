package encoding

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/caddy-docs/caddy-docs/assistant/reply"
)

const (
	// maxHeld is how much is collected before it is written without a flush.
	maxHeld = 32 << 10
	// maxIdle is the largest buffer that a stream keeps while it waits.
	maxIdle = 2 << 10
)

// Output is what both stream encoders write through. It collects everything
// between two flushes into one write, and merges the pieces of text of one
// part into one delta. It is not safe for concurrent use.
type Output struct {
	w     io.Writer
	flush func() error
	err   error

	buf []byte
	// suffix ends every delta; prefix begins the open one, or the one of which
	// half a surrogate pair is held.
	suffix string
	prefix []byte
	open   bool
	text   reply.Joiner
}

// NewOutput returns an Output to w whose deltas end with suffix. flush, where
// not nil, is called after each write to bring it to the client.
func NewOutput(w io.Writer, flush func() error, suffix string) Output {
	return Output{w: w, flush: flush, suffix: suffix}
}

// Delta adds a piece of text, in the form of reply.Event.Text, to the delta
// that begins with prefix. A delta with another prefix must be ended first;
// until then prefix must not change.
func (o *Output) Delta(prefix, piece []byte) {
	if len(piece) == 0 {
		return
	}
	if len(o.buf)+len(piece) > maxHeld {
		o.write()
	}
	from := len(o.buf)
	if !o.open {
		o.prefix = prefix
		o.buf = append(o.buf, prefix...)
	}
	start := len(o.buf)
	o.buf = o.text.Append(o.buf, piece)
	if !o.open {
		if len(o.buf) == start { // only half a pair, which is held
			o.buf = o.buf[:from]
			return
		}
		o.open = true
	}
}

// EndDelta ends the open delta: another event follows.
func (o *Output) EndDelta() {
	if o.text.Held() {
		if !o.open {
			o.buf = append(o.buf, o.prefix...)
			o.open = true
		}
		o.buf = o.text.Close(o.buf)
	}
	o.pause()
}

// pause ends the open delta but keeps a held half for the next one.
func (o *Output) pause() {
	if o.open {
		o.buf = append(o.buf, o.suffix...)
		o.open = false
	}
}

// Raw adds bytes as they are. No delta may be open.
func (o *Output) Raw(s string) {
	o.buf = append(o.buf, s...)
}

// String adds a JSON string.
func (o *Output) String(s string) {
	o.buf = append(o.buf, '"')
	o.buf = reply.Escape(o.buf, s)
	o.buf = append(o.buf, '"')
}

// Field adds a comma, a name, which needs no escaping, and a JSON string.
func (o *Output) Field(name, value string) {
	o.Name(name)
	o.String(value)
}

// Name adds a comma, a name, which needs no escaping, and a colon.
func (o *Output) Name(name string) {
	o.buf = append(o.buf, ',', '"')
	o.buf = append(o.buf, name...)
	o.buf = append(o.buf, '"', ':')
}

// JSON adds a JSON value on one line, or instead if value is not valid.
func (o *Output) JSON(value []byte, instead string) {
	b := bytes.NewBuffer(o.buf)
	if err := json.Compact(b, value); err != nil {
		o.buf = append(o.buf, instead...)
		return
	}
	o.buf = b.Bytes()
}

// Object adds a JSON object on one line, {} for anything else.
func (o *Output) Object(value []byte) {
	if !bytes.HasPrefix(bytes.TrimLeft(value, " \t\r\n"), []byte("{")) {
		value = nil
	}
	o.JSON(value, "{}")
}

// KeepAlive adds s, unless there is anything else to send.
func (o *Output) KeepAlive(s string) {
	if len(o.buf) == 0 {
		o.Raw(s)
	}
}

// Marshal adds the fields of v, each after a comma. v must marshal to an
// object.
func (o *Output) Marshal(v any) {
	fields, err := json.Marshal(v)
	if err != nil || len(fields) <= len("{}") || fields[0] != '{' {
		return
	}
	o.buf = append(o.buf, ',')
	o.buf = append(o.buf, fields[1:len(fields)-1]...)
}

// Flush sends everything in one write, except half a surrogate pair.
func (o *Output) Flush() error {
	o.pause()
	if o.err != nil {
		return o.err
	}
	if len(o.buf) == 0 {
		return nil
	}
	o.write()
	if o.err == nil && o.flush != nil {
		o.err = o.flush()
	}
	return o.err
}

// Err returns the first error of writing: the client is gone.
func (o *Output) Err() error { return o.err }

func (o *Output) write() {
	o.pause()
	if len(o.buf) > 0 && o.err == nil {
		_, o.err = o.w.Write(o.buf)
	}
	if o.buf = o.buf[:0]; cap(o.buf) > maxIdle {
		o.buf = nil
	}
}
