package assistant

import (
	"cmp"
	"context"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/caddy-docs/caddy-docs/assistant/reply"
	"github.com/caddy-docs/caddy-docs/retrieval"
)

// inquiry is the question in its conversation.
type inquiry struct {
	asked       string
	attachments []reply.Attachment
	earlier     []utterance // the conversation before, oldest first
	notes       []string    // the client's system and data messages
	language    Language
	own         []term // the telling words of asked, while they are at hand
	// page is the page that the reader is on, nil if unknown.
	page *retrieval.Document
	// leans tells that the question goes on from what was said before.
	leans bool
	// query is what is searched for; other, where not "", is searched for
	// too: a question that could stand for itself, or go on from the one
	// before, is searched for alone and with its conversation.
	query retrieval.Query
	other string
}

// utterance is something said earlier.
type utterance struct {
	byUser  bool
	text    string
	sources []string
}

// question reads the request: what is asked, in which conversation, and what
// to search for. Rewriting by the model is done later, by rewrite.
func (r *run) question(ctx context.Context) *inquiry {
	in := r.in
	q := &inquiry{}
	last := -1
	for i := range in.Messages {
		if in.Messages[i].Role == reply.User {
			last = i
		}
	}
	for i := 0; i <= last; i++ {
		m := &in.Messages[i]
		switch {
		case i == last:
			q.asked, q.attachments = strings.TrimSpace(m.Text), m.Attachments
		case m.Role == reply.Note:
			if m.Text != "" {
				q.notes = append(q.notes, m.Text)
			}
		default:
			q.earlier = append(q.earlier, utterance{byUser: m.Role == reply.User, text: m.Text, sources: m.Sources})
		}
	}
	// Notes may follow the question: v1's data messages do.
	for i := last + 1; i < len(in.Messages); i++ {
		if m := &in.Messages[i]; m.Role == reply.Note && m.Text != "" {
			q.notes = append(q.notes, m.Text)
		}
	}
	if len(q.earlier) == 0 {
		for _, t := range in.History {
			q.earlier = append(q.earlier, utterance{byUser: true, text: t.Question},
				utterance{text: t.Answer, sources: t.Sources})
		}
	}

	site := &r.a.Site
	var boost []string
	if name, ok := pageName(in.CurrentPath, site.URL); ok && in.CurrentPath != "" {
		boost = append(boost, name)
		q.page, _ = r.a.Search.Page(ctx, name)
	}
	for i := range in.Context {
		if name, ok := pageName(in.Context[i].Path, site.URL); ok && in.Context[i].Path != "" {
			boost = append(boost, name)
		}
	}
	for i := len(q.earlier) - 1; i >= 0 && len(boost) < maxBoost; i-- {
		for _, s := range q.earlier[i].sources {
			if name, ok := pageName(s, site.URL); ok && !slices.Contains(boost, name) && len(boost) < maxBoost {
				boost = append(boost, name)
			}
		}
	}

	prefer := retrieval.Filter{Version: site.Version, Language: site.Language}
	if q.page != nil {
		prefer.Version = cmp.Or(q.page.Version, prefer.Version)
		prefer.Language = cmp.Or(q.page.Language, prefer.Language)
	}
	q.language = q.detect(cmp.Or(in.Filter.Language, prefer.Language))
	q.query = retrieval.Query{
		Text:     q.searchText(in.Context),
		Filter:   retrieval.Filter{Version: in.Filter.Version, Language: in.Filter.Language, Tag: in.Filter.Tag},
		Prefer:   prefer,
		Boost:    boost,
		Question: true,
	}
	return q
}

// terms are the telling words of what is asked.
func (q *inquiry) terms() []term {
	if q.own == nil {
		q.own = terms(clip(q.asked, 4*maxSearchText), q.language)
	}
	return q.own
}

// maxBoost bounds the pages favoured: more would favour none.
const maxBoost = 8

// detect tells the question's language. A question without a telling word
// ("IPv6?") is in the language of the one before.
func (q *inquiry) detect(fallback string) Language {
	for _, u := range slices.Backward(q.earlier) {
		if u.byUser {
			fallback = string(detectLanguage(clip(u.text, 2000), fallback))
			break
		}
	}
	return detectLanguage(clip(q.asked, 2000), fallback)
}

// The longest text searched for, in bytes: a pasted log is no query.
const maxSearchText = 1000

// searchText is the question and, where it leans on something said or shown
// before, the telling words of that: the nearer, the more of them.
func (q *inquiry) searchText(shown []reply.Context) string {
	own := q.terms()
	have := make(map[string]bool, len(own))
	for _, t := range own {
		have[t.stem] = true
	}
	text := condense(q.asked)
	leans := leansBack(q.asked, len(have))
	if len(shown) == 0 && len(q.earlier) == 0 {
		return text
	}
	q.leans = leans && len(q.earlier) > 0

	var b strings.Builder
	b.WriteString(text)
	add := func(from string, n int) {
		for _, t := range telling(clip(from, 8000), q.language, have, n) {
			b.WriteByte(' ')
			b.WriteString(t.word)
		}
	}
	for i := range shown {
		n := 4
		if leans || len(have) < 4 {
			n = 10
		}
		add(shown[i].Value, n)
	}
	plain := b.String()
	perhaps := !leans && len(have) <= maxPerhaps && len(q.earlier) > 0
	if leans || perhaps {
		// Half as many words for every turn further back. Once a turn has
		// given its own subject, what lies before it is likely another one.
		n := followWords
		for i := len(q.earlier) - 1; i >= 0 && n > 0; i-- {
			if u := q.earlier[i]; u.byUser {
				before := len(have)
				add(u.text, n)
				n /= 2
				if len(have)-before >= 2 && !leansBack(u.text, len(terms(clip(u.text, 2000), q.language))) {
					break
				}
			}
		}
	}
	plain, whole := clip(plain, maxSearchText), clip(b.String(), maxSearchText)
	if perhaps && whole != plain {
		q.other = whole
		return plain
	}
	return whole
}

