package assistant

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/caddy-docs/caddy-docs/assistant/citation"
	"github.com/caddy-docs/caddy-docs/assistant/reply"
)

// maxUnverified bounds the identifiers reported.
const maxUnverified = 20

// unverified returns the identifiers in the answer's code that are neither in
// a passage nor in what the reader or the operator wrote.
func (r *run) unverified() []string {
	known := sync.OnceValue(r.known) // most answers have no names in code
	lower := sync.OnceValue(func() string { return strings.ToLower(known()) })
	var out []string
	for id := range identifiers(citation.Code(r.out.text.String())) {
		if strings.Contains(known(), id) || strings.Contains(lower(), strings.ToLower(id)) ||
			slices.ContainsFunc(out, func(o string) bool { return strings.EqualFold(o, id) }) {
			continue
		}
		if out = append(out, id); len(out) == maxUnverified {
			break
		}
	}
	return out
}

// known is what the model could have its names from.
func (r *run) known() string {
	given := []string{r.q.asked, r.site.Instructions}
	for _, p := range r.found.passages {
		given = append(given, p.Title, p.Text, p.URL)
	}
	for _, c := range r.in.Context {
		given = append(given, c.Value)
	}
	for _, m := range r.q.earlier {
		if m.Role == reply.User {
			given = append(given, m.Text)
		}
	}
	return strings.Join(given, "\n")
}

var (
	identifier = regexp.MustCompile(`[-$@\w]+(?:[.-][-$@\w]+)*\(?`)
	// named matches what looks like the name of an option, flag, function or
	// variable: a word with an underscore or a capital inside, or before "(".
	named = regexp.MustCompile(`^--|^\$|\w_\w|[a-z][\w.-]*[A-Z]|[A-Z][A-Z.-]+[a-z]|\($`)
)

// identifiers yields what looks like a name in code: see named, and words that
// are a whole code span. Parts of paths and URLs are none.
func identifiers(code string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for line := range strings.SplitSeq(code, "\n") {
			line = strings.TrimSpace(line)
			alone := !strings.ContainsAny(line, " \t/:<>\"'=,;")
			for _, at := range identifier.FindAllStringIndex(line, -1) {
				word := line[at[0]:at[1]]
				if len(strings.Trim(word, "-$@_.(0123456789")) < 3 || strings.Contains(line[max(0, at[0]-3):at[0]], "/") ||
					!named.MatchString(word) && !alone {
					continue
				}
				if !yield(strings.TrimRight(word, "-.(")) {
					return
				}
			}
		}
	}
}
