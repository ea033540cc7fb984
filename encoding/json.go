package encoding

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/short"
)

// lenient has no opinion about what does not change the meaning of a body: of
// several fields of one name the last one counts, and what is not UTF-8, lone
// surrogates included, becomes U+FFFD. NUL becomes a space, since databases
// refuse it.
var lenient = json.JoinOptions(
	jsontext.AllowDuplicateNames(true),
	jsontext.AllowInvalidUTF8(true),
	json.WithUnmarshalers(json.UnmarshalFromFunc(func(d *jsontext.Decoder, s *string) error {
		switch d.PeekKind() {
		case '"', 'n':
		default:
			return json.SkipFunc // the package's own error names the value
		}
		t, err := d.ReadToken()
		if *s = ""; err == nil && t.Kind() == '"' {
			*s = strings.ReplaceAll(t.String(), "\x00", " ")
		}
		return err
	})),
)

// wanted says what a field may be, where its Go type alone doesn't.
var wanted = map[string]string{
	"threadId":          "the threadId of an earlier reply (letters, digits, - and _), or left out for a new thread",
	"retrievalPageSize": fmt.Sprintf("a whole number from 1 to %d", MaxPageSize),
	"pageSize":          fmt.Sprintf("a whole number from 1 to %d", MaxHits),
	"offset":            fmt.Sprintf("a whole number from 0 to %d", retrieval.MaxHits),
	"scoreThreshold":    "a number from 0 to 1",
	"hits":              fmt.Sprintf("a whole number from 0 to %d", maxHits),
	"position":          fmt.Sprintf("a whole number from 1 to %d", maxPosition),
	"parts[]":           "an object with a type",
}

// decode reads a body into the struct that v points to. needs says what an
// empty body lacks. The error is an *Error.
func decode(body []byte, v any, needs string) error {
	body = bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))
	if len(bytes.TrimSpace(body)) == 0 {
		return errorf("", "the body is empty: it must be a JSON object with %s", needs)
	}
	err := json.Unmarshal(body, v, lenient)
	if bad, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		before := body[:bad.ByteOffset]
		line := 1 + bytes.Count(before, []byte("\n"))
		column := 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
		return errorf("", "the body is not valid JSON: %v at line %d, column %d", bad.Err, line, column)
	}
	if bad, ok := errors.AsType[*json.SemanticError](err); ok {
		return mustBe(path(bad.JSONPointer), kindOf(bad.GoType))
	}
	return err
}

// path writes a JSON pointer as scripts do: messages[2].role.
func path(pointer jsontext.Pointer) string {
	var b strings.Builder
	for token := range pointer.Tokens() {
		switch _, err := strconv.Atoi(token); {
		case err == nil:
			b.WriteString("[" + token + "]")
		case b.Len() > 0:
			b.WriteString("." + token)
		default:
			b.WriteString(token)
		}
	}
	return b.String()
}

// kindOf names the JSON type of a Go type.
func kindOf(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Float64:
		return "a number"
	case reflect.Slice:
		return "an array"
	}
	return "an object"
}

// mustBe returns the error of a field that is not of a kind, or not what
// wanted says.
func mustBe(path, kind string) *Error {
	last := path[strings.LastIndexByte(path, '.')+1:]
	if name, _, ok := strings.Cut(last, "["); ok {
		last = name + "[]"
	}
	if w := wanted[last]; w != "" {
		kind = w
	}
	if path == "" {
		return errorf("", "the body must be %s", kind)
	}
	return errorf(path, "%s must be %s", path, kind)
}

// whole returns a number that must be as wanted, or a default where there is
// none.
func whole(field string, n *float64, low, high, missing int) (int, error) {
	switch {
	case n == nil:
		return missing, nil
	case *n != math.Trunc(*n) || *n < float64(low) || *n > float64(high):
		return 0, mustBe(field, "")
	}
	return int(*n), nil
}

// text returns the first limit characters of a JSON string, "" for any other
// value.
func text(value jsontext.Value, limit int) string {
	var s string
	if value.Kind() == '"' {
		_ = json.Unmarshal(value, &s, lenient)
	}
	return short.Runes(s, limit)
}

// HasGroups reports whether a body has the groups that a caller of Mintlify's
// API may name. Here they grant nothing.
func HasGroups(body []byte) bool {
	if !bytes.Contains(body, []byte(`"groups"`)) {
		return false
	}
	var b struct {
		Groups jsontext.Value `json:"groups"`
		Filter struct {
			Groups jsontext.Value `json:"groups"`
		} `json:"filter"`
	}
	_ = json.Unmarshal(body, &b, lenient) // whether it is valid is not asked
	return len(b.Groups)+len(b.Filter.Groups) > 0
}
