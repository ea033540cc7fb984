package meilisearch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// keyActions are what the key for indexing needs. A key for some indexes may
// neither ask for the version nor see how a swap ended.
const keyActions = "the actions documents.*, indexes.*, settings.*, tasks.get, stats.get and version, for all indexes"

// Finding is the result of one check.
type Finding struct {
	What, Found string
	// Err is what is wrong, nil if nothing is, and Do what to do then.
	Err error
	Do  string
}

// Check checks whether each server answers, its version, its keys, and the
// contents and settings of the site's indexes. It changes nothing.
func (x *Index) Check(ctx context.Context) (findings []Finding) {
	for _, s := range x.servers {
		checkServer(ctx, s, func(what, found string, err error, do string) bool {
			findings = append(findings, Finding{s.url + " " + what, found, err, do})
			return err == nil
		})
	}
	return findings
}

// addFinding adds a finding and reports whether all is well.
type addFinding func(what, found string, err error, do string) bool

func checkServer(ctx context.Context, s *replica, add addFinding) {
	err := s.probe(ctx)
	switch {
	case errors.Is(err, errTooOld):
		add("version", "", err, "upgrade the server; its manual says how to migrate the data")
		return
	case err != nil && !unauthorized(err):
		searches := "get 503"
		if s.site.options.Fallback {
			searches = "are answered by the fallback"
		}
		add("server", "", err, "start Meilisearch there, or correct the URL; until then, searches "+searches)
		return
	}
	if err == nil {
		version := s.now().version
		if older(version, recommendedVersion) {
			version += "; " + recommendedVersion + " or later is recommended"
		}
		add("version", version, nil, "")
	}
	err = s.checkRights(ctx, s.site.uidPrefix)
	do := ""
	if lacking := s.now().lacking; err == nil && lacking != nil {
		err, do = lacking, lacking.remedy(s.site.uidPrefix)
	}
	if !add("keys", "permit indexing and searching", err, do) {
		return
	}

	if s.site.options.Owner != nil {
		m, err := s.checkOwner(ctx)
		found, do := cmp.Or(m.Name, "nobody"), ""
		if foreign, ok := errors.AsType[*ownerError](err); ok {
			do = foreign.remedy()
		}
		if !add("owner of "+s.site.uidPrefix+"*", found, err, do) {
			return
		}
	}

	live, _, views, err := s.list(ctx)
	if err != nil {
		add("indexes", "", err, "see the server's log")
		return
	}
	live = append(live, views...)
	c := s.site.target.Load()
	if c == nil {
		add("indexes", strings.Join(live, ", "), nil, "")
		return
	}
	for _, uid := range slices.Sorted(maps.Keys(c.indexes)) {
		if !slices.Contains(live, uid) {
			add("index "+uid, "", errors.New("doesn't exist yet"), "wait a few seconds; if it is still missing, see the log")
			continue
		}
		checkIndex(ctx, s, c, c.indexes[uid], add)
	}
}

func checkIndex(ctx context.Context, s *replica, c *content, ix *languageIndex, add addFinding) {
	u := update{replica: s, content: c}
	p, err := u.plan(ctx, ix, true)
	if err == nil && p.different != "" {
		err = errors.New(p.different)
	}
	add("index "+ix.uid, fmt.Sprintf("%d sections", ix.sections), err,
		"run: caddy docs index "+s.site.options.Site+"; if several Caddys share the server, they must serve the same pages")
	if p == nil {
		return
	}
	if err = nil; p.newSettings {
		err = errors.New("differ from those that this module sets")
	}
	add("settings of "+ix.uid, "correct", err, "run: caddy docs index "+s.site.options.Site+", and don't change them by hand")
	if ix.view {
		return
	}
	checkEmbedder(ctx, s, ix.uid, p.embedders, add)
	_, err = s.search(ctx, s.searchKey, []searchRequest{{IndexUID: ix.uid, Query: "documentation", Limit: 1}})
	add("search in "+ix.uid, "works", err, "see the server's log")
	if key := s.site.options.ViewKey; key != "" {
		_, err := s.search(ctx, key, []searchRequest{{IndexUID: ix.uid, Limit: 1}})
		switch {
		case err == nil:
			err = errors.New("can read this index, and so the text of locked pages")
		case unauthorized(err):
			err = nil
		}
		add("view_key in "+ix.uid, "is refused", err, "replace the key by one with the action search for the indexes "+s.site.viewPrefix+"* only, and delete it")
	}
}

// checkEmbedder checks what makes an index's vectors.
func checkEmbedder(ctx context.Context, s *replica, uid string, embedders map[string]embedder, add addFinding) {
	name := s.site.options.Embedder
	if name == "" {
		found := "none: keyword search"
		if e, ok := embedders[vectorName]; ok {
			found = fmt.Sprintf("%s, %d dimensions", e.source, e.dimensions)
		}
		add("embedder of "+uid, found, nil, "")
		return
	}
	what := "embedder " + name + " of " + uid
	e, ok := embedders[name]
	switch {
	case !ok:
		add(what, "", errors.New("is not set; searches use keywords only"),
			"set it: curl -X PATCH "+s.url+"/indexes/"+uid+"/settings/embedders -H 'Authorization: Bearer …' -H 'Content-Type: application/json' -d '{\""+name+"\": {…}}', "+
				"with a documentTemplate of doc.title, doc.heading and doc.text, and documentTemplateMaxBytes 2000")
		return
	case e.source == userProvided:
		add(what, "", errors.New("has the source userProvided, with which the server makes no vectors; searches use keywords only"),
			"give it the source openAi, ollama, rest or huggingFace, or write: embedder <url> <model>")
		return
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	_, err := s.search(ctx, s.searchKey, []searchRequest{{IndexUID: uid, Query: "documentation", Limit: 1, Hybrid: &hybrid{name, 1}}})
	found := e.source
	if err == nil {
		var stats indexStats
		if stats, err = s.stats(ctx, uid); err == nil {
			found = fmt.Sprintf("%s, vectors of %d of %d sections", e.source, stats.NumberOfEmbeddedDocuments, stats.NumberOfDocuments)
		}
	}
	add(what, found, err, "check its url, apiKey and model; from 1.35 on, the server refuses private IPs unless it is started with --experimental-allowed-ip-networks; searches use keywords only until then")
}
