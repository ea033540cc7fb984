package encoding

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/caddy-docs/caddy-docs/assistant/reply"
)

// maxDepth bounds the nesting of a body, as encoding/json does.
const maxDepth = 10_000

// Decoder reads a JSON body in one pass, value by value. It suits bodies of
// which little is used: the rest is checked to be JSON and skipped without
// being copied or decoded. Names match exactly; the last of several fields of
// one name counts; invalid UTF-8 and lone surrogates become U+FFFD, NUL a
// space.
//
// The first error sticks: every method does nothing afterwards. Object and
// Array skip the value that their callback has left unread.
type Decoder struct {
	data []byte
	pos  int
	path []step
	nest []byte // what Skip is in: '{' or '['
	err  *Error
}

// step is one step of the path to the current value.
type step struct {
	key   []byte // nil for an element of an array
	index int
}

// NewDecoder returns a Decoder that reads body. It does not change body and
// returns no string that points into it.
func NewDecoder(body []byte) *Decoder {
	return &Decoder{data: bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))}
}

// Err returns the first error.
func (d *Decoder) Err() error {
	if d.err == nil {
		return nil
	}
	return d.err
}

// Path returns the path of the value that is being read, such as
// "messages[2].role"; "" for the body itself.
func (d *Decoder) Path() string {
	var b strings.Builder
	for _, s := range d.path {
		if s.key == nil {
			b.WriteByte('[')
			b.WriteString(strconv.Itoa(s.index))
			b.WriteByte(']')
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(text(s.key, 100))
	}
	return b.String()
}

// Fail records that the current value, or the named field of the current
// object, must be as wanted ("a string"). An earlier error is kept.
func (d *Decoder) Fail(field, wanted string) {
	path := d.Path()
	switch {
	case path == "":
		path = field
	case field != "":
		path += "." + field
	}
	name := path
	if name == "" {
		name = "the body"
	}
	d.fail(errorf(path, "%s must be %s", name, wanted))
}

func (d *Decoder) fail(err *Error) {
	if d.err == nil {
		d.err = err
	}
	// Nothing more is read.
	d.pos = len(d.data)
}

// syntax records that the body is not JSON at the current position.
func (d *Decoder) syntax(problem string) {
	if d.err != nil {
		return
	}
	before := d.data[:min(d.pos, len(d.data))]
	line := 1 + bytes.Count(before, []byte("\n"))
	column := 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
	d.fail(errorf("", "the body is not valid JSON: %s at line %d, column %d", problem, line, column))
}

// peek returns the first byte of the next token, 0 at the end.
func (d *Decoder) peek() byte {
	for d.pos < len(d.data) {
		switch c := d.data[d.pos]; c {
		case ' ', '\n', '\r', '\t':
			d.pos++
		default:
			return c
		}
	}
	return 0
}

// unexpected records a syntax error: something else than wanted is next.
func (d *Decoder) unexpected(wanted string) {
	if d.peek() == 0 && d.pos >= len(d.data) {
		d.syntax("it ends where " + wanted + " should be,")
		return
	}
	r, _ := utf8.DecodeRune(d.data[d.pos:])
	d.syntax(fmt.Sprintf("%q where %s should be,", r, wanted))
}

// Is reports whether the next value begins with c: one of { [ " t f n, or 0
// for a number.
func (d *Decoder) Is(c byte) bool {
	next := d.peek()
	if c == 0 {
		return next == '-' || next >= '0' && next <= '9'
	}
	return next == c
}

// Null reads a null and returns true if one is next.
func (d *Decoder) Null() bool {
	if !d.Is('n') {
		return false
	}
	d.Skip()
	return d.err == nil
}

// Object reads an object and calls field with each name, where the value is
// to be read. Anything but an object is an error. The name is valid only
// during the call.
func (d *Decoder) Object(field func(name []byte)) {
	if !d.Is('{') {
		d.wrong("an object")
		return
	}
	d.pos++
	if d.peek() == '}' {
		d.pos++
		return
	}
	for d.err == nil {
		key := d.name()
		if d.err != nil {
			return
		}
		d.path = append(d.path, step{key: key})
		from := d.pos
		field(key)
		if d.pos == from {
			d.Skip()
		}
		d.path = d.path[:len(d.path)-1]
		if !d.more('}') {
			return
		}
	}
}

// Array reads an array and calls element with the index of each value, where
// the value is to be read. Anything but an array is an error.
func (d *Decoder) Array(element func(i int)) {
	if !d.Is('[') {
		d.wrong("an array")
		return
	}
	d.pos++
	if d.peek() == ']' {
		d.pos++
		return
	}
	for i := 0; d.err == nil; i++ {
		d.path = append(d.path, step{index: i})
		d.peek()
		from := d.pos
		element(i)
		if d.pos == from {
			d.Skip()
		}
		d.path = d.path[:len(d.path)-1]
		if !d.more(']') {
			return
		}
	}
}

// wrong records that the next value is not of the wanted type, or not a value.
func (d *Decoder) wrong(wanted string) {
	switch c := d.peek(); c {
	case '{', '[', '"', 't', 'f', 'n':
	default:
		if !d.Is(0) {
			d.unexpected("a value")
			return
		}
	}
	d.Fail("", wanted)
}

// name reads the name of a field and its colon.
func (d *Decoder) name() []byte {
	if d.peek() != '"' {
		d.unexpected("a name in quotes")
		return nil
	}
	raw := d.raw()
	if d.err != nil {
		return nil
	}
	if bytes.IndexByte(raw, '\\') >= 0 {
		raw = reply.Unescape(nil, raw)
	}
	if d.peek() != ':' {
		d.unexpected("a colon")
		return nil
	}
	d.pos++
	d.peek()
	return slices.Clip(raw)
}

// more reads the comma before the next element, or the end.
func (d *Decoder) more(end byte) bool {
	if d.err != nil {
		return false
	}
	switch d.peek() {
	case ',':
		d.pos++
		return true
	case end:
		d.pos++
		return false
	}
	d.unexpected(`a comma or "` + string(end) + `"`)
	return false
}

// raw reads a string and returns the bytes between its quotes.
func (d *Decoder) raw() []byte {
	from := d.pos + 1
	for i := from; i < len(d.data); i++ {
		switch c := d.data[i]; {
		case c == '"':
			d.pos = i + 1
			return d.data[from:i]
		case c < ' ':
			d.pos = i
			d.syntax("an unescaped control character in a string")
			return nil
		case c == '\\':
			n := escape(d.data[i:])
			if n == 0 {
				d.pos = i
				d.syntax("an unknown escape sequence")
				return nil
			}
			i += n - 1
		}
	}
	d.pos = len(d.data)
	d.syntax("a string without its closing quote")
	return nil
}

// escape returns the length of the escape sequence that s begins with, 0 if
// it is none.
func escape(s []byte) int {
	if len(s) < 2 {
		return 0
	}
	switch s[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(s) < 6 {
			return 0
		}
		for _, c := range s[2:6] {
			if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F') {
				return 0
			}
		}
		return 6
	}
	return 0
}

