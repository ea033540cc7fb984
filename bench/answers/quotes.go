package answers

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// question is a question and the lines of a file that answer it: ranges such as
// "12-15,20". With several, each of them answers. Without any, the site does
// not answer.
//
// The rule for marking: the question is asked as a reader would who hasn't seen
// the page. The lines are the smallest part of the page that answers it without
// the rest: a sentence with its paragraph if it needs that, an item of a list,
// or code with the sentence that introduces it. Lines are marked by reading and
// before the assistant was asked.
type question struct {
	Site     string   `json:"site"`
	Path     string   `json:"path"`
	Lines    []string `json:"lines"`
	Question string   `json:"question"`
	// Facts are for questions without lines: texts of the page that the answer
	// must have, "|" between alternatives.
	Facts []string `json:"facts"`
	// Also are other places that answer.
	Also []question `json:"also"`
}

// target is a block that answers, or facts that an answer must have, and the
// sections that have them.
type target struct {
	pairs    map[string]int
	all      int
	facts    []string
	document *retrieval.Document
	sections []string // URLs
}

// quoteTally sums up the replies of one part.
type quoteTally struct {
	questions, points    int
	byPoints             [4]int
	unanswerable         int
	yes, wrong, wrongYes int
	unanswerableYes      int
	falseNo              int
	quotes, chars        int
}

const (
	publicParts = 7

	whole      = .85 // of a block's pairs of words, to be quoted whole
	mostPoints = 3
)

// quotes asks all questions without a model and gives points: 3 if the answer
// is there whole, in a quote or in the line of a link, 2 if another part of its
// section is quoted or its section is one of the first two that are linked, unless
// the answer claims to be in the quote, 1 if its page is linked.
func (s *suite) quotes(ctx context.Context, out io.Writer, sites map[string]*publicSite, worst bool) error {
	questions, err := readPublic[question]("questions.jsonl")
	if err != nil {
		return err
	}
	var parts [publicParts]quoteTally
	bySite := map[string]*quoteTally{}
	var misses []string
	for _, q := range questions {
		site := sites[q.Site]
		if site == nil {
			continue // of another part
		}
		targets, err := site.targets(&q)
		if err != nil {
			return err
		}
		got := &sink{}
		res, err := site.assistant(nil).Reply(ctx, asking(q.Question), got)
		if err != nil {
			return fmt.Errorf("asking %q: %w", q.Question, err)
		}
		a := parseAnswer(got.answer())
		points := a.points(targets, res.Answered)
		if bySite[q.Site] == nil {
			bySite[q.Site] = &quoteTally{}
		}
		for _, t := range []*quoteTally{&parts[site.Part-1], bySite[q.Site]} {
			t.add(&a, points, res.Answered, len(targets) > 0)
		}
		if worst && (len(targets) == 0 && res.Answered != "no" || len(targets) > 0 && points < mostPoints) {
			misses = append(misses, fmt.Sprintf("== %s: %q: %d points, answered %s, %s %v\n%s", q.Site, q.Question, points, res.Answered, q.Path, q.Lines, got.answer()))
		}
	}
	s.table = tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	for i, name := range []string{"tuned on", "tuned on", "tuned on", "held out", "held out", "asked once", "asked once"} {
		t := &parts[i]
		if t.questions == 0 {
			continue
		}
		fmt.Fprintf(s.table, "\nANSWERS WITHOUT A MODEL, %d questions, %d of them unanswerable, part %d, %s\tMEASURED\tTARGET\t\n", t.questions+t.unanswerable, t.unanswerable, i+1, name)
		n, deserved := float64(t.questions), float64(t.yes-t.wrongYes)/float64(max(1, t.yes))
		s.row("points", fmt.Sprintf("%d of %d, %.3f", t.points, mostPoints*t.questions, float64(t.points)/(mostPoints*n)), "", true)
		s.row("full, half, link, wrong", fmt.Sprint(t.byPoints[3], t.byPoints[2], t.byPoints[1], t.byPoints[0]), "", true)
		s.share("full", float64(t.byPoints[3])/n, .45)
		s.share("full or half", float64(t.byPoints[3]+t.byPoints[2])/n, .65)
		s.share("wrong", float64(t.byPoints[0])/n, -.15)
		s.share(fmt.Sprintf("yes that deserves it, of %d", t.yes), deserved, .9)
		s.share("false no", float64(t.falseNo)/n, -.05)
		s.row("yes without an answer", fmt.Sprint(t.unanswerableYes), "", true)
		s.row("quotes and characters in an answer", fmt.Sprintf("%.2f, %.0f", float64(t.quotes)/(n+float64(t.unanswerable)), float64(t.chars)/(n+float64(t.unanswerable))), "", true)
	}
	for _, q := range questions {
		if t := bySite[q.Site]; t != nil {
			fmt.Fprintf(s.table, "  %s\t%d of %d, yes %d, wrong %d\t\t\n", q.Site, t.points, mostPoints*t.questions, t.yes, t.wrongYes)
			delete(bySite, q.Site)
		}
	}
	s.table.Flush()
	for _, m := range misses {
		fmt.Fprintln(out, m)
	}
	return nil
}

