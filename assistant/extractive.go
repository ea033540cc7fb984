package assistant

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/caddy-docs/caddy-docs/assistant/reply"
)

// What an extractive reply holds. It quotes, so it has to be short enough to
// be read as an answer and long enough to be one.
const (
	quotedPassages = 4
	leastPassages  = 2
	quotedShare    = .55 // of the best score, below which a passage is not quoted
	quoteChars     = 520 // of prose from one passage
	quoteCodes     = 2   // code blocks from one passage
	quoteLines     = 24  // of a code block
)

// When the documentation answers, going by the best hit's score (0–1, see
// retrieval.Hit) and by the share of the question's telling words that stand
// in one passage.
const (
	scoreAnswers   = .6  // whatever the words: they may be synonyms
	scoreMay       = .34 // least score of an answer whose words are there
	coverAnswers   = .6
	scorePartly    = .42 // least score of half an answer, whatever the words
	scoreNear      = .3
	coverMay       = .55
	scoreHopeless  = .2 // what nonsense stays below
	nearestPages   = 3
	extractiveName = "extractive"
)

// extract writes the extractive reply: an opening sentence, and the best
// passages, each with its heading as a link and the sentences, list items and
// code that answer. lead comes before it.
func (r *run) extract(lead string) {
	ended := r.step("extract")
	defer ended(nil)
	r.res.Extractive = true
	r.res.Model = extractiveName
	r.check = newChecker(context.Background(), r)

	best := r.byScore()
	asked := r.askedTerms()
	answered := answers(best, asked, r.q.language)
	r.res.Answered = answered

	lang := r.q.language
	var b strings.Builder
	if lead != "" {
		b.WriteString(lead + "\n\n")
	}
	if answered == "no" {
		if len(best) == 0 {
			b.WriteString(lang.say(notFoundAtAll))
		} else {
			b.WriteString(lang.say(notFound) + "\n")
			seen := make(map[string]bool)
			for i := range best {
				if d := best[i].document; !seen[d.Page] && len(seen) < nearestPages {
					seen[d.Page] = true
					b.WriteString("\n- " + linkTo(cmp.Or(d.Title, d.Page, d.URL), d.URL))
				}
			}
		}
		b.WriteString(r.support())
		r.say(b.String())
		return
	}

	quotes := quote(best, asked, lang)
	switch {
	case answered == "partly":
		b.WriteString(lang.say(foundPartly))
	case len(quotes) == 1:
		b.WriteString(lang.say(foundOne))
	default:
		b.WriteString(lang.say(foundSome))
	}
	for _, q := range quotes {
		b.WriteString("\n\n**" + linkTo(q.passage.title, q.passage.url) + "**")
		for _, t := range q.blocks {
			b.WriteString("\n\n" + t)
		}
	}
	if answered == "partly" {
		b.WriteString(r.support())
	}
	r.say(b.String())
}

// byScore returns the passages, best first.
func (r *run) byScore() []passage {
	best := slices.Clone(r.passages)
	slices.SortStableFunc(best, func(a, b passage) int { return cmp.Compare(b.score, a.score) })
	return best
}

// say sends Markdown through the check: what pages hold is not ours either.
func (r *run) say(markdown string) {
	r.check.write(reply.Escape(nil, markdown))
	r.check.close()
}

// askedTerms are the telling words of what is searched for: those of the
// question, and those it leans on.
func (r *run) askedTerms() []term {
	ts := terms(clip(r.q.asked, 2000), r.q.language)
	if len(ts) < 2 {
		ts = terms(r.q.query.Text, r.q.language)
	}
	seen := make(map[string]bool, len(ts))
	return slices.DeleteFunc(ts, func(t term) bool {
		if seen[t.stem] {
			return true
		}
		seen[t.stem] = true
		return false
	})
}