// String reads a string of any length. Anything else is an error.
func (d *Decoder) String() string { return d.Text(math.MaxInt) }

// Text reads a string and cuts it after limit characters. Anything else is
// an error.
func (d *Decoder) Text(limit int) string {
	if !d.Is('"') {
		d.wrong("a string")
		return ""
	}
	return text(d.raw(), limit)
}

// Raw reads a value of any kind and returns its bytes, which belong to the
// body.
func (d *Decoder) Raw() []byte {
	d.peek()
	from := d.pos
	d.Skip()
	if d.err != nil {
		return nil
	}
	return d.data[from:d.pos]
}

// rawText returns the text of a value that Raw returned, cut after limit
// characters; false if it is not a string.
func rawText(raw []byte, limit int) (string, bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return "", false
	}
	return text(raw[1:len(raw)-1], limit), true
}

// text decodes the bytes between the quotes of a valid JSON string and cuts
// the text after limit characters.
func text(raw []byte, limit int) string {
	// A character takes at most twelve bytes.
	if limit < len(raw)/12 {
		raw = raw[:limit*12]
	}
	if bytes.IndexByte(raw, '\\') >= 0 {
		raw = reply.Unescape(make([]byte, 0, len(raw)), raw)
	}
	s := string(raw)
	if !utf8.ValidString(s) {
		s = string([]rune(s))
	}
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(s, "\x00", " ")
	}
	return cut(s, limit)
}

