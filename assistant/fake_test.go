package assistant

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"

	"github.com/caddy-docs/caddy-docs/assistant/reply"
	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/language"
)

// fakeIndex ranks sections by the share of the query's words that they hold.
type fakeIndex struct {
	documents []*retrieval.Document
	err       error
	queries   []retrieval.Query
	onSearch  func()
}

func (f *fakeIndex) Search(_ context.Context, q retrieval.Query) ([]retrieval.Hit, error) {
	f.queries = append(f.queries, q)
	if f.onSearch != nil {
		f.onSearch()
	}
	if f.err != nil {
		return nil, f.err
	}
	want := map[string]bool{}
	for _, t := range terms(q.Text, language.English) {
		want[t.stem] = true
	}
	var hits []retrieval.Hit
	for _, d := range f.documents {
		for i, s := range d.Sections {
			have := map[string]bool{}
			for _, t := range terms(d.Title+" "+d.Title+" "+s.Heading+" "+s.Text, language.English) {
				if want[t.stem] {
					have[t.stem] = true
				}
			}
			if len(have) == 0 {
				continue
			}
			score := float64(len(have)) / float64(len(want))
			if slices.Contains(q.Boost, d.Page) {
				score = min(1, score*1.1)
			}
			if score >= q.Threshold {
				hits = append(hits, retrieval.Hit{Document: d, Section: i, Score: score})
			}
		}
	}
	slices.SortStableFunc(hits, func(a, b retrieval.Hit) int { return cmp.Compare(b.Score, a.Score) })
	return hits[:min(len(hits), q.Limit)], nil
}

func (f *fakeIndex) Page(_ context.Context, page string) (*retrieval.Document, error) {
	if f.err != nil {
		return nil, f.err
	}
	for _, d := range f.documents {
		if d.Page == page {
			return d, nil
		}
	}
	return nil, nil
}

// docs is a small site.
func docs() *fakeIndex {
	page := func(name, title string, sections ...retrieval.Section) *retrieval.Document {
		return &retrieval.Document{Page: name, URL: "https://docs.acme.com/" + name, Title: title, Language: "en", Sections: sections}
	}
	return &fakeIndex{documents: []*retrieval.Document{
		page("install", "Install",
			retrieval.Section{Text: "Acme runs on Linux, macOS and Windows. Pick your system below."},
			retrieval.Section{Anchor: "linux", Heading: "Linux", Level: 2, Text: "Install Acme on Linux with the package of your distribution.\n\n```sh\nsudo apt install acme\n```\n\nThe service starts by itself."},
			retrieval.Section{Anchor: "windows", Heading: "Windows", Level: 2, Text: "Install Acme on Windows with winget.\n\n```powershell\nwinget install acme\n```\n\nRun it as a service with `acme service install`."},
			retrieval.Section{Anchor: "macos", Heading: "macOS", Level: 2, Text: "Install Acme on macOS with Homebrew: `brew install acme`."}),
		page("guide/proxy", "Reverse proxy",
			retrieval.Section{Anchor: "reverse-proxy", Heading: "Reverse proxy", Level: 1, Text: "The `reverse_proxy` directive sends requests to a backend. It balances load between several."},
			retrieval.Section{Anchor: "timeouts", Heading: "Timeouts", Level: 2, Text: "Set `dial_timeout` to bound the time until a connection to the backend stands. The default is 3 seconds.\n\n- `dial_timeout` bounds connecting.\n- `read_timeout` bounds reading."}),
		page("guide/tls", "TLS certificates",
			retrieval.Section{Text: "Certificates are obtained and renewed automatically."},
			retrieval.Section{Anchor: "own-certificate", Heading: "Your own certificate", Level: 2, Text: "Give `tls cert.pem key.pem` to use your own certificate. Both files must be in PEM format."}),
		page("api", "HTTP API",
			retrieval.Section{Anchor: "search", Heading: "Search", Level: 2, Text: "POST /v1/search takes a query and returns hits with a score."}),
	}}
}

// recorder is a sink that keeps what it gets.
type recorder struct {
	events  []reply.Event
	flushes int
	fail    int // the send that fails, from 1; 0 none
	onSend  func(*reply.Event)
}

func (s *recorder) Send(e *reply.Event) error {
	c := *e
	c.Text = slices.Clone(e.Text)
	c.JSON = slices.Clone(e.JSON)
	s.events = append(s.events, c)
	if s.onSend != nil {
		s.onSend(&c)
	}
	if s.fail > 0 && len(s.events) >= s.fail {
		return fmt.Errorf("the client is gone")
	}
	return nil
}
func (s *recorder) Flush() error { s.flushes++; return nil }

func (s *recorder) text() string {
	var b []byte
	for _, e := range s.events {
		if e.Kind == reply.Text {
			b = append(b, e.Text...)
		}
	}
	return string(b)
}

