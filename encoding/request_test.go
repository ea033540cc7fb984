package encoding_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/assistant/reply"
	"github.com/caddy-docs/caddy-docs/encoding"
	"github.com/caddy-docs/caddy-docs/retrieval"
)

type decode = func([]byte) (*reply.Request, error)

// body is a v2 body with one question and more top-level fields.
func body(more string) string {
	return `{"fp":"anonymous","messages":[{"id":"m","role":"user","parts":[{"type":"text","text":"How?"}]}]` + more + `}`
}

func messages(list string) string { return `{"fp":"a","messages":[` + list + `]}` }

const question = `{"role":"user","content":"q","parts":[{"type":"text","text":"q"}]}`

func TestBadRequestsNameTheFieldAndWhatItMayBe(t *testing.T) {
	long := strings.Repeat("ä", 100_001)
	for _, c := range []struct {
		name, body, field, says string
		only                    int // generation, 0 for both
	}{
		{"empty", "", "", "empty", 0},
		{"broken", `{"fp":`, "", "not valid JSON", 0},
		{"broken in an unread value", `{"x":{"a":[1,}]}}`, "", "line 1, column 13", 0},
		{"two values", body("") + "1", "", "not valid JSON", 0},
		{"an array", `[]`, "", "an object", 0},
		{"too deep", `{"x":` + strings.Repeat("[", 10_001), "", "max depth", 0},
		{"a control character", "{\"x\":\"\n\"}", "", "control character", 0},
		{"an unknown escape", `{"x":"\q"}`, "", "escape", 0},
		{"a bad number", `{"x":01}`, "", "after object value", 0},
		{"a bad literal", `{"x":tru}`, "", "literal", 0},
		{"no fp", `{"messages":[` + question + `]}`, "fp", "anonymous", 0},
		{"an empty fp", `{"fp":" ","messages":[` + question + `]}`, "fp", "anonymous", 0},
		{"fp a number", `{"fp":5}`, "fp", "a string", 0},
		{"no messages", `{"fp":"a"}`, "messages", "array", 0},
		{"messages null", `{"fp":"a","messages":null}`, "messages", "array", 0},
		{"messages an object", `{"fp":"a","messages":{}}`, "messages", "array", 0},
		{"messages empty", messages(""), "messages", "user", 0},
		{"a message that is none", messages(`5`), "messages[0]", "an object", 0},
		{"no user", messages(`{"role":"assistant","content":"x"}`), "messages", "user", 0},
		{"no user text", messages(`{"role":"user","parts":[]}`), "messages[0]", "text", 0},
		{"a blank question", messages(`{"role":"user","content":" \u0000"}`), "messages[0]", "text", 0},
		{"a question too long", messages(`{"role":"user","content":"` + long + `"}`), "messages[0]", "100000", 0},
		{"no role", messages(`{"content":"x"}`), "messages[0].role", "one of", 0},
		{"an unknown role", messages(question + `,{"role":"tool"}`), "messages[1].role", "one of", 1},
		{"a role that is a number", messages(`{"role":5}`), "messages[0].role", "a string", 0},
		{"parts a string", messages(`{"role":"user","parts":"x"}`), "messages[0].parts", "an array", 0},
		{"a part that is a number", messages(`{"role":"user","parts":[1]}`), "messages[0].parts[0]", "an object", 0},
		{"text a number", messages(`{"role":"user","parts":[{"type":"text","text":5}]}`), "messages[0].parts[0].text", "a string", 0},
		{"content a number", messages(`{"role":"user","content":5}`), "messages[0].content", "a string", 1},
		{"threadId malformed", body(`,"threadId":"a b"`), "threadId", "letters", 0},
		{"threadId too long", body(`,"threadId":"` + strings.Repeat("a", 129) + `"`), "threadId", "letters", 0},
		{"threadId a number", body(`,"threadId":5`), "threadId", "letters", 0},
		{"retrievalPageSize 0", body(`,"retrievalPageSize":0`), "retrievalPageSize", "1 to 50", 0},
		{"retrievalPageSize 51", body(`,"retrievalPageSize":51`), "retrievalPageSize", "1 to 50", 0},
		{"retrievalPageSize 2.5", body(`,"retrievalPageSize":2.5`), "retrievalPageSize", "1 to 50", 0},
		{"retrievalPageSize huge", body(`,"retrievalPageSize":1e999`), "retrievalPageSize", "1 to 50", 0},
		{"retrievalPageSize x", body(`,"retrievalPageSize":"x"`), "retrievalPageSize", "1 to 50", 0},
		{"currentPath too long", body(`,"currentPath":"` + strings.Repeat("ä", 201) + `"`), "currentPath", "200", 0},
		{"filter a string", body(`,"filter":"x"`), "filter", "an object", 0},
		{"filter.version a number", body(`,"filter":{"version":2}`), "filter.version", "a string", 0},
		{"context an object", body(`,"context":{}`), "context", "an array", 0},
		{"context of another type", body(`,"context":[{"type":"x","value":"y"}]`), "context[0].type", "textSelection", 0},
		{"context without type", body(`,"context":[{"value":"y"}]`), "context[0].type", "code", 0},
		{"context without value", body(`,"context":[{"type":"code"}]`), "context[0].value", "a string", 0},
	} {
		for i, decode := range []decode{decodeV1, decodeV2} {
			if c.only != 0 && c.only != i+1 {
				continue
			}
			t.Run(fmt.Sprintf("%s in v%d", c.name, i+1), func(t *testing.T) {
				_, err := decode([]byte(c.body))
				var e *encoding.Error
				if !errors.As(err, &e) {
					t.Fatalf("error %v", err)
				}
				if e.Field != c.field || !strings.Contains(e.Message, c.says) || !strings.Contains(e.Message, c.field) {
					t.Errorf("field %q: %s", e.Field, e.Message)
				}
			})
		}
	}
}

