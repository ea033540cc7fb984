package answers

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/caddy-docs/caddy-docs/assistant"
	"github.com/caddy-docs/caddy-docs/assistant/reply"
	"github.com/caddy-docs/caddy-docs/caddytest"
	"github.com/caddy-docs/caddy-docs/caddytest/stream"
	"github.com/caddy-docs/caddy-docs/retrieval/embedded"
)

// sink keeps a reply's text and counts what else came.
type sink struct {
	text    []byte // escaped
	tools   int
	sources []string
	spent   time.Duration // within the sink, to be taken off
}

func (s *sink) Send(e *reply.Event) error {
	at := time.Now()
	switch e.Kind {
	case reply.Text:
		s.text = append(s.text, e.Text...)
	case reply.ToolCall:
		s.tools++
	case reply.Source:
		s.sources = append(s.sources, e.URL)
	}
	s.spent += time.Since(at)
	return nil
}

func (s *sink) Flush() error { return nil }

func (s *sink) answer() string { return string(s.text) }

func (s *suite) assistant(m assistant.Model) *assistant.Assistant {
	return &assistant.Assistant{
		Site: assistant.Settings{
			Name: "manual", Title: "caddy-docs", URL: siteURL, Language: "en",
			SupportURL: supportURL, AllowLinks: []string{allowedHost}, PublicURL: publicURL(s.index),
		},
		Search: s.index, Model: m,
	}
}

// publicURL knows all pages of an index.
func publicURL(x *embedded.Index) func(page string) string {
	urls := map[string]string{}
	for _, d := range x.Documents() {
		urls[d.Page] = d.URL
	}
	return func(page string) string { return urls[page] }
}

func asking(question string, before ...reply.Message) *assistant.Input {
	return &assistant.Input{MessageID: "m", Request: &reply.Request{
		Fingerprint: "anonymous", PageSize: 5, Messages: append(before, reply.Message{Role: reply.User, Text: question}),
	}}
}

// tally sums up a character's replies.
type tally struct {
	replies, links, allowed       int
	missing, foreign, images, tag int
	blank, tools                  int
	answered                      map[string]int
	examples                      []string
}

func (t *tally) add(v *verdict, answer string) {
	t.replies++
	t.links += v.good
	t.allowed += v.allowed
	t.missing += len(v.missing)
	t.foreign += len(v.foreign)
	t.images += len(v.images)
	t.tag += len(v.tags)
	if strings.TrimSpace(answer) == "" {
		t.blank++
	}
	if v.bad() > 0 && len(t.examples) < 3 {
		t.examples = append(t.examples, fmt.Sprintf("%v %v %v %v in %q", v.missing, v.foreign, v.images, v.tags, answer))
	}
}

// adversarial tests the characters in this process.
func (s *suite) adversarial(ctx context.Context) error {
	tallies := make([]tally, len(characters))
	mostRounds := 0
	for i := range s.replies {
		n := i % len(characters)
		p := &puppet{scripted: characters[n], rnd: s.rnd}
		a := s.assistant(p)
		out := &sink{}
		if _, err := a.Reply(ctx, asking(s.conversations[i%len(s.conversations)].Outright), out); err != nil {
			return fmt.Errorf("reply %d of the %s: %w", i, p.name, err)
		}
		mostRounds = max(mostRounds, p.rounds)
		v := judge(out.answer(), s.pages)
		tallies[n].add(&v, out.answer())
		tallies[n].tools += out.tools
	}
	s.tallied(fmt.Sprintf("%d replies", s.replies), tallies)
	s.row("most calls of a model for one reply", fmt.Sprint(mostRounds), "4", mostRounds <= 4)
	return nil
}

func (s *suite) tallied(what string, tallies []tally) {
	var all tally
	for i, t := range tallies {
		all.replies += t.replies
		all.links += t.links
		all.missing += t.missing
		all.foreign += t.foreign
		all.images += t.images
		all.tag += t.tag
		all.blank += t.blank
		s.row("  "+characters[i].name, fmt.Sprintf("%d replies, %d links, %d to allowed hosts, %d tool calls", t.replies, t.links, t.allowed, t.tools), "", true)
		for _, e := range t.examples {
			fmt.Fprintf(s.table, "  %.1000s\t\t\t\n", e)
		}
	}
	s.row(what+": links to pages or anchors that don't exist", fmt.Sprintf("%d of %d", all.missing, all.links+all.missing), "0", all.missing == 0)
	s.row(what+": links to foreign hosts", fmt.Sprint(all.foreign), "0", all.foreign == 0)
	s.row(what+": images", fmt.Sprint(all.images), "0", all.images == 0)
	s.row(what+": HTML that renders", fmt.Sprint(all.tag), "0", all.tag == 0)
	s.row(what+": blank answers", fmt.Sprint(all.blank), "0", all.blank == 0)
}

