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
	// Also are other places that answer.
	Also []question `json:"also"`
}

// target is a block that answers: its words and its section.
type target struct {
	pairs    map[string]int
	all      int
	document *retrieval.Document
	section  string // URL
}

// quoteTally sums up the replies of one part.
type quoteTally struct {
	questions, points    int
	byPoints             [4]int
	quotedPoints         int // without the lines of links
	unanswerable         int
	yes, wrong, wrongYes int
	unanswerableYes      int
	quotes, chars        int
}

const (
	publicParts = 5

	whole      = .85 // of a block's pairs of words, to be quoted whole
	mostPoints = 3
)

// quotes asks all questions without a model and gives points: 3 if the answer
// is there whole, in a quote or in the line of a link, 2 if another part of its
// section is quoted or its section is the first that is linked, 1 if its page is
// linked.
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
		points := a.points(targets)
		quotesOnly := a
		quotesOnly.lines = nil
		quotedPoints := quotesOnly.points(targets)
		if bySite[q.Site] == nil {
			bySite[q.Site] = &quoteTally{}
		}
		for _, t := range []*quoteTally{&parts[site.Part-1], bySite[q.Site]} {
			t.add(&a, points, quotedPoints, res.Answered, len(targets) > 0)
		}
		if worst && (len(targets) == 0 && res.Answered != "no" || len(targets) > 0 && points < mostPoints) {
			misses = append(misses, fmt.Sprintf("== %s: %q: %d points, answered %s, %s %v\n%s", q.Site, q.Question, points, res.Answered, q.Path, q.Lines, got.answer()))
		}
	}
	s.table = tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	for i, name := range []string{"tuned on", "tuned on", "tuned on", "held out", "held out"} {
		t := &parts[i]
		if t.questions == 0 {
			continue
		}
		fmt.Fprintf(s.table, "\nANSWERS WITHOUT A MODEL, %d questions, %d of them unanswerable, part %d, %s\tMEASURED\tTARGET\t\n", t.questions+t.unanswerable, t.unanswerable, i+1, name)
		share := float64(t.points) / float64(mostPoints*t.questions)
		s.row("points", fmt.Sprintf("%d of %d, %.3f", t.points, mostPoints*t.questions, share), "≥ 0.70", share >= .7)
		s.row("the same without the lines of links", fmt.Sprintf("%.3f", float64(t.quotedPoints)/float64(mostPoints*t.questions)), "", true)
		s.row("with 3, 2, 1, 0 points", fmt.Sprint(t.byPoints[3], t.byPoints[2], t.byPoints[1], t.byPoints[0]), "", true)
		n := float64(t.questions + t.unanswerable)
		wrong := float64(t.wrongYes) / n
		s.row("wrong and marked yes", fmt.Sprintf("%d, %.3f of all, %.3f of the %d wrong ones", t.wrongYes, wrong, float64(t.wrongYes)/float64(max(1, t.wrong)), t.wrong), "≤ 0.05 of all", wrong <= .05)
		s.row("marked yes, without an answer among them", fmt.Sprintf("%d, %d", t.yes, t.unanswerableYes), "", true)
		s.row("quotes and characters in an answer", fmt.Sprintf("%.2f, %.0f", float64(t.quotes)/n, float64(t.chars)/n), "", true)
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

func (t *quoteTally) add(a *parsedAnswer, points, quotedPoints int, answered string, answerable bool) {
	if answerable {
		t.questions++
		t.points += points
		t.quotedPoints += quotedPoints
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
	if len(q.Lines) > 0 && d == nil {
		return nil, fmt.Errorf("%s has no page %s", s.Name, q.Path)
	}
	out := make([]target, 0, len(q.Lines))
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
				best, t.section = c, sectionAddress(d, i)
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

// parsedAnswer is an extractive answer: what it quotes, and what it links to
// besides.
type parsedAnswer struct {
	quotes []parsedQuote
	links  []string
	lines  []string // of the links
}

type parsedQuote struct{ url, text string }

var (
	quotedHeading = regexp.MustCompile(`^\*\*\[.*\]\((\S+)\)\*\*$`)
	listedLink    = regexp.MustCompile(`^- \[.*?\]\((\S+?)\):?(.*)`)
)

func parseAnswer(text string) (a parsedAnswer) {
	fenced := false
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		if m := quotedHeading.FindStringSubmatch(line); m != nil && !fenced {
			a.quotes = append(a.quotes, parsedQuote{url: m[1]})
			continue
		}
		if m := listedLink.FindStringSubmatch(line); m != nil && !fenced && strings.Contains(m[1], ".test/") {
			a.links, a.lines = append(a.links, m[1]), append(a.lines, m[2])
			continue
		}
		if n := len(a.quotes); n > 0 {
			a.quotes[n-1].text += line + "\n"
		}
	}
	return a
}

func (a *parsedAnswer) points(targets []target) (points int) {
	for _, t := range targets {
		for _, q := range a.quotes {
			have, _ := wordPairs(plainSource(q.text))
			switch {
			case t.covered(have) >= whole:
				return mostPoints
			case q.url == t.section:
				points = max(points, 2)
			case onPage(q.url, t.document):
				points = max(points, 1)
			}
		}
		for _, line := range a.lines {
			if have, _ := wordPairs(plainSource(line)); t.covered(have) >= whole {
				return mostPoints
			}
		}
		if len(a.quotes) == 0 && len(a.links) > 0 && a.links[0] == t.section {
			points = max(points, 2)
		}
		if slices.ContainsFunc(a.links, func(u string) bool { return onPage(u, t.document) }) {
			points = max(points, 1)
		}
	}
	return points
}

func onPage(address string, d *retrieval.Document) bool {
	address, _, _ = strings.Cut(address, "#")
	return address == d.URL
}
