package encoding

import (
	"io"

	"github.com/go-json-experiment/json"
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

// Raw adds bytes as they are.
func (o *Output) Raw(s string) {
	o.EndDelta()
	o.buf = append(o.buf, s...)
}

// Object adds a JSON object: names, each followed by its value, where that is
// not nil.
func (o *Output) Object(fields ...any) {
	o.Raw("{")
	for i := 0; i+1 < len(fields); i += 2 {
		if fields[i+1] == nil {
			continue
		}
		if o.buf[len(o.buf)-1] != '{' {
			o.buf = append(o.buf, ',')
		}
		o.buf = append(quote(o.buf, fields[i].(string)), ':')
		o.JSON(fields[i+1])
	}
	o.buf = append(o.buf, '}')
}

// JSON adds a value on one line, null if it is not valid.
func (o *Output) JSON(v any) {
	value, err := json.Marshal(v, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	if err != nil {
		value = []byte("null")
	}
	o.buf = append(o.buf, value...)
}

// Optional is a field of Object that is left out if it is "".
func Optional(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// Arguments are those of a tool call: an object, {} for anything else.
func Arguments(value []byte) jsontext.Value {
	if v := jsontext.Value(value); v.Kind() == '{' && v.IsValid(jsontext.AllowDuplicateNames(true)) {
		return v
	}
	return jsontext.Value("{}")
}

// KeepAlive sends what waits, or else s.
func (o *Output) KeepAlive(s string) error {
	if o.EndDelta(); len(o.buf) == 0 {
		o.Raw(s)
	}
	return o.Flush()
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

// Reason returns a finish reason that every client knows. Some releases of the
// chat SDK reject all others, "unknown" and "interrupted" included.
func Reason(reason string) string {
	switch reason {
	case "stop", "length", "content-filter", "tool-calls", "error", "other":
		return reason
	case "":
		return "stop"
	}
	return "other"
}

// BrokeOff is the message of an error in a reply that has none.
const BrokeOff = "The answer broke off. Please ask again."

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
