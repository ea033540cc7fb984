package meilisearch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	sdk "github.com/meilisearch/meilisearch-go"
)

// adminActions are what the key for indexing needs. One for some indexes is
// not enough: it may neither ask for the version nor see how a swap ended,
// and from 1.48.3 on can't be made with version.
const adminActions = "the actions documents.*, indexes.*, settings.*, tasks.get, stats.get and version, for all indexes: one for some may not ask for the version"

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
		add("api_key", "", err, "set api_key to a key of this server with "+adminActions)
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
	if !add("api_key", "may index", err, "give api_key "+adminActions) {
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
	set := embeddersOf(have)
	if err == nil {
		want, _ := x.wanted(ix, set, c.known)
		if settingsDiffer(have, want, x.o.Embedder != "") {
			err = errors.New("they are not those that this program sets")
		}
	}
	if !add("settings of "+uid, "as they should be", err, "run: caddy docs index "+x.o.Site+", and don't change them by hand") && have == nil {
		return
	}
	x.checkEmbedder(ctx, in, uid, set, add)

	_, err = in.reader.MultiSearchWithContext(ctx, &sdk.MultiSearchRequest{Queries: []*sdk.SearchRequest{
		{IndexUID: uid, Query: "documentation", Limit: 1, AttributesToRetrieve: []string{"id"}},
	}})
	add("search in "+uid, "answers", in.explain(err), "give search_key the action search for the indexes "+x.prefix+"*, or leave it out")
}

// checkEmbedder looks at what makes an index's vectors.
func (x *Index) checkEmbedder(ctx context.Context, in *instance, uid string, set map[string]embedder, add func(what, found string, err error, do string) bool) {
	what, name := "embedder of "+uid, x.o.Embedder
	if name == "" {
		if e, ok := set[embedderName]; ok {
			add(what, fmt.Sprintf("%s, %d dimensions", e.Source, e.Dimensions), nil, "")
		} else {
			add(what, "none: search goes by keywords", nil, "")
		}
		return
	}
	what = "embedder " + name + " of " + uid
	e, ok := set[name]
	switch {
	case !ok:
		add(what, "", errors.New("is not set; search goes by keywords"),
			"set it: curl -X PATCH "+in.url+"/indexes/"+uid+"/settings/embedders -H 'Authorization: Bearer …' -H 'Content-Type: application/json' -d '{\""+name+"\": {…}}', "+
				"with a documentTemplate of doc.title, doc.heading and doc.text, and documentTemplateMaxBytes 2000")
		return
	case e.Source == userProvided:
		add(what, "", errors.New("has the source userProvided, so the server makes no vectors; search goes by keywords"),
			"give it a source of the server's own (openAi, ollama, rest, huggingFace), or write: embedder <url> <model>")
		return
	}
	ctx, cancel := context.WithTimeout(ctx, embedderCheckTime)
	defer cancel()
	_, err := in.search(ctx, []*sdk.SearchRequest{{
		IndexUID: uid, Query: "documentation", Limit: 1, AttributesToRetrieve: []string{"id"},
		Hybrid: &sdk.SearchRequestHybrid{SemanticRatio: 1, Embedder: name},
	}})
	found := e.Source
	if err == nil {
		var stats *sdk.StatsIndex
		if stats, err = in.admin.Index(uid).GetStatsWithContext(ctx, &sdk.StatsParams{}); err == nil {
			found = fmt.Sprintf("%s, vectors of %d of %d sections", e.Source, stats.NumberOfEmbeddedDocuments, stats.NumberOfDocuments)
		}
		err = in.explain(err)
	}
	add(what, found, err, "check its url, apiKey and model; from 1.35 on the server asks no private address unless it is started with --experimental-allowed-ip-networks; search goes by keywords until then")
}

// embedderCheckTime is how long the doctor waits for a server's embedder.
const embedderCheckTime = 3 * time.Second