// share prints a share that must be at least a target, or at most one below
// zero without its sign.
func (s *suite) share(what string, got, target float64) {
	met, sign := got >= target, "≥"
	if target < 0 {
		met, sign, target = got <= -target, "≤", -target
	}
	s.row(what, fmt.Sprintf("%.3f", got), fmt.Sprintf("%s %.2f", sign, target), met)
}

func (t *quoteTally) add(a *parsedAnswer, points int, answered string, answerable bool) {
	if answerable {
		t.questions++
		t.points += points
		if answered == "no" {
			t.falseNo++
		}
		t.byPoints[points]++
	} else {
		t.unanswerable++
	}
	wrong := !answerable || points < 2
	if wrong {
		t.wrong++
	}
	if answered == "yes" {
		t.yes++
		if !answerable {
			t.unanswerableYes++
		}
		if wrong {
			t.wrongYes++
		}
	}
	t.quotes += len(a.quotes)
	for _, q := range a.quotes {
		t.chars += len([]rune(q.text))
	}
}

// targets finds the blocks that answer a question.
func (s *publicSite) targets(q *question) ([]target, error) {
	d, lines := s.documents[q.Path], s.sources[q.Path]
	if q.Path != "" && d == nil {
		return nil, fmt.Errorf("%s has no page %s", s.Name, q.Path)
	}
	out := make([]target, 0, len(q.Lines)+1)
	if len(q.Facts) > 0 {
		t := target{document: d, facts: q.Facts}
		for i := range d.Sections {
			if t.in(d.Sections[i].Heading + "\n" + d.Sections[i].Text) {
				t.sections = append(t.sections, sectionAddress(d, i))
			}
		}
		if len(t.sections) == 0 {
			return nil, fmt.Errorf("%q: no section of %s has the facts %q", q.Question, q.Path, q.Facts)
		}
		out = append(out, t)
	}
	for _, ranges := range q.Lines {
		var text strings.Builder
		for r := range strings.SplitSeq(ranges, ",") {
			from, to, _ := strings.Cut(r, "-")
			first, err := strconv.Atoi(from)
			last := first
			if err == nil && to != "" {
				last, err = strconv.Atoi(to)
			}
			if err != nil || first < 1 || last > len(lines) {
				return nil, fmt.Errorf("%q: %s has no lines %s", q.Question, q.Path, r)
			}
			text.WriteString(plainSource(strings.Join(lines[first-1:last], "\n")) + "\n")
		}
		t := target{document: d}
		t.pairs, t.all = wordPairs(text.String())
		best := 0.
		for i := range d.Sections {
			have, _ := wordPairs(d.Sections[i].Heading + "\n" + d.Sections[i].Text)
			if c := t.covered(have); c > best {
				best, t.sections = c, []string{sectionAddress(d, i)}
			}
		}
		if best < .5 {
			return nil, fmt.Errorf("%q: no section of %s has lines %s", q.Question, q.Path, ranges)
		}
		out = append(out, t)
	}
	for i := range q.Also {
		more, err := s.targets(&q.Also[i])
		if err != nil {
			return nil, err
		}
		out = append(out, more...)
	}
	return out, nil
}

func sectionAddress(d *retrieval.Document, i int) string {
	if a := d.Sections[i].Anchor; a != "" {
		return d.URL + "#" + a
	}
	return d.URL
}

var (
	sourceLinks = regexp.MustCompile(`\]\([^)]*\)|\]\[[^\]]*\]`)
	sourceTags  = regexp.MustCompile(`</?(a|aside|b|br|code|div|em|i|img|kbd|p|pre|span|strong|summary|details|sup)\b[^>]*>|<!--.*?-->|\{#[^}]*\}`)
	sourceFence = regexp.MustCompile("(?m)^\\s*(```|~~~|:::).*$")
	entity      = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&", "&nbsp;", " ")
)