// perCharacter is the number of replies of each character through Caddy, half
// of them in each protocol.
const perCharacter = 20

// throughCaddy tests the characters through a real Caddy, over HTTP.
func (s *suite) throughCaddy(ctx context.Context) error {
	tallies := make([]tally, len(characters))
	for n := range characters {
		s.caddy.model.Answer(characters[n].serve(rand.New(rand.NewPCG(s.seed, uint64(n)))))
		for i := range perCharacter {
			path, read := "/v2/assistant/manual/message", stream.ReadV2
			if i%2 == 1 {
				path, read = "/v1/assistant/manual/message", stream.ReadV1
			}
			r, err := s.caddy.post(ctx, path, caddytest.Question(s.conversations[(n*perCharacter+i)%len(s.conversations)].Outright, nil))
			if err != nil {
				return err
			}
			if r.status != http.StatusOK {
				return fmt.Errorf("asking the %s: %d %s", characters[n].name, r.status, r.body)
			}
			got, err := read(r.body)
			if err != nil {
				return fmt.Errorf("a client refuses the %s's reply: %w", characters[n].name, err)
			}
			verdict := judge(got.Text, s.pages)
			tallies[n].add(&verdict, got.Text)
			tallies[n].tools += len(got.Tools)
		}
	}
	s.tallied(fmt.Sprintf("%d through Caddy", perCharacter*len(characters)), tallies)
	return nil
}

// checking measures the cost of the link check, and the tokens that it holds
// back, with a harmless model.
func (s *suite) checking(ctx context.Context) error {
	var took []time.Duration
	outside, held, longest, tokens := 0, 0, 0, 0
	kept, written := 0, 0
	p := &puppet{scripted: characters[0], rnd: s.rnd, tokens: true}
	a := s.assistant(p) // one, as a site has: what it makes once is not a reply's cost
	for i := range 5 * len(s.conversations) {
		var spent time.Duration
		out := &sink{}
		var at time.Time
		var sinkAt time.Duration
		text := ""
		open := 0                  // tokens since the first that is held back
		depth, address := 0, false // inside a link
		p.observe = func(piece string, after bool) {
			if !after {
				at, sinkAt = time.Now(), out.spent
				return
			}
			spent += time.Since(at) - (out.spent - sinkAt)
			tokens++
			text += piece
			inside := depth > 0 || address
			for j := range len(piece) {
				switch piece[j] {
				case '[':
					depth++
				case ']':
					depth--
				case '(':
					address = address || j > 0 && piece[j-1] == ']' || j == 0 && strings.HasSuffix(strings.TrimSuffix(text, piece), "]")
				case ')':
					address = false
				}
				inside = inside || depth > 0 || address || piece[j] == ']'
			}
			if inside {
				open = 0
				return
			}
			outside++
			if got := out.answer(); len(got) < len(text) {
				held++
				open++
				longest = max(longest, open)
				return
			}
			open = 0
		}
		if _, err := a.Reply(ctx, asking(s.conversations[i%len(s.conversations)].Outright), out); err != nil {
			return err
		}
		took = append(took, spent)
		v := judge(out.answer(), s.pages)
		kept += v.good
		written += len(p.last.passages())
	}
	slices.Sort(took)
	var sum time.Duration
	for _, t := range took {
		sum += t
	}
	mean := sum / time.Duration(len(took))
	s.row("links of the obedient model that stay links", fmt.Sprintf("%d of %d", kept, written), "all", kept == written)
	s.time(fmt.Sprintf("time of checking a reply (median of %d, %d tokens each)", len(took), tokens/len(took)), fmt.Sprintf("%.3f ms, mean %.3f ms", ms(took[len(took)/2]), ms(mean)), "1 ms", took[len(took)/2] <= time.Millisecond)
	s.row("tokens outside links that wait for a later one", fmt.Sprintf("%d of %d, %d at most", held, outside, longest), "0", held == 0)
	return nil
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
