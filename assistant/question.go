package assistant

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"unicode"

	"github.com/caddy-docs/caddy-docs/assistant/asked"
	"github.com/caddy-docs/caddy-docs/assistant/reply"
	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/language"
	"github.com/caddy-docs/caddy-docs/short"
)

// inquiry is the question in its conversation.
type inquiry struct {
	asked       string
	words       string // of asked, that say what it is about
	attachments []reply.Attachment
	earlier     []reply.Message     // the conversation before, oldest first
	notes       []string            // the client's system and data messages
	page        *retrieval.Document // that the reader is on, nil if unknown
	language    language.Language
	terms       []term // of words, except those of lines that name an error
	rewritten   bool   // query is the model's
	leans       bool   // the question continues what was said before

	// query is what is searched for, and other too if it is not "": a question
	// is searched for alone and with its conversation, and as the model has
	// rewritten it.
	query retrieval.Query
	other string
	// pasted is the message with what is pasted into it, "" without that. It is
	// searched for if other is not.
	pasted string
}

// inquire reads a request: what is asked, in which conversation, and what to
// search for.
func (a *Assistant) inquire(ctx context.Context, in *Input) *inquiry {
	site, q := &a.Site, readMessages(in)
	var boost []string
	add := func(url string) (name string, ok bool) {
		name, ok = site.pageAt(url)
		ok = ok && url != ""
		if ok && len(boost) < maxBoost && !slices.Contains(boost, name) {
			boost = append(boost, name)
		}
		return name, ok
	}
	if name, ok := add(in.CurrentPath); ok {
		q.page, _ = a.Search.Page(ctx, name)
	}
	for i := range in.Context {
		add(in.Context[i].Path)
	}
	for _, m := range slices.Backward(q.earlier) {
		for _, s := range m.Sources {
			add(s)
		}
	}

	prefer := retrieval.Filter{Version: site.Version, Language: site.Language}
	if q.page != nil {
		prefer.Version = cmp.Or(q.page.Version, prefer.Version)
		prefer.Language = cmp.Or(q.page.Readers, q.page.Language, prefer.Language)
	}
	q.understand(language.Of(cmp.Or(in.Filter.Language, prefer.Language)))
	q.query = retrieval.Query{
		Text:     q.searchText(in.Context),
		Filter:   in.Filter,
		Prefer:   prefer,
		Boost:    boost,
		Question: true,
	}
	return q
}

// readMessages finds the question, the last message of the user, and the
// messages before it.
func readMessages(in *Input) *inquiry {
	q := &inquiry{}
	last := -1
	for i, m := range in.Messages {
		if m.Role == reply.User {
			last = i
		}
	}
	for i, m := range in.Messages {
		switch {
		case i == last:
			q.asked, q.attachments = strings.TrimSpace(m.Text), m.Attachments
		case m.Role == reply.Note:
			// Notes may follow the question: v1's data messages do.
			if m.Text != "" {
				q.notes = append(q.notes, m.Text)
			}
		case i < last:
			q.earlier = append(q.earlier, m)
		}
	}
	if len(q.earlier) == 0 {
		q.earlier = in.History
	}
	return q
}

// understand finds the question in what is asked, and its language. What is
// pasted is not the question if there is a question besides, or if it names an
// error.
func (q *inquiry) understand(fallback language.Language) {
	own, errors, asks := asked.Unpasted(q.asked)
	q.words = strings.TrimSpace(own + "\n" + errors)
	q.language = q.detect(fallback)
	q.terms = terms(short.Bytes(own, 4*maxSearchText), q.language)
	if !asks || len(distinct(q.terms)) < leastAsked {
		if errors == "" {
			q.words = q.asked
		}
		q.terms = terms(short.Bytes(q.words, 4*maxSearchText), q.language)
	}
	if len(q.words) < len(q.asked) {
		q.pasted = condense(q.asked)
	}
}

// maxBoost bounds the pages favoured: more would favour none.
const maxBoost = 8