// cut returns the first limit characters of s.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	n := 0
	for i := range s {
		if n == limit {
			return s[:i]
		}
		n++
	}
	return s
}

// Number reads a number. Anything else, and a number that a float64 cannot
// hold, is an error: the value must be as wanted.
func (d *Decoder) Number(wanted string) float64 {
	if !d.Is(0) {
		d.wrong(wanted)
		return 0
	}
	raw := d.Raw()
	n, err := strconv.ParseFloat(string(raw), 64)
	if d.err == nil && err != nil {
		d.Fail("", wanted)
	}
	return n
}

// Integer reads a whole number from low to high; 5.0 is one. Anything else
// is an error.
func (d *Decoder) Integer(low, high int) int {
	wanted := fmt.Sprintf("a whole number from %d to %d", low, high)
	n := d.Number(wanted)
	if d.err == nil && (n != math.Trunc(n) || n < float64(low) || n > float64(high)) {
		d.Fail("", wanted)
	}
	if d.err != nil {
		return 0
	}
	return int(n)
}

// Skip reads a value of any kind and checks that it is JSON.
func (d *Decoder) Skip() {
	d.nest = d.nest[:0]
	for d.err == nil {
		opened := false
		switch c := d.peek(); c {
		case '{', '[':
			if len(d.nest)+len(d.path) >= maxDepth {
				d.fail(errorf("", "the body is nested too deep: at most %d levels are read", maxDepth))
				return
			}
			d.nest = append(d.nest, c)
			d.pos++
			opened = true
		case '"':
			d.raw()
		case 't':
			d.literal("true")
		case 'f':
			d.literal("false")
		case 'n':
			d.literal("null")
		default:
			if !d.Is(0) {
				d.unexpected("a value")
				return
			}
			d.number()
		}
		for d.err == nil {
			if len(d.nest) == 0 {
				return
			}
			in := d.nest[len(d.nest)-1]
			end := in + 2 // '{' + 2 is '}', '[' + 2 is ']'
			if opened && d.peek() != end {
				if in == '{' {
					d.name()
				}
				break
			}
			if opened {
				d.pos++
			} else if d.more(end) {
				if in == '{' {
					d.name()
				}
				break
			}
			opened = false
			d.nest = d.nest[:len(d.nest)-1]
		}
	}
}

func (d *Decoder) literal(word string) {
	if !bytes.HasPrefix(d.data[d.pos:], []byte(word)) {
		d.unexpected("a value")
		return
	}
	d.pos += len(word)
}

// number skips a number: -?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?
func (d *Decoder) number() {
	at := func(i int) byte {
		if i < len(d.data) {
			return d.data[i]
		}
		return 0
	}
	digits := func() bool {
		from := d.pos
		for c := at(d.pos); c >= '0' && c <= '9'; c = at(d.pos) {
			d.pos++
		}
		return d.pos > from
	}
	if at(d.pos) == '-' {
		d.pos++
	}
	if at(d.pos) == '0' {
		d.pos++
	} else if !digits() {
		d.unexpected("a digit")
		return
	}
	if at(d.pos) == '.' {
		d.pos++
		if !digits() {
			d.unexpected("a digit")
			return
		}
	}
	if c := at(d.pos); c == 'e' || c == 'E' {
		d.pos++
		if c := at(d.pos); c == '+' || c == '-' {
			d.pos++
		}
		if !digits() {
			d.unexpected("a digit")
		}
	}
}

// End checks that nothing follows.
func (d *Decoder) End() {
	if d.err == nil && (d.peek() != 0 || d.pos < len(d.data)) {
		d.unexpected("the end")
	}
}
