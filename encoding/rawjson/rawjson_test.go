package rawjson

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"testing"
)

// What is valid, members and elements are as in encoding/json.
func FuzzMembers(f *testing.F) {
	f.Add([]byte(`{"id":"c-1","created":1741569952,"choices":[{"index":0,"delta":{"content":" token"},"logprobs":null}],"usage":null}`))
	f.Add([]byte(`{"a":[1,{"b":"\\\"]"},null,-1.5e+3 , true],"c" : {} ,"d":[]}`))
	for _, b := range []string{
		"", " ", "{", "[", "]", `{"a"}`, `{"a":}`, `{"a":1,}`, `{,}`, `{1:2}`, `{"a":1]`, "[1,]", "[1 2]", "[,]", "[1]x", "1 1", " [ ] ", "{ }",
		"-", "-0", "01", "-01", "1.", ".5", "1.5", "1e", "1e+", "1E-09", "+1", "nul", "null", "nulls", "tru", "false",
		`"`, `"a`, `"\`, `"\x"`, `"\u12"`, `"\u12g4"`, `"\uD83d"`, "\"\t\"", "\"\x7f\"", "\"\xff\"", "\v1", "\u00a01",
	} {
		f.Add([]byte(b))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if Valid(b) != json.Valid(b) {
			t.Fatalf("valid: %v", Valid(b))
		}
		members := map[string]string{}
		isObject := Object(b, func(key, value []byte) { members[string(key)] = string(value) })
		if b = bytes.TrimSpace(b); isObject != (Valid(b) && b[0] == '{') {
			t.Fatalf("object: %v", isObject)
		}
		if !Valid(b) {
			return
		}
		if isObject && !maps.Equal(members, maps.Collect(func(yield func(string, string) bool) {
			for key, value := range Members(b) {
				yield(string(key), string(value))
			}
		})) {
			t.Errorf("members %q", members)
		}
		compareMembers(t, b)
	})
}

func TestJSONIsNotNestedTooDeep(t *testing.T) {
	for depth, want := range map[int]bool{maxDepth: true, maxDepth + 1: false, 1 << 20: false} {
		b := bytes.Repeat([]byte("["), depth)
		if b = append(b, bytes.Repeat([]byte("]"), depth)...); Valid(b) != want || json.Valid(b) != want {
			t.Errorf("%d deep: %v", depth, Valid(b))
		}
	}
}

func compareMembers(t *testing.T, b []byte) {
	t.Helper()
	var list []json.RawMessage
	if json.Unmarshal(b, &list) == nil && b[0] == '[' {
		var got []json.RawMessage
		for e := range Elements(b) {
			compareMembers(t, e)
			got = append(got, e)
		}
		if len(list) > 0 && !reflect.DeepEqual(got, list) {
			t.Errorf("elements %q, want %q", got, list)
		}
	}
	if b[0] != '{' {
		return
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(b, &object); err != nil {
		t.Fatal(err)
	}
	got := make(map[string]json.RawMessage)
	for key, value := range Members(b) {
		compareMembers(t, value)
		var name string
		if err := json.Unmarshal([]byte(`"`+string(key)+`"`), &name); err != nil {
			t.Fatal(err)
		}
		got[name] = value
	}
	if !reflect.DeepEqual(got, object) {
		t.Errorf("members %q, want %q", got, object)
	}
}