func TestWhatIsNotReadIsAccepted(t *testing.T) {
	for name, b := range map[string]string{
		"an empty threadId":        body(`,"threadId":""`),
		"null for optional fields": body(`,"threadId":null,"retrievalPageSize":null,"filter":null,"context":null,"currentPath":null,"id":null,"trigger":null`),
		"5.0":                      body(`,"retrievalPageSize":5.0`),
		"null inside":              messages(`{"id":null,"role":"user","content":"How?","parts":null,"annotations":null,"experimental_attachments":null}`),
		"unknown fields and parts": messages(`{"role":"user","content":"How?","parts":[{"type":"tool-x","input":{"a":[{}]},"text":5},{"type":7},{},{"type":"text","text":"How?"}],"x":{"y":[-1.5e+3,true,false,null]}}`),
		"no parts":                 messages(`{"role":"user","content":"How?"}`),
		"a 5 MB file":              messages(`{"role":"user","content":"How?","parts":[{"type":"file","mediaType":"image/png","url":"data:image/png;base64,` + strings.Repeat("A", 5<<20) + `"},{"type":"text","text":"How?"}]}`),
		"deep":                     body(`,"x":` + strings.Repeat("[", 9_990) + strings.Repeat("]", 9_990)),
		"a name twice":             body(`,"retrievalPageSize":7,"retrievalPageSize":5`),
		"other annotations":        messages(`{"role":"user","content":"How?","annotations":5,"experimental_attachments":{}}`),
		"a byte order mark":        "\xef\xbb\xbf" + body(""),
	} {
		for i, decode := range []decode{decodeV1, decodeV2} {
			r, err := decode([]byte(b))
			if err != nil {
				t.Errorf("%s in v%d: %v", name, i+1, err)
				continue
			}
			if m := r.Messages[len(r.Messages)-1]; m.Text != "How?" || r.PageSize != 5 || r.ThreadID != "" {
				t.Errorf("%s in v%d: %+v", name, i+1, r)
			}
		}
	}
}

