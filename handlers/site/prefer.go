package site

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"

	"golang.org/x/text/language"

	"github.com/caddy-docs/caddy-docs/handlers/options"
	"github.com/caddy-docs/caddy-docs/retrieval"
)

type ctxKey int

const (
	ofRequest ctxKey = iota // the *http.Request
	ofKeyID                 // the id of its key
)

// WithRequest adds what a request says of the pages that its reader prefers:
// the page that it was sent from, and Accept-Language.
func WithRequest(ctx context.Context, r *http.Request) context.Context {
	return context.WithValue(ctx, ofRequest, r)
}

// Prefer returns the site's default version and language, which rank higher
// than others.
func (r *Site) Prefer() retrieval.Filter {
	return retrieval.Filter{Version: defaultOf(r.Config.Versions), Language: defaultOf(r.Config.Languages)}
}

func defaultOf(scopes []options.Scope) string {
	for _, s := range scopes {
		if len(s.Paths) == 0 {
			return s.Value
		}
	}
	return ""
}

// preferHere returns the version and language that the reader of the context
// prefers: those of the page that they are on, else the first of their
// languages that the site has, else the site's defaults.
func (r *Site) preferHere(ctx context.Context) retrieval.Filter {
	prefer := r.Prefer()
	request, _ := ctx.Value(ofRequest).(*http.Request)
	if request == nil {
		return prefer
	}
	site, _ := url.Parse(r.Config.URL)
	from, err := url.Parse(request.Referer())
	if err == nil && from.Host != "" && (from.Host == request.Host || r.Members != nil || site != nil && from.Host == site.Host) {
		pages := r.Pages()
		if d := pages.byPath[pages.key(from)]; d != nil && (r.Reach.View().IsPublic(d) || r.CanOpen(ctx, from.String(), d)) {
			return retrieval.Filter{Version: cmp.Or(d.Version, prefer.Version), Language: cmp.Or(d.Readers, d.Language, prefer.Language)}
		}
	}
	wanted, _, _ := language.ParseAcceptLanguage(request.Header.Get("Accept-Language"))
	known := slices.DeleteFunc(slices.Clone(r.Pages().languages), func(l string) bool { return l == "" })
	for _, tag := range wanted {
		i := slices.IndexFunc(known, func(l string) bool { return language.Make(l) == tag })
		if i < 0 {
			i = slices.IndexFunc(known, func(l string) bool { return base(language.Make(l)) == base(tag) })
		}
		if i >= 0 {
			prefer.Language = known[i]
			break
		}
	}
	return prefer
}

func base(tag language.Tag) language.Base {
	b, _ := tag.Base()
	return b
}