// shape is the order of events, runs of one kind as one word.
func (s *recorder) shape() string {
	names := map[reply.Kind]string{
		reply.Start: "start", reply.StepStart: "step", reply.StepFinish: "/step", reply.ToolCall: "call",
		reply.ToolResult: "result", reply.Source: "source", reply.Reasoning: "reasoning", reply.Text: "text", reply.Data: "data",
		reply.Error: "error", reply.Finish: "finish",
	}
	var out []string
	for _, e := range s.events {
		if n := names[e.Kind]; len(out) == 0 || out[len(out)-1] != n {
			out = append(out, n)
		}
	}
	return strings.Join(out, " ")
}

func (s *recorder) of(k reply.Kind) []reply.Event {
	var out []reply.Event
	for _, e := range s.events {
		if e.Kind == k {
			out = append(out, e)
		}
	}
	return out
}

// script is a scripted model: one entry for each call. The rewrite
// of follow-up questions has its own.
type script struct {
	rounds  []round
	rewrite string
	// rewriteHangs makes rewrites wait until they are given up, and rewrites
	// counts them.
	rewriteHangs bool
	rewrites     int
	prompts      []*Prompt
	calls        int
}

type round struct {
	reasoning string
	text      string
	calls     []ToolCall
	err       error
	reason    string
	size      int // of pieces, in bytes; 0: one
	do        func()
	answer    func(p *Prompt) string // instead of text
}

func (s *script) Name() string { return "scripted" }

func (s *script) Stream(ctx context.Context, p *Prompt, each func(*Delta) error) (*Completion, error) {
	if strings.HasPrefix(p.Messages[0].Content, "Rewrite") {
		s.rewrites++
		if s.rewriteHangs {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		if s.rewrite == "" {
			return nil, fmt.Errorf("no rewrite: %w", ErrModel)
		}
		return &Completion{Model: "scripted"}, each(&Delta{Text: []byte(s.rewrite)})
	}
	c := *p
	c.Messages = slices.Clone(p.Messages)
	s.prompts = append(s.prompts, &c)
	r := s.rounds[min(s.calls, len(s.rounds)-1)]
	s.calls++
	if r.do != nil {
		r.do()
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if r.reasoning != "" {
		if err := each(&Delta{Reasoning: []byte(r.reasoning)}); err != nil {
			return nil, err
		}
	}
	if r.answer != nil {
		r.text = r.answer(p)
	}
	for _, piece := range pieces(r.text, r.size) {
		if err := each(&Delta{Text: piece}); err != nil {
			return nil, err
		}
	}
	if r.err != nil {
		return nil, r.err
	}
	return &Completion{
		Model: "scripted", Reason: cmp.Or(r.reason, "stop"), ToolCalls: r.calls,
		Usage: reply.Usage{InputTokens: 100, OutputTokens: 10, Known: true},
	}, nil
}

// pieces splits a text into pieces of about size bytes.
func pieces(text string, size int) [][]byte {
	if size <= 0 {
		size = len(text)
	}
	var out [][]byte
	for len(text) > 0 {
		n := min(size, len(text))
		for n < len(text) && !utf8.RuneStart(text[n]) {
			n++
		}
		out = append(out, []byte(text[:n]))
		text = text[n:]
	}
	return out
}

func acme(m Model) *Assistant {
	return &Assistant{Site: Settings{Name: "acme", Title: "Acme", URL: "https://docs.acme.com", Language: "en"}, Search: docs(), Model: m}
}

func ask(question string, more ...reply.Message) *Input {
	return &Input{MessageID: "msg_1", ThreadID: "thr_1", Request: &reply.Request{
		Fingerprint: "anonymous", PageSize: 5,
		Messages: append(more, reply.Message{Role: reply.User, Text: question}),
	}}
}

func mustReply(t testing.TB, a *Assistant, in *Input) (*Result, *recorder) {
	t.Helper()
	rec := &recorder{}
	res, err := a.Reply(t.Context(), in, rec)
	if err != nil {
		t.Fatal(err)
	}
	return res, rec
}

// renderedLinks are the targets of the links of a Markdown text.
func renderedLinks(t testing.TB, text string) []string {
	t.Helper()
	var out bytes.Buffer
	if err := goldmark.New(goldmark.WithExtensions(extension.GFM)).Convert([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	var links []string
	for _, m := range regexp.MustCompile(`<a href="([^"]*)"`).FindAllStringSubmatch(out.String(), -1) {
		links = append(links, m[1])
	}
	return links
}

func userSaid(text string) reply.Message { return reply.Message{Role: reply.User, Text: text} }

func assistantSaid(text string, sources ...string) reply.Message {
	return reply.Message{Role: reply.Assistant, Text: text, Sources: sources}
}