// answers judges whether passages, best first, answer: yes, partly or no.
func answers(best []passage, asked []term, l Language) string {
	if len(best) == 0 || best[0].score < scoreHopeless {
		return "no"
	}
	cover := 0.0
	missing := false // a name that was asked for and that no passage holds
	found := make(map[string]bool)
	for i := range best[:min(3, len(best))] {
		have := stems(best[i].title+"\n"+best[i].text, l)
		sum, all := 0.0, 0.0
		for _, t := range asked {
			w := 1.0
			if t.name {
				w = 2
			}
			all += w
			if have[t.stem] {
				sum += w
				found[t.stem] = true
			}
		}
		if all > 0 {
			cover = max(cover, sum/all)
		}
	}
	for _, t := range asked {
		if t.name && !found[t.stem] && (strings.ContainsAny(t.word, "_./:@$") || t.word == strings.ToUpper(t.word)) {
			missing = true
		}
	}
	score := best[0].score
	switch {
	case missing && cover < coverAnswers && score < scoreAnswers:
		return "no"
	case !missing && (score >= scoreAnswers || score >= scoreMay && cover >= coverAnswers):
		return "yes"
	case score >= scorePartly || score >= scoreNear && cover >= coverMay:
		return "partly"
	}
	return "no"
}

func stems(text string, l Language) map[string]bool {
	m := make(map[string]bool)
	for _, t := range terms(text, l) {
		m[t.stem] = true
	}
	return m
}

// quotation is what is quoted of a passage.
type quotation struct {
	passage *passage
	blocks  []string
}

// piece is a sentence, a list item or a code block.
type piece struct {
	passage, block int
	text           string
	code, item     bool
	words          map[string]bool
	score          float64
}

// quote chooses the passages to quote, and what of them.
func quote(best []passage, asked []term, l Language) []quotation {
	var ps []piece
	for i := range best[:min(quotedPassages, len(best))] {
		if i >= leastPassages && best[i].score < quotedShare*best[0].score {
			break
		}
		ps = append(ps, split(i, best[i].text, l)...)
	}
	// A word that every sentence holds tells nothing about which one answers.
	frequency := make(map[string]int)
	for i := range ps {
		for w := range ps[i].words {
			frequency[w]++
		}
	}
	for i := range ps {
		p := &ps[i]
		for _, t := range asked {
			if p.words[t.stem] {
				w := math.Log(1 + float64(len(ps))/float64(frequency[t.stem]))
				if t.name {
					w *= 1.5
				}
				p.score += w
			}
		}
		// The first sentences of a section say what it is about.
		if p.block == 0 {
			p.score += .3
		}
	}
	var out []quotation
	for i := range best[:min(quotedPassages, len(best))] {
		var own []*piece
		for j := range ps {
			if ps[j].passage == i {
				own = append(own, &ps[j])
			}
		}
		if len(own) == 0 {
			continue
		}
		if blocks := pick(own); len(blocks) > 0 {
			out = append(out, quotation{&best[i], blocks})
		}
	}
	return out
}

// pick takes the pieces of a passage that say most, in the passage's order,
// and joins them to paragraphs, lists and code blocks again.
func pick(own []*piece) []string {
	order := slices.Clone(own)
	slices.SortStableFunc(order, func(a, b *piece) int { return cmp.Compare(b.score, a.score) })
	chosen := make(map[*piece]bool)
	chars, codes := 0, 0
	take := func(p *piece) {
		if chosen[p] {
			return
		}
		if p.code {
			if codes < quoteCodes {
				chosen[p] = true
				codes++
			}
			return
		}
		if n := utf8.RuneCountInString(p.text); chars == 0 || chars+n <= quoteChars {
			chosen[p] = true
			chars += n
		}
	}
	after := make(map[*piece]*piece, len(own))
	for i := range own[1:] {
		after[own[i]] = own[i+1]
	}
	for _, p := range order[:min(4, len(order))] {
		if p.score > 0 || len(chosen) == 0 {
			take(p)
			if next := after[p]; chosen[p] && next != nil && next.code {
				take(next) // what a sentence introduces
			}
		}
	}
	for i, p := range own {
		if !chosen[p] || i+1 >= len(own) {
			continue
		}
		switch next := own[i+1]; {
		case strings.HasSuffix(p.text, ":") || strings.HasSuffix(p.text, "："):
			for _, n := range own[i+1:] {
				if n.block != next.block {
					break
				}
				take(n)
			}
		}
	}
	// Code without a word about it, and a list's items without what they are
	// items of, are hard to read.
	for i, p := range own {
		if chosen[p] && (p.code || p.item) && i > 0 && !own[i-1].code && own[i-1].block != p.block {
			take(own[i-1])
		}
	}
	// A colon that introduces nothing is worse than no sentence.
	for i, p := range own {
		if chosen[p] && len(chosen) > 1 && strings.HasSuffix(p.text, ":") && (i+1 == len(own) || !chosen[own[i+1]]) {
			delete(chosen, p)
		}
	}
	var out []string
	last := -1
	for _, p := range own {
		if !chosen[p] {
			continue
		}
		switch {
		case p.code:
			out = append(out, shorten(p.text))
			last = -1
		case p.block == last && p.item:
			out[len(out)-1] += "\n" + p.text
		case p.block == last:
			sep := " "
			if r, _ := utf8.DecodeLastRuneInString(out[len(out)-1]); r > 0x3000 {
				sep = ""
			}
			out[len(out)-1] += sep + p.text
		default:
			out = append(out, p.text)
			last = p.block
		}
	}
	return out
}

