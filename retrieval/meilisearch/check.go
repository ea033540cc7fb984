package meilisearch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	sdk "github.com/meilisearch/meilisearch-go"
)

// Finding is one thing that Check looked at.
type Finding struct {
	What, Found string
	// Err is what is wrong with it, Do what to do then.
	Err error
	Do  string
}

// Check looks at every server: whether it answers, its version, what the
// keys may do, and whether the site's indexes hold what they should, set up
// as they should be. It changes nothing.
func (x *Index) Check(ctx context.Context) []Finding {
	var out []Finding
	for _, in := range x.instances {
		out = append(out, x.checkInstance(ctx, in)...)
	}
	return out
}

func (x *Index) checkInstance(ctx context.Context, in *instance) (out []Finding) {
	add := func(what, found string, err error, do string) bool {
		out = append(out, Finding{in.url + " " + what, found, err, do})
		return err == nil
	}
	err := in.probe(ctx)
	var e *ServerError
	switch {
	case isVersion(err):
		add("version", "", err, "upgrade the server; see its manual for how its data comes along")
		return out
	case errors.As(err, &e) && (e.Status == 401 || e.Status == 403):
		add("api_key", "", err, "set api_key to a key of this server that may do everything with the indexes "+x.prefix+"*")
		return out
	case err != nil:
		add("server", "", err, "start Meilisearch there, or correct the address; search is answered "+x.without()+" until then")
		return out
	}
	in.mu.Lock()
	version := in.version
	in.mu.Unlock()
	if older(version, recommendedVersion) {
		add("version", version+"; "+recommendedVersion+" or later is recommended", nil, "")
	} else {
		add("version", version, nil, "")
	}

	live, _, err := in.list(ctx, x.prefix)
	if !add("api_key", "may index", err, "give api_key the actions documents.*, indexes.*, settings.*, tasks.get, stats.get and version for the indexes "+x.prefix+"*") {
		return out
	}
	c := x.target.Load()
	if c == nil {
		add("indexes", strings.Join(live, ", "), nil, "")
		return out
	}
	for _, uid := range slices.Sorted(maps.Keys(c.languages)) {
		x.checkIndex(ctx, in, c, uid, slices.Contains(live, uid), add)
	}
	return out
}

func (x *Index) without() string {
	if x.o.Fallback {
		return "by the fallback"
	}
	return "with 503"
}

func (x *Index) checkIndex(ctx context.Context, in *instance, c *content, uid string, exists bool, add func(what, found string, err error, do string) bool) {
	ix := c.languages[uid]
	if !exists {
		add("index "+uid, "", errors.New("is not there yet"), "wait: it is made within seconds; if not, the log says why")
		return
	}
	held, err := in.ids(ctx, uid)
	if err == nil {
		missing := 0
		for _, r := range ix.records {
			if _, ok := held[r.ID]; !ok {
				missing++
			}
		}
		if extra := len(held) - (len(ix.records) - missing); missing+extra > 0 {
			err = fmt.Errorf("lacks %d of %d sections and has %d others", missing, len(ix.records), extra)
		}
	}
	add("index "+uid, fmt.Sprintf("%d sections", len(ix.records)), err, "run: caddy docs index "+x.o.Site+"; if several Caddys share the server, they must serve the same pages")

	have, err := in.settings(ctx, uid)
	embedder := "none: search goes by keywords"
	if err == nil {
		want := x.settingsOf(ix)
		if !c.known && have != nil {
			want.Embedders = have.Embedders
		}
		if have == nil || settingsDiffer(have, want, x.o.Embedder != "") {
			err = errors.New("they are not those that this program sets")
		} else if e, ok := have.Embedders[embedderName]; ok {
			embedder = fmt.Sprintf("%s, %d dimensions", e.Source, e.Dimensions)
		}
	}
	add("settings of "+uid, "as they should be", err, "run: caddy docs index "+x.o.Site+", and don't change them by hand")

	if name := x.o.Embedder; name != "" && have != nil {
		e, ok := have.Embedders[name]
		if !ok {
			add("embedder "+name+" of "+uid, "", errors.New("is not set; search goes by keywords"),
				"set it: curl -X PATCH "+in.url+"/indexes/"+uid+"/settings/embedders -H 'Authorization: Bearer …' -H 'Content-Type: application/json' -d '{\""+name+"\": {…}}'")
			embedder = ""
		} else {
			embedder = fmt.Sprintf("%s (%s)", name, e.Source)
		}
	}
	if embedder != "" {
		add("embedder of "+uid, embedder, nil, "")
	}

	_, err = in.reader.MultiSearchWithContext(ctx, &sdk.MultiSearchRequest{Queries: []*sdk.SearchRequest{
		{IndexUID: uid, Query: "documentation", Limit: 1, AttributesToRetrieve: []string{"id"}},
	}})
	add("search in "+uid, "answers", in.explain(err), "give search_key the action search for the indexes "+x.prefix+"*, or leave it out")
}