// maxPerhaps is the most telling words of a question that may go on from the
// one before though nothing in it says so ("how long must the client wait?").
const maxPerhaps = 6

// followWords is how many words of the last question join a follow-up.
const followWords = 8

// telling returns up to n terms of a text that are not in have, identifiers
// first, in the text's order, and adds them to have.
func telling(text string, l Language, have map[string]bool, n int) []term {
	ts := terms(text, l)
	var out []term
	for _, names := range []bool{true, false} {
		for _, t := range ts {
			if len(out) == n {
				return out
			}
			if t.name == names && !have[t.stem] {
				have[t.stem] = true
				out = append(out, t)
			}
		}
	}
	return out
}

// condense shortens a long question to its first sentences' words; others
// are searched for as they are.
func condense(asked string) string {
	asked = oneLine(asked)
	if len(asked) <= maxSearchText {
		return asked
	}
	// The question proper usually ends or begins a long message; the middle
	// is logs and code.
	head, tail := clip(asked, 400), asked[len(asked)-300:]
	for !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	return head + " " + tail
}

// leansBack tells whether a question with n telling words needs what was
// said before: it is very short, opens like a continuation, or points.
func leansBack(asked string, n int) bool {
	if n <= 2 {
		return true
	}
	if n > 8 {
		return false
	}
	first, i := "", 0
	for w := range strings.FieldsFuncSeq(strings.ToLower(clip(asked, 400)), notInWord) {
		switch {
		case i == 0 && continuations[w], i == 1 && continuations[first+" "+w], pointers[w]:
			return true
		case i == 0:
			first = w
		}
		i++
	}
	return false
}

// notInWord tells whether a character of a text in small letters ends a word.
func notInWord(r rune) bool {
	return !(r == '\'' || r == '_' || r >= 0x80 || r >= '0' && r <= '9' || r >= 'a' && r <= 'z')
}

func wordSet(lists ...string) map[string]bool {
	m := make(map[string]bool)
	for _, l := range lists {
		for w := range strings.SplitSeq(l, ",") {
			m[strings.TrimSpace(w)] = true
		}
	}
	return m
}

var (
	// continuations open a question that goes on from the last one.
	continuations = wordSet(
		"and, but, or, also, so, then, what about, how about, what if, why not, instead, otherwise, same, else, or else, anything else",
		"und, aber, oder, auch, was ist, wie ist, geht das, dann, sonst",
		"et, mais, ou, aussi, alors, sinon, et pour, qu'en",
		"y, pero, o, también, entonces, qué tal, e, mas, ou, também, então, ma, anche, allora, invece",
		"а, и, но, или, также, тогда, 那, 那么, でも, では, じゃあ, それ, 그럼, 그리고",
	)
	// pointers stand for something named before. Words that are mostly
	// articles or conjunctions in their language are left out.
	pointers = wordSet(
		"it, its, that, this, these, those, them, they, one, ones, there, same, former, latter, instead, above, again, default, some, then, still, too, either, both, others, another",
		"es, das, dies, dieser, dieses, diese, davon, damit, dafür, dort, denselben, dasselbe, stattdessen",
		"ça, cela, celui, celle, ceci, ceux, celles, lui, eux, y, en",
		"eso, esto, ese, esa, ello, ellos, ahí, isso, isto, ele, ela, eles, aí, questo, quello, quella, ciò, esso, lì",
		"это, этот, эта, они, его, её, ее, их, там",
	)
)

// pageName returns the page that an address or path of the site names: its
// path below the site's base, without extension, query, fragment and
// "/index". ok is false for what can't be of this site.
func pageName(address, base string) (name string, ok bool) {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil {
		return "", false
	}
	p := u.Path
	b, _ := url.Parse(base)
	if u.Host != "" || u.Scheme != "" {
		if u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "" {
			return "", false
		}
		if base != "" && (b == nil || b.Host != "" && !strings.EqualFold(u.Host, b.Host)) {
			return "", false
		}
	}
	p = path.Clean("/" + p)
	if b != nil {
		if bp := strings.TrimSuffix(path.Clean("/"+b.Path), "/"); bp != "" {
			if rest, found := strings.CutPrefix(p, bp); found && (rest == "" || rest[0] == '/') {
				p = rest
			}
		}
	}
	p = strings.Trim(p, "/")
	for _, ext := range []string{".html", ".htm", ".mdx", ".md"} {
		if rest, found := strings.CutSuffix(p, ext); found {
			p = rest
			break
		}
	}
	if p == "index" {
		return "", true
	}
	return strings.TrimSuffix(p, "/index"), true
}

// clip returns the first n bytes of s at most, cut between characters.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