// detect returns the question's language. A question without function words
// ("IPv6?") is in the language of the one before.
func (q *inquiry) detect(fallback language.Language) language.Language {
	for _, m := range slices.Backward(q.earlier) {
		if m.Role == reply.User {
			fallback = language.Detect(m.Text, fallback)
			break
		}
	}
	return language.Detect(cmp.Or(q.words, q.asked), fallback)
}

const (
	// maxSearchText bounds the text searched for, in bytes.
	maxSearchText = 1000
	// leastAsked is from how many terms words beside a paste are a question.
	leastAsked = 2
	// maxPerhaps is the most terms of a question that may continue the one
	// before though no word in it says so ("how long must the client wait?").
	maxPerhaps = 6
	// leastTerms is from how many terms a question may be complete by itself,
	// and leastPointing if it has a pointer ("What is the default port of the
	// admin API?").
	leastTerms    = 3
	leastPointing = 4
	// shownWords is how many words of what the reader sees join a question that
	// points at it. To any other question they would only add noise.
	shownWords = 10
	// followWords is how many words of the last question join a follow-up.
	followWords = 4
)

// searchText is the question and, if it refers to something said or shown
// before, terms of that: the nearer, the more of them. A question that points
// at nothing decides alone what is found, whatever the reader sees.
func (q *inquiry) searchText(shown []reply.Context) string {
	have := make(map[string]bool, len(q.terms))
	for _, t := range q.terms {
		have[t.stem] = true
	}
	text := condense(q.words)
	n := wordCount(q.words, len(have))
	leans := leansBack(q.words, n)
	if len(shown) == 0 && len(q.earlier) == 0 {
		return text
	}
	earlier := slices.DeleteFunc(slices.Clone(q.earlier), func(m reply.Message) bool { return m.Role == reply.User && isPleasantry(m.Text) })
	leans = leans && len(earlier) > 0
	q.leans = leans && len(q.earlier) > 0

	var b strings.Builder
	b.WriteString(text)
	add := func(from string, n int) {
		for _, t := range terms(short.Bytes(from, 8000), q.language) {
			if n > 0 && !have[t.stem] {
				n, have[t.stem] = n-1, true
				b.WriteString(" " + t.word)
			}
		}
	}
	if points(q.words, n) {
		for i := range shown {
			add(shown[i].Value, shownWords)
		}
	}
	plain := b.String()
	perhaps := len(earlier) > 0 && n <= maxPerhaps
	if leans || perhaps {
		// Half as many words for every turn further back.
		n := followWords
		for _, m := range slices.Backward(earlier) {
			if m.Role != reply.User || n == 0 {
				continue
			}
			before := len(have)
			add(m.Text, n)
			n /= 2
			if len(have)-before >= 2 && !leansBack(m.Text, wordCount(m.Text, len(terms(short.Bytes(m.Text, 2000), q.language)))) {
				break
			}
		}
	}
	plain, whole := short.Bytes(plain, maxSearchText), short.Bytes(b.String(), maxSearchText)
	if points := pointsBack(q.words); whole == plain || n < leastTerms || n < leastPointing && points {
		return whole // it can't be complete
	}
	q.other = whole
	return plain
}

// isPleasantry reports whether a text is thanks, agreement or a greeting.
func isPleasantry(text string) bool {
	words := wordsOf(text)
	for _, w := range words {
		if !pleasantries[w] && !asked.IsStopWord(w, language.English) {
			return false
		}
	}
	return len(words) > 0 && len(words) <= 12
}

// wordCount is the number of words that say something: n, the number of terms,
// or less in scripts without spaces, whose terms are pairs of characters.
func wordCount(text string, n int) int {
	chars := 0
	for _, r := range text {
		if asked.IsEastern(r) {
			chars++
		}
	}
	if chars < 4 {
		return n
	}
	return (n + 2) / 3
}

// condense shortens a long message to its beginning and end: the question is
// usually there.
func condense(asked string) string {
	asked = short.Line(asked)
	if len(asked) <= maxSearchText {
		return asked
	}
	return short.Bytes(asked, 400) + " " + strings.ToValidUTF8(asked[len(asked)-300:], "")
}

