package eval

import (
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
)

// Question is a line of a file of questions: what is asked, and what a right
// answer must hold.
type Question struct {
	ID       string `json:"id"`
	Question string `json:"question"`
	Group    string `json:"group,omitempty"`
	// Facts are texts that the answer must have, with "|" between alternatives.
	// Case, white space and the marks of Markdown don't count.
	Facts []string `json:"facts,omitempty"`
	// Pages are those of which the answer must link to one.
	Pages []string `json:"pages,omitempty"`
	// Answered is what the reply has to say of itself: yes, partly or no, with "|"
	// between alternatives. Default: no if there are neither facts nor pages, else
	// yes or partly.
	Answered string `json:"answered,omitempty"`
	// CurrentPath is the page that the reader is on.
	CurrentPath string `json:"currentPath,omitempty"`
}

// Reply is what a site answered.
type Reply struct {
	Answer   string `json:"answer"`
	Answered string `json:"answered,omitempty"`
	Model    string `json:"model,omitempty"`
	// FirstToken is the time until the first text, in milliseconds.
	FirstToken int64 `json:"firstTokenMilliseconds"`
	Tokens
}

// Tokens are those of a reply or of a judge.
type Tokens struct {
	Input  int `json:"inputTokens"`
	Output int `json:"outputTokens"`
	// Cached are those of Input that the provider had in its cache.
	Cached int `json:"cachedInputTokens,omitempty"`
}

// Add adds others.
func (t *Tokens) Add(more Tokens) {
	t.Input += more.Input
	t.Output += more.Output
	t.Cached += more.Cached
}

// Result is a question with its reply, as a line of a file of results.
type Result struct {
	Question Question `json:"question"`
	Reply    Reply    `json:"reply"`
	// Error says why there is no reply.
	Error string `json:"error,omitempty"`
	// Judge is the model that made the verdicts, one in each run.
	Judge    string    `json:"judge,omitempty"`
	Verdicts []Verdict `json:"verdicts,omitempty"`
	Judging  Tokens    `json:"judging,omitzero"`
	// Failures are the rules that the answer breaks, in words.
	Failures []string `json:"failures,omitempty"`
}

// ReadQuestions reads questions, one JSON object a line.
func ReadQuestions(r io.Reader) ([]Question, error) {
	const example = `{"id": "q1", "question": "…", "facts": ["…"], "pages": ["page"]}`
	return items(r, "question", "question", example, func(q *Question) (*string, string, error) {
		for _, a := range q.answered() {
			if a != "yes" && a != "partly" && a != "no" {
				return &q.ID, q.Question, fmt.Errorf(`"answered" is yes, partly or no, with "|" between alternatives; got %q`, a)
			}
		}
		return &q.ID, q.Question, nil
	})
}

func (q *Question) answered() []string {
	switch {
	case q.Answered != "":
		return strings.Split(q.Answered, "|")
	case len(q.Facts)+len(q.Pages) == 0:
		return []string{"no"}
	}
	return []string{"yes", "partly"}
}

// check sets the failures of a result by the rules.
func (a *Answers) check(r *Result) {
	q := &r.Question
	r.Failures = nil
	fail := func(format string, args ...any) { r.Failures = append(r.Failures, fmt.Sprintf(format, args...)) }
	if r.Error != "" {
		fail("no answer: %s", r.Error)
		return
	}
	have := plain(r.Reply.Answer)
	for _, f := range q.Facts {
		if !slices.ContainsFunc(strings.Split(f, "|"), func(f string) bool { return hasWords(have, plain(f)) }) {
			fail("the fact %q is missing", f)
		}
	}
	destinations := destinations(r.Reply.Answer)
	if len(q.Pages) > 0 && !slices.ContainsFunc(destinations, func(to string) bool {
		return slices.ContainsFunc(q.Pages, func(p string) bool { return Page(p) == Page(to) })
	}) {
		fail("no link to %s", strings.Join(q.Pages, " or "))
	}
	if !slices.Contains(q.answered(), r.Reply.Answered) {
		fail("answered is %q, not %s", r.Reply.Answered, strings.Join(q.answered(), " or "))
	}
	for _, to := range destinations {
		if kind := a.kind(to); kind != "" {
			fail("%s link: %s", kind, to)
		}
	}
}

// kind is dead for a link to nothing, foreign for one to another host, else "".
func (a *Answers) kind(to string) string {
	page, anchor, _ := strings.Cut(to, "#")
	if anchors, ok := a.Pages[page]; ok {
		if anchor != "" && !slices.Contains(anchors, anchor) {
			return "dead"
		}
		return ""
	}
	u, err := url.Parse(to)
	switch {
	case err != nil:
		return "dead"
	case slices.Contains(a.Hosts, u.Hostname()):
		return ""
	}
	for p := range a.Pages {
		if own, err := url.Parse(p); err == nil && own.Host == u.Host {
			return "dead"
		}
	}
	return "foreign"
}

// destinations are the links and images of an answer, as readers' clients see
// them.
func destinations(answer string) (out []string) {
	source := []byte(answer)
	parser := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser()
	_ = ast.Walk(parser.Parse(text.NewReader(source)), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Link:
			out = append(out, string(n.Destination))
		case *ast.Image:
			out = append(out, string(n.Destination))
		case *ast.AutoLink:
			out = append(out, string(n.URL(source)))
		}
		return ast.WalkContinue, nil
	})
	return out
}

var marks = strings.NewReplacer("`", "", "*", "", `\`, "", "&lt;", "<", "&gt;", ">", "&amp;", "&")

// plain is a text in lower case, on one line, without the marks of Markdown.
func plain(s string) string {
	return strings.ToLower(strings.Join(strings.Fields(marks.Replace(s)), " "))
}

// hasWords reports whether a text has a phrase that is no part of other words.
func hasWords(text, phrase string) bool {
	word := func(s string, at int) bool {
		return at >= 0 && at < len(s) && (s[at] == '_' || s[at] >= '0' && s[at] <= '9' || s[at] >= 'a' && s[at] <= 'z')
	}
	for i := 0; phrase != ""; i++ {
		n := strings.Index(text[i:], phrase)
		if n < 0 {
			return false
		}
		i += n
		end := i + len(phrase)
		if !(word(text, i-1) && word(phrase, 0)) && !(word(text, end) && word(phrase, len(phrase)-1)) {
			return true
		}
	}
	return true
}
