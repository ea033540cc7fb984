package model

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// lenient reads what endpoints send, names twice and broken characters
// included.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

func isJSON(b []byte) bool { return jsontext.Value(b).IsValid(lenient) }

func isNull(v jsontext.Value) bool { return len(v) == 0 || v.Kind() == 'n' }

// first returns the first value that is not null, nil if there is none.
func first(values ...jsontext.Value) jsontext.Value {
	for _, v := range values {
		if !isNull(v) {
			return v
		}
	}
	return nil
}

// elements returns the elements of an array, none of any other value.
func elements(array jsontext.Value) (all []jsontext.Value) {
	_ = json.Unmarshal(array, &all, lenient)
	return all
}

// plain returns the text of a JSON string, and any other value as it is
// written.
func plain(v jsontext.Value) string {
	if v.Kind() != '"' {
		return string(v)
	}
	text, _ := jsontext.AppendUnquote(nil, v)
	return string(text)
}