// leansBack reports whether a question with n terms needs what was said before:
// it is very short, begins like a continuation, or has a pronoun.
func leansBack(asked string, n int) bool {
	if n <= 2 || n > 8 {
		return n <= 2
	}
	return pointsBack(asked)
}

// pointsBack reports whether a question begins like a continuation, or has a
// pointer.
func pointsBack(asked string) bool {
	words := wordsOf(asked)
	for i, w := range words {
		if pointers[w] || i == 0 && continuations[w] || i == 1 && continuations[words[0]+" "+w] {
			return true
		}
	}
	return false
}

// points reports whether a question with n terms is about what the reader sees:
// it names nothing itself, or has a pronoun.
func points(asked string, n int) bool {
	if n <= 1 || n > 8 {
		return n <= 1
	}
	return slices.ContainsFunc(wordsOf(asked), func(w string) bool { return shownPointers[w] })
}

func wordsOf(asked string) []string {
	return strings.FieldsFunc(strings.ToLower(short.Bytes(asked, 400)), notInWord)
}

// notInWord reports whether a character of a lower-case text ends a word.
func notInWord(r rune) bool {
	return !(r == '\'' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 0x80 && (unicode.IsLetter(r) || unicode.IsMark(r)))
}

var (
	// continuations begin a question that continues the last one.
	continuations = asked.Set(
		"and, but, or, also, so, then, what about, how about, what if, why not, instead, otherwise, same, else, or else, anything else",
		"und, aber, oder, auch, was ist, wie ist, geht das, dann, sonst",
		"et, mais, ou, aussi, alors, sinon, et pour, qu'en",
		"y, pero, o, también, entonces, qué tal, e, mas, ou, também, então, ma, anche, allora, invece",
		"а, и, но, или, также, тогда, 那, 那么, でも, では, じゃあ, それ, 그럼, 그리고",
	)
	// pointers refer to something named before. Words that are mostly articles
	// or conjunctions in their language are left out.
	pointers = asked.Set(
		"it, its, that, this, these, those, them, they, one, ones, there, same, former, latter, instead, above, again, default, some, then, still, too, either, both, others, another",
		"es, das, dies, dieser, dieses, diese, davon, damit, dafür, dabei, dazu, darauf, dort, ihn, ihm, sie, denselben, dasselbe, stattdessen",
		"ça, cela, celui, celle, ceci, ceux, celles, lui, eux, y, en",
		"eso, esto, ese, esa, ello, ellos, ahí, lo, isso, isto, ele, ela, eles, aí, questo, quello, quella, ciò, esso, lì",
		"это, этот, эта, они, его, её, ее, их, там",
	)
	// pleasantries don't name a subject.
	pleasantries = asked.Set(
		"perfect, thank, thanks, thx, great, cool, nice, awesome, good, got, works, worked, working, wonderful, excellent, lovely, ok, okay, alright, sure, yes, no, hi, hello, hey, fine, right, super, helpful, understood, brilliant, cheers, appreciated, see, much, lot",
		"danke, vielen, dank, prima, toll, gut, klasse, verstanden, hallo, ja, nein, schön, merci, beaucoup, parfait, génial, bien, bonjour, oui, non, gracias, muchas, perfecto, genial, vale, hola, sí, obrigado, obrigada, perfeito, ótimo, grazie, mille, perfetto, ottimo, ciao",
		"спасибо, отлично, понятно, хорошо, да, нет, привет, большое, 谢谢, 好的, 明白了, 太好了, 谢谢你, ありがとう, ありがとうございます, なるほど, わかりました, 감사합니다, 고마워요, 알겠습니다, 네",
	)
	// shownPointers refer to what the reader sees.
	shownPointers = asked.Set(
		"this, these, that, those, it, its, above, here, dies, dieser, dieses, diese, diesen, hier",
		"ceci, cela, ça, cet, cette, ces, ici, esto, este, esta, eso, aquí, isto, isso, esse, essa, questo, questa, qui",
		"это, этот, эта, эти, этого, здесь, 这, 这个, 这段, これ, この, 이, 이것",
	)
)