// shorten cuts a code block at a line, saying so in the block.
func shorten(code string) string {
	lines := strings.Split(code, "\n")
	if len(lines) <= quoteLines+2 {
		return code
	}
	return strings.Join(append(lines[:quoteLines+1:quoteLines+1], "…", lines[len(lines)-1]), "\n")
}

// split splits a passage into pieces.
func split(passage int, text string, l Language) []piece {
	var out []piece
	add := func(block int, text string, code, item bool) {
		if text = strings.TrimRightFunc(text, unicode.IsSpace); strings.TrimSpace(text) == "" || text == "[…]" {
			return
		}
		out = append(out, piece{passage: passage, block: block, text: text, code: code, item: item, words: stems(text, l)})
	}
	for i, b := range splitBlocks(text) {
		switch {
		case b.code:
			add(i, b.text, true, false)
		case strings.HasPrefix(b.text, "#"): // a heading within: context, not an answer
		default:
			var prose []string
			item := ""
			flush := func() {
				if item != "" {
					add(i, item, false, true)
				}
				for _, s := range sentences(strings.Join(prose, " ")) {
					add(i, s, false, false)
				}
				item, prose = "", prose[:0]
			}
			for line := range strings.SplitSeq(b.text, "\n") {
				trimmed := strings.TrimSpace(line)
				switch {
				case strings.HasPrefix(trimmed, "- "), isNumbered(trimmed):
					flush()
					item = trimmed
				case item != "":
					item += " " + trimmed
				default:
					prose = append(prose, trimmed)
				}
			}
			flush()
		}
	}
	return out
}

func isNumbered(line string) bool {
	n := 0
	for n < len(line) && line[n] >= '0' && line[n] <= '9' {
		n++
	}
	return n > 0 && n < 4 && strings.HasPrefix(line[n:], ". ")
}

// sentences splits prose at the ends of sentences. A full stop inside code
// or an abbreviation is none: what follows it must look like a beginning.
func sentences(prose string) []string {
	var out []string
	from := 0
	code := false
	for i, r := range prose {
		switch r {
		case '`':
			code = !code
		case '。', '！', '？':
			end := i + utf8.RuneLen(r)
			out = append(out, strings.TrimSpace(prose[from:end]))
			from = end
		case '.', '!', '?':
			rest := prose[i+1:]
			if code || len(rest) < 2 || rest[0] != ' ' {
				continue
			}
			next, _ := utf8.DecodeRuneInString(rest[1:])
			word := prose[from:i]
			if j := strings.LastIndexByte(word, ' '); j >= 0 {
				word = word[j+1:]
			}
			if unicode.IsLower(next) || r == '.' && (len(word) < 2 || strings.Contains(word, ".")) {
				continue // "e.g. this", "v. 2"
			}
			out = append(out, strings.TrimSpace(prose[from:i+1]))
			from = i + 1
		}
	}
	if rest := strings.TrimSpace(prose[from:]); rest != "" {
		out = append(out, rest)
	}
	return out
}