func TestV1Conversation(t *testing.T) {
	r, err := decodeV1([]byte(`{"id":"chat","fp":"u1","filter":{"version":"2.x","language":"en","tag":"no"},"context":[{"type":"code","value":"x","path":"p","elementId":"e"},{"type":"code","value":" "}],"currentPath":"/intro","messages":[
		{"role":"system","content":"be kind"},
		{"role":"data","content":{"plan":"pro"}},
		{"role":"data","content":"","data":[1]},
		{"role":"user","content":"one"},
		{"role":"assistant","content":"old","annotations":[5,{"type":"thread","threadId":"bad id"},{"type":"finish","threadId":"t-1"}],"parts":[
			{"type":"step-start"},{"type":"reasoning","reasoning":"r","details":[]},{"type":"source","source":{"sourceType":"url","id":"s","url":"https://d/a"}},{"type":"source","source":5},
			{"type":"tool-invocation","toolInvocation":{"state":"result"}},{"type":"text","text":"new"}]},
		{"id":"m5","role":"user","content":"two","experimental_attachments":[{"name":"a.txt","contentType":"text/plain","url":"data:text/plain;base64,R3LDvMOfZQ=="},{"name":"p.png","contentType":"image/png","url":"data:image/png;base64,AAAA"},{"url":"https://x/y"}]}
	]}`))
	if err != nil {
		t.Fatal(err)
	}
	want := &reply.Request{
		Fingerprint: "u1", ChatID: "chat", ThreadID: "t-1", PageSize: 5, CurrentPath: "/intro", QuestionID: "m5",
		Filter:  retrieval.Filter{Version: "2.x", Language: "en"},
		Context: []reply.Context{{Type: "code", Value: "x", Path: "p", ElementID: "e"}},
		Messages: []reply.Message{
			{Role: reply.Note, Text: "be kind"},
			{Role: reply.Note, Text: `{"plan":"pro"}`},
			{Role: reply.Note, Text: "[1]"},
			{Role: reply.User, Text: "one"},
			{Role: reply.Assistant, Text: "new", Sources: []string{"https://d/a"}},
			{ID: "m5", Role: reply.User, Text: "two", Attachments: []reply.Attachment{
				{Name: "a.txt", MediaType: "text/plain", Text: "Grüße"}, {Name: "p.png", MediaType: "image/png"}, {},
			}},
		},
	}
	if !reflect.DeepEqual(r, want) {
		t.Errorf("got  %+v\nwant %+v", r, want)
	}
}

func TestV2Conversation(t *testing.T) {
	r, err := decodeV2([]byte(`{"fp":"u1","id":"chat","trigger":"regenerate-message","filter":{"tag":"cli"},"messages":[
		{"role":"robot","parts":[{"type":"text","text":"ignored"}]},
		{"role":"user","parts":[{"type":"file","mediaType":"text/markdown","filename":"a.md","url":"data:,a%20b%zz"},{"text":"one","type":"text"},{"type":"text","text":"\ud83d\ude00 \ud83d two"}]},
		{"role":"assistant","metadata":{"threadId":"t_1"},"parts":[{"type":"source-url","sourceId":"s","url":"https://d/a"},{"type":"source-url","url":7},{"type":"text","text":"answer"}]},
		{"role":"assistant","metadata":"x","parts":[{"type":"step-start"}]}
	]}`))
	if err != nil {
		t.Fatal(err)
	}
	want := &reply.Request{
		Fingerprint: "u1", ChatID: "chat", ThreadID: "t_1", PageSize: 5, Transport: true, Regenerate: true, Filter: retrieval.Filter{Tag: "cli"},
		Messages: []reply.Message{
			{Role: reply.User, Text: "one\n😀 \uFFFD two", Attachments: []reply.Attachment{{Name: "a.md", MediaType: "text/markdown", Text: "a b%zz"}}},
			{Role: reply.Assistant, Text: "answer", Sources: []string{"https://d/a"}},
		},
	}
	if !reflect.DeepEqual(r, want) {
		t.Errorf("got  %+v\nwant %+v", r, want)
	}
}