// plainSource leaves of Markdown what a reader sees.
func plainSource(s string) string {
	s = sourceFence.ReplaceAllString(s, "")
	s = sourceTags.ReplaceAllString(s, "")
	return entity.Replace(sourceLinks.ReplaceAllString(s, "]"))
}

// wordPairs counts the pairs of words that follow each other.
func wordPairs(s string) (pairs map[string]int, all int) {
	pairs = make(map[string]int)
	before := ""
	for _, w := range strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		pairs[before+" "+w]++
		all++
		before = w
	}
	return pairs, all
}

func (t *target) covered(have map[string]int) float64 {
	n := 0
	for p, want := range t.pairs {
		n += min(want, have[p])
	}
	return float64(n) / float64(max(1, t.all))
}

// in reports whether a text has the block, whole, or all of the facts.
func (t *target) in(text string) bool {
	if len(t.facts) == 0 {
		have, _ := wordPairs(plainSource(text))
		return t.covered(have) >= whole
	}
	text = flat(text)
	for _, f := range t.facts {
		if !slices.ContainsFunc(strings.Split(f, "|"), func(f string) bool { return hasWords(text, flat(f)) }) {
			return false
		}
	}
	return true
}

// hasWords reports whether a text has a phrase that is no part of other words.
func hasWords(text, phrase string) bool {
	word := func(b byte) bool { return b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' }
	for i := 0; ; i++ {
		n := strings.Index(text[i:], phrase)
		if n < 0 {
			return false
		}
		i += n
		end := i + len(phrase)
		if (i == 0 || !word(phrase[0]) || !word(text[i-1])) && (end == len(text) || !word(phrase[len(phrase)-1]) || !word(text[end])) {
			return true
		}
	}
}

// flat is a text in lower case without the signs that Markdown adds.
func flat(s string) string {
	return strings.ToLower(strings.Join(strings.Fields(strings.NewReplacer("`", "", "*", "", "\\", "").Replace(s)), " "))
}

// parsedAnswer is an extractive answer: what it quotes, and what it links to
// besides.
type parsedAnswer struct {
	quotes []parsedQuote
	links  []string
	lines  []parsedQuote // of the links
}

type parsedQuote struct{ title, url, text string }

var (
	quotedHeading = regexp.MustCompile(`^\*\*\[(.*)\]\((\S+)\)\*\*$`)
	listedLink    = regexp.MustCompile(`^- \[(.*?)\]\((\S+?)\):?(.*)`)
)

func parseAnswer(text string) (a parsedAnswer) {
	fenced := false
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		if m := quotedHeading.FindStringSubmatch(line); m != nil && !fenced {
			a.quotes = append(a.quotes, parsedQuote{title: m[1], url: m[2]})
			continue
		}
		if m := listedLink.FindStringSubmatch(line); m != nil && !fenced && strings.Contains(m[2], ".test/") {
			a.links, a.lines = append(a.links, m[2]), append(a.lines, parsedQuote{title: m[1], text: m[3]})
			continue
		}
		if n := len(a.quotes); n > 0 {
			a.quotes[n-1].text += line + "\n"
		}
	}
	return a
}

func (a *parsedAnswer) points(targets []target, answered string) (points int) {
	for i := range targets {
		t := &targets[i]
		var shown strings.Builder
		for _, q := range a.quotes {
			shown.WriteString(t.shown(q) + "\n\n")
			switch {
			case slices.Contains(t.sections, q.url):
				points = max(points, 2)
			case onPage(q.url, t.document):
				points = max(points, 1)
			}
		}
		if slices.ContainsFunc(a.lines, func(q parsedQuote) bool { return t.in(t.shown(q)) }) {
			return mostPoints
		}
		if t.in(shown.String()) {
			return mostPoints
		}
		first := a.links[:min(2, len(a.links))]
		if answered != "yes" && slices.ContainsFunc(first, func(u string) bool { return slices.Contains(t.sections, u) }) {
			points = max(points, 2)
		}
		if slices.ContainsFunc(a.links, func(u string) bool { return onPage(u, t.document) }) {
			points = max(points, 1)
		}
	}
	return points
}

// shown is a quote or line as readers see it. A title may have a fact, but no
// part of a block.
func (t *target) shown(q parsedQuote) string {
	if len(t.facts) == 0 {
		return q.text
	}
	return q.title + "\n" + q.text
}

func onPage(address string, d *retrieval.Document) bool {
	address, _, _ = strings.Cut(address, "#")
	return address == d.URL
}
