package encoding

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/go-json-experiment/json/jsontext"
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
	// text is the open delta's. prefix comes before it, suffix after it.
	text           []byte
	prefix, suffix string
}

// NewOutput returns an Output to w whose deltas end with suffix. flush, where
// not nil, is called after each write to bring it to the client.
func NewOutput(w io.Writer, flush func() error, suffix string) Output {
	return Output{w: w, flush: flush, suffix: suffix}
}

// Delta adds a piece of text to the delta that begins with prefix, and ends one
// with another prefix.
func (o *Output) Delta(prefix string, piece []byte) {
	if len(o.buf)+len(o.text)+len(piece) > maxHeld {
		o.write()
	}
	if o.prefix != prefix {
		o.EndDelta()
		o.prefix = prefix
	}
	o.text = append(o.text, piece...)
}

// EndDelta ends the open delta: another event follows.
func (o *Output) EndDelta() {
	if len(o.text) == 0 {
		return
	}
	o.buf = append(o.buf, o.prefix...)
	o.buf = quote(o.buf, o.text)
	o.buf = append(o.buf, o.suffix...)
	if o.text = o.text[:0]; cap(o.text) > maxIdle {
		o.text = nil
	}
}

// quote appends a JSON string. What is not UTF-8 becomes U+FFFD.
func quote[T []byte | string](to []byte, s T) []byte {
	to, _ = jsontext.AppendQuote(to, s)
	return to
}

// Raw adds bytes as they are. No delta may be open.
func (o *Output) Raw(s string) {
	o.buf = append(o.buf, s...)
}

// String adds a JSON string.
func (o *Output) String(s string) {
	o.buf = quote(o.buf, s)
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

// Flush sends everything in one write.
func (o *Output) Flush() error {
	o.EndDelta()
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
	o.EndDelta()
	if len(o.buf) > 0 && o.err == nil {
		_, o.err = o.w.Write(o.buf)
	}
	if o.buf = o.buf[:0]; cap(o.buf) > maxIdle {
		o.buf = nil
	}
}