func TestLongTextsAreCut(t *testing.T) {
	file := "data:text/plain;base64," + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("漢", 30_000)))
	r, err := decodeV2([]byte(messages(`{"role":"assistant","parts":[{"type":"text","text":"` + strings.Repeat("ä", 100_500) + `"}]},{"role":"user","parts":[{"type":"text","text":"q"},{"type":"file","url":"` + file + `"}]}`)))
	if err != nil {
		t.Fatal(err)
	}
	if n := len([]rune(r.Messages[0].Text)); n != 100_000 {
		t.Errorf("%d characters of the old turn", n)
	}
	if n := len([]rune(r.Messages[1].Attachments[0].Text)); n != 20_000 {
		t.Errorf("%d characters of the file", n)
	}
}

func TestSearchBodies(t *testing.T) {
	s, err := encoding.DecodeSearch([]byte(`{"query":" how\u0000to ","pageSize":20.0,"scoreThreshold":0.5,"filter":{"version":"v","language":"l","tag":"t"},"x":1}`))
	if err != nil || *s != (encoding.Search{Query: "how to", PageSize: 20, Threshold: .5, Filter: retrieval.Filter{Version: "v", Language: "l", Tag: "t"}}) {
		t.Errorf("%+v, %v", s, err)
	}
	s, err = encoding.DecodeSearch([]byte(`{"query":"q","pageSize":null,"scoreThreshold":null,"filter":{"version":null}}`))
	if err != nil || *s != (encoding.Search{Query: "q", PageSize: 10}) {
		t.Errorf("%+v, %v", s, err)
	}
	for b, field := range map[string]string{
		``: "", `5`: "", `{}`: "query", `{"query":" "}`: "query", `{"query":null}`: "query", `{"query":5}`: "query",
		`{"query":"` + strings.Repeat("word ", 10_000) + `"}`: "query",
		`{"query":"q","pageSize":0}`:                          "pageSize", `{"query":"q","pageSize":51}`: "pageSize", `{"query":"q","pageSize":2.5}`: "pageSize", `{"query":"q","pageSize":"x"}`: "pageSize",
		`{"query":"q","scoreThreshold":-1}`: "scoreThreshold", `{"query":"q","scoreThreshold":2}`: "scoreThreshold", `{"query":"q","filter":{"tag":5}}`: "filter.tag",
	} {
		var e *encoding.Error
		if _, err := encoding.DecodeSearch([]byte(b)); !errors.As(err, &e) || e.Field != field || !strings.Contains(e.Error(), field) {
			t.Errorf("%.40s: %v", b, err)
		}
	}
}

func fuzz(f *testing.F, decode func([]byte) error) {
	f.Add([]byte(body(`,"threadId":null,"x":[{"a":-1.5e3}]`)))
	f.Add([]byte(messages(`{"role":"user","content":"\ud83d\u0000","parts":[{"type":"file","url":"data:text/plain;base64,AA=="}]}`)))
	f.Add([]byte(`{"query":"q","pageSize":1e1}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var e *encoding.Error
		if err := decode(b); err != nil && (!errors.As(err, &e) || e.Message == "") {
			t.Fatalf("error %v", err)
		}
	})
}

func FuzzDecodeV1(f *testing.F) {
	fuzz(f, func(b []byte) error { _, err := decodeV1(b); return err })
}

func FuzzDecodeV2(f *testing.F) {
	fuzz(f, func(b []byte) error { _, err := decodeV2(b); return err })
}

func FuzzDecodeSearch(f *testing.F) {
	fuzz(f, func(b []byte) error { _, err := encoding.DecodeSearch(b); return err })
}

func BenchmarkDecode(b *testing.B) {
	for name, s := range map[string]string{
		"short":    body(""),
		"deep":     body(`,"x":` + strings.Repeat("[", 9_990) + strings.Repeat("]", 9_990)),
		"5MB file": messages(`{"role":"user","content":"How?","parts":[{"type":"file","mediaType":"image/png","url":"data:image/png;base64,` + strings.Repeat("A", 5<<20) + `"}]}`),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = decodeV2([]byte(s))
			}
		})
	}
}

func decodeV1(body []byte) (*reply.Request, error) { return encoding.DecodeRequest(body, encoding.V1) }

func decodeV2(body []byte) (*reply.Request, error) { return encoding.DecodeRequest(body, encoding.V2) }
