package model

import (
	"strings"
	"testing"
)

func TestATemplateGivesWhatTheWalkerGives(t *testing.T) {
	const around = `{"id":"a","choices":[{"index":0,"delta":{"content":"TOKEN"},"finish_reason":null}]}`
	chunk := func(token string) []byte { return []byte(strings.Replace(around, "TOKEN", token, 1)) }
	cases := []string{
		`word`, ``, ` `, `\"`, `\\`, `\n`, `für`, `\ud83d`, `a"},"finish_reason":null}]}`, `"`, `\`, `\x`, "\n", "\xff",
		`x"},"finish_reason":"stop"}]}`, `","reasoning":"b`,
	}
	for _, first := range []string{`word`, ``, `\"`} {
		var p piece
		var same template
		if b := chunk(first); !p.walk(b) {
			t.Fatalf("%q is not walked", first)
		} else {
			same.learn(b, &p)
		}
		for _, token := range cases {
			b := chunk(token)
			got, ok := same.match(b)
			walked := p.walk(b)
			if ok && (!walked || string(got) != string(p.text) || p.reasoning != nil || p.usage != nil) {
				t.Errorf("after %q the template gives %q of %s, the walker %q (%t)", first, got, b, p.text, walked)
			}
			if !ok && walked && !strings.ContainsAny(token, `"`) {
				t.Errorf("after %q the template does not fit %s", first, b)
			}
		}
	}
}

func TestAChunkWithMoreThanTextIsNoTemplate(t *testing.T) {
	for _, chunk := range []string{
		`{"choices":[{"index":0,"delta":{"content":"a","reasoning":"b"}}]}`,
		`{"choices":[{"index":0,"delta":{"content":"a"}}],"usage":{"prompt_tokens":1}}`,
		`{"choices":[]}`,
	} {
		var p piece
		var same template
		b := []byte(chunk)
		if !p.walk(b) {
			t.Fatalf("%s is not walked", chunk)
		}
		same.learn(b, &p)
		if _, ok := same.match(b); ok {
			t.Errorf("%.60s became a template", chunk)
		}
	}
}
