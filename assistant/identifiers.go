package assistant

import (
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
	for id := range citation.Identifiers(r.out.text.String()) {
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
