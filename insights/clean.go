package insights

import (
	"net"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/caddy-docs/caddy-docs/short"
)

// Bounds of what is stored, in characters. Longer texts are cut.
const (
	maxQuery    = 200
	maxQuestion = 1000
	maxComment  = 1000
	maxPath     = 300
	maxAddress  = 200 // of a missing page, in bytes
	maxName     = 200 // ids, models
	maxList     = 10  // cited pages, reasons
	maxCount    = 1_000_000_000
)

// Privacy says what a site does not want stored.
type Privacy struct {
	// NoTexts drops queries, questions and comments.
	NoTexts bool
	// NoClicks drops clicks; searches are then not tracked.
	NoClicks bool
}

// Clean makes an event fit to be stored: its texts are redacted, bounded and
// valid, its numbers within their bounds. It reports false for an event that
// is not to be stored.
func (p Privacy) Clean(e *Event) bool {
	if p.NoClicks && e.Click != nil {
		return false
	}
	e.At = e.At.UTC().Truncate(time.Second)
	e.Organization, e.Site = cut(e.Organization, 63), cut(e.Site, 63)
	e.Key = cut(e.Key, maxName)
	switch {
	case e.Search != nil:
		s := *e.Search
		s.Query = p.text(foldQuery(s.Query), maxQuery)
		s.Hits = number(s.Hits)
		s.Language = cut(s.Language, 35)
		s.Tracked = s.Tracked && !p.NoClicks
		e.Search = &s
	case e.Click != nil:
		c := *e.Click
		c.Query = p.text(foldQuery(c.Query), maxQuery)
		c.Path = PageOf(c.Path)
		c.Position = min(max(c.Position, 1), 1000)
		e.Click = &c
	case e.Reply != nil:
		r := *e.Reply
		r.Question = p.text(r.Question, maxQuestion)
		if r.Thread == "" { // of a command, which keeps no conversation
			r.Thread = r.Message
		}
		for _, s := range []*string{&r.Thread, &r.Message, &r.Outcome, &r.Answered, &r.Model, &r.Language} {
			*s = cut(*s, maxName)
		}
		r.Page, r.Nearest = PageOf(r.Page), PageOf(r.Nearest)
		r.Cited = texts(r.Cited, maxPath)
		r.InputTokens, r.OutputTokens, r.CachedTokens = number(r.InputTokens), number(r.OutputTokens), number(r.CachedTokens)
		r.FirstToken, r.Took = min(max(r.FirstToken, 0), maxCount), min(max(r.Took, 0), maxCount)
		e.Reply = &r
	case e.Vote != nil:
		v := *e.Vote
		v.Thread, v.Message, v.Rating = cut(v.Thread, maxName), cut(v.Message, maxName), cut(v.Rating, 4)
		v.Path = PageOf(v.Path)
		v.Comment = p.text(v.Comment, maxComment)
		v.Reasons = texts(v.Reasons, 50)
		if p.NoTexts {
			v.Reasons = nil
		}
		e.Vote = &v
	case e.Missing != nil:
		m := *e.Missing
		m.Path, m.To = addressOf(m.Path), addressOf(m.To)
		if m.From = sourceOf(m.From); p.NoClicks {
			m.From = ""
		}
		if m.Agent != "" && !slices.Contains(agents, m.Agent) {
			m.Agent = Program
		}
		e.Missing = &m
	default:
		return false
	}
	return true
}

// PageOf returns a path as pages are named: without slashes around it, and
// without query and fragment, which may hold anything.
func PageOf(path string) string {
	if i := strings.IndexAny(path, "?#"); i >= 0 {
		path = path[:i]
	}
	return cut(Redact(strings.Trim(path, "/")), maxPath)
}

// addressOf returns the path of a page that may not exist, "" for none: it is
// known by its slash from the source of another site.
func addressOf(path string) string {
	if path == "" {
		return ""
	}
	return short.Bytes("/"+PageOf(path), maxAddress)
}

// sourceOf returns where a link is: a path, or the scheme and host of another
// site, "" for anything else. A host that is an IP may be a client's.
func sourceOf(from string) string {
	if strings.HasPrefix(from, "/") {
		return addressOf(from)
	}
	u, err := url.Parse(from)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || net.ParseIP(u.Hostname()) != nil {
		return ""
	}
	return u.Scheme + "://" + short.Bytes(strings.ToLower(cut(u.Hostname(), maxAddress)), maxAddress)
}

// foldQuery returns a query as it is stored: in lower case, with single
// spaces.
func foldQuery(s string) string { return strings.ToLower(short.Line(s)) }

func (p Privacy) text(s string, most int) string {
	if p.NoTexts {
		return ""
	}
	// Redacted before it is cut, so that no half of a key is left.
	return cut(Redact(cut(s, 4*most)), most)
}

func texts(in []string, most int) []string {
	in = slices.Clone(in[:min(len(in), maxList)])
	for i, s := range in {
		in[i] = cut(Redact(strings.ReplaceAll(s, "\n", " ")), most)
	}
	return in
}

func number(n int) int { return min(max(n, 0), maxCount) }

// cut returns at most n characters of s, without control characters except
// line ends, and as valid UTF-8.
func cut(s string, n int) string {
	if len(s) > 4*n {
		s = s[:4*n]
	}
	return short.Runes(strings.Map(func(r rune) rune {
		switch {
		case r == utf8.RuneError:
			return -1
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r):
			return ' '
		}
		return r
	}, s), n)
}
