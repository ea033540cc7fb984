package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/caddy-docs/caddy-docs/handlers/app"
	"github.com/caddy-docs/caddy-docs/handlers/options"
	"github.com/caddy-docs/caddy-docs/handlers/reach"
	"github.com/caddy-docs/caddy-docs/handlers/site"
	"github.com/caddy-docs/caddy-docs/insights"
	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/meilisearch"
	"github.com/caddy-docs/caddy-docs/short"
)

// Check is the result of one check of Doctor.
type Check struct {
	What  string `json:"what"`
	OK    bool   `json:"ok"`
	Found string `json:"found"`
	// Do is what to do if it is not OK.
	Do string `json:"do,omitempty"`
}

// storageTimeout bounds the check of the storage.
const storageTimeout = 5 * time.Second

// doctorTimeout bounds a check of another server.
const doctorTimeout = 15 * time.Second

// checks are the results so far.
type checks []Check

// add adds what was found, or the error and what to do about it.
func (c *checks) add(what string, err error, found, do string) {
	if err != nil {
		*c = append(*c, Check{What: what, Found: err.Error(), Do: do})
		return
	}
	*c = append(*c, Check{What: what, OK: true, Found: found})
}

// Doctor checks what the sites need, and says what to do where something is
// missing.
func (a API) Doctor(ctx context.Context) []Check {
	c := new(checks)
	sctx, cancel := context.WithTimeout(ctx, storageTimeout)
	err := a.Shared().Keys.Reload(sctx)
	if err == nil {
		err = a.Storage().Check(sctx)
	}
	cancel()
	c.add("storage", err, a.Storage().String(), "make the storage reachable and writable for the user that runs Caddy, and free space if it is full")
	c.add("data_dir", writable(a.DataDir), a.DataDir, "give the user that runs Caddy write access there, free some space, or name another folder with data_dir")
	a.checkInsights(ctx, c)
	for _, st := range a.FolderStatuses() {
		checkFolders(st, c)
	}
	for _, r := range a.All() {
		a.checkSite(ctx, r, c)
	}
	a.checkModel(ctx, c)
	return *c
}

// checkFolders reports folders of sites that can't be served.
func checkFolders(st app.FolderStatus, c *checks) {
	what := "sites " + st.Folders
	if st.Held != "" {
		c.add(what, fmt.Errorf("%s; the sites are still served", st.Held), "", "make the folder readable for the user that runs Caddy, or put the folders back; a reload accepts the folders that are there")
	} else {
		c.add(what, nil, fmt.Sprintf("%d sites", st.Sites), "")
	}
	for _, name := range slices.Sorted(maps.Keys(st.Refused)) {
		c.add(what+" folder "+name, errors.New(st.Refused[name]), "", "rename the folder, or move it elsewhere; it is not served as a site")
	}
}

// checkSite reports whether a site can be asked, and has pages to answer from.
func (a API) checkSite(ctx context.Context, r *site.Site, c *checks) {
	name := "site " + r.Name
	if r.Keys.Opened(r.Organization, r.Name) {
		c.add(name+" key", nil, "there is one", "")
	} else {
		c.add(name+" key", errors.New("there is no key for this site"), "", "run: caddy docs key create --site "+r.Name)
	}
	if u, err := url.Parse(r.Config.URL); err != nil || u.Host == "" {
		found := "not set: results link by path"
		if len(r.Hosts) == 0 {
			found += "; the site block names no host, so the widget and the MCP server work only at localhost and IP addresses: write url, or the host"
		}
		c.add(name+" url", nil, found, "")
	} else {
		c.add(name+" url", nil, r.Config.URL, "")
	}
	base, err := a.CheckAPI(ctx, r.Name)
	c.add(name+" api", err, cmp.Or(base, "/")+" answers", app.WhatToDo(err))
	a.checkIndex(ctx, r, c)
	if r.Index == nil {
		if r.Config.Root != "" {
			_, err := os.ReadDir(r.Config.Root)
			c.add(name+" root", err, r.Config.Root, r.Remedy(retrieval.Status{}))
		}
		return
	}
	st := r.Index.Refresher.Status()
	for _, s := range st.Sources {
		what := name + " source " + s.Name
		switch {
		case s.Error != "" || s.Held != "":
			c.add(what, errors.New(cmp.Or(s.Error, s.Held)), "", r.Remedy(st))
		default:
			c.add(what, nil, fmt.Sprintf("%s, %s, checked %s", short.Count(s.Pages, "page"), short.Count(s.Sections, "section"), s.Checked.Format(time.DateTime)), "")
		}
	}
	switch {
	case len(st.Sources) > 0 && (st.Error != "" || st.Held != ""): // said already
	case st.Error != "":
		c.add(name+" index", errors.New(st.Error), "", r.Remedy(st))
	case st.Held != "":
		c.add(name+" index", fmt.Errorf("held back: %s", st.Held), "", "put the pages back, or wait: once the folder has stopped changing, its pages are indexed")
	case !st.Ready:
		c.add(name+" index", fmt.Errorf("is being built: %d of %d", st.Done, st.Total), "", "wait; caddy docs index --wait shows progress")
	case st.Pages == 0:
		c.add(name+" index", errors.New("has no pages"), "", r.Remedy(st))
	default:
		c.add(name+" index", nil, fmt.Sprintf("%s, %s, checked %s", short.Count(st.Pages, "page"), short.Count(st.Sections, "section"), st.Checked.Format(time.DateTime)), "")
	}
	checkPages(r, c)
	sctx, cancel := context.WithTimeout(ctx, doctorTimeout)
	defer cancel()
	if page, value := r.Reach.Spoofed(sctx); page != "" {
		c.add(name+" locks", fmt.Errorf("%s can be opened without signing in by sending the sign_in headers with the value %q", page, value), "",
			"send every request that docs_signed_in does not match through the login, which must remove these headers; see the manual's page Agents")
	}
	if w := r.RefusedWidget.Load(); w != nil {
		c.add(name+" widget", fmt.Errorf("the Content-Security-Policy of %s blocks the widget: %s", w.Page, w.Directive), "",
			"add 'self' to script-src and connect-src of that policy (and remove 'strict-dynamic'), or put a tag with its nonce into the pages; see the manual's page Widget")
	}
	for _, p := range st.Problems {
		if p.Do != "" { // no page
			c.add(name+" "+p.File, errors.New(p.Reason), "", p.Do)
			continue
		}
		do := "fix the page; until then, search leaves it out"
		if strings.HasPrefix(p.Reason, "permission denied") { // a page or a folder
			do = "make it readable for the user that runs Caddy; until then, search leaves it out"
		}
		c.add(name+" page "+p.File, errors.New(p.Reason), "", do)
	}
	if e := st.Embeddings; e != nil && e.Error != "" {
		c.add(name+" embeddings", errors.New(e.Error), "", "make the embedder reachable; search is keyword search until then")
	} else if e != nil {
		c.add(name+" embeddings", nil, fmt.Sprintf("%d of %d sections", e.Done, e.Total), "")
	}
}

// checkModel reports whether the model answers.
func (a API) checkModel(ctx context.Context, c *checks) {
	m, done, err := a.OpenModel()
	switch {
	case err != nil:
		c.add("llm", err, "", "check the configuration of llm")
		return
	case m == nil:
		c.add("llm", nil, "none: replies are extractive", "")
		return
	}
	defer func() { _ = done() }()
	c.add("llm", m.Check(ctx), m.Name(), "check its URL, key and model name; replies are extractive until it responds")
}

// checkPages reports which of the site's pages clients can open.
func checkPages(r *site.Site, c *checks) {
	pages := r.Reach.Pages()
	n, none, what := reach.CountOf(pages), reach.NoneOpens(pages), "site "+r.Name+" pages"
	switch p, exclude := reach.FirstNotServed(pages); {
	case len(pages) == 0:
	case r.Members != nil: // its sites have their own checks
		c.add(what, nil, n.String(), "")
	case r.Config.Locks == "off":
		c.add(what, nil, "all count as public: locks are off", "")
	case r.Reach.View().Elsewhere && r.Reach.Named:
		c.add(what, fmt.Errorf("nothing in this Caddy serves the %d pages; all count as public", len(pages)), "", serve(r, pages[0].File))
	case r.Reach.View().Elsewhere:
		c.add(what, nil, "all count as public: this Caddy does not serve them, by its configuration", "")
	case !r.Reach.View().Complete:
		c.add(what, nil, fmt.Sprintf("%d of %d have not been requested yet and count as locked", n.Unknown, len(pages)), "")
	case none != nil:
		c.add(what, fmt.Errorf("none of the %d pages can be opened, for example %s: %s; search and assistant have nothing to show", len(pages), none.URL, none.Why), "", serve(r, none.File))
	case p != nil:
		c.add(what, fmt.Errorf("%d of %d are not served, for example %s: %s", n.NotServed, len(pages), p.URL, p.Why), "",
			"serve them, or leave them out: "+exclude+"; caddy docs pages "+r.Name+" lists them")
	case n.Unknown > 0:
		p := reach.First(pages, reach.Unknown)
		c.add(what, fmt.Errorf("%d of %d count as locked, for example %s: %s", n.Unknown, len(pages), p.URL, p.Why), "",
			"make them load faster, and exempt 192.0.2.1 from rate limits; Caddy retries automatically")
	case n.Locked > 0:
		c.add(what, nil, fmt.Sprintf("%d public, %d locked", n.Public, n.Locked), "")
	default:
		found := "all public"
		if raw, p := reach.Raw(pages); p != nil {
			found += fmt.Sprintf("; %d of %d are served as text, not rendered, for example %s; to render Markdown, see %s", raw, len(pages), p.URL, renderMarkdown)
		}
		c.add(what, nil, found, "")
	}
}

// renderMarkdown is the page of the manual with a Caddyfile that renders
// Markdown.
const renderMarkdown = "https://github.com/caddy-docs/caddy-docs/blob/main/docs/recipes/markdown.md"

// serve is what makes this Caddy serve the pages of a site, of which one is
// in file.
func serve(r *site.Site, file string) string {
	elsewhere := "if they are served elsewhere, write their URL: url https://…, in the block of site " + r.Name + "; if anyone may read every page: locks off"
	switch {
	case r.Config.Root == "":
		return "add the reverse_proxy to the upstream; " + elsewhere
	case strings.HasSuffix(file, ".md") || strings.HasSuffix(file, ".mdx"):
		return "render them (" + renderMarkdown + "), or serve the built site and name its folder; " + elsewhere
	}
	return "add: root * " + r.Config.Root + " and file_server; " + elsewhere
}

// writable returns an error if files can't be written to a folder, which is
// created if it is missing. A full disk still takes empty files.
func writable(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".doctor-*")
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, 64<<10))
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}

// checkIndex adds what Doctor finds about a site's index in servers.
func (a API) checkIndex(ctx context.Context, r *site.Site, c *checks) {
	m, ok := a.Indexes().(*options.MeilisearchIndex)
	if !ok || r.Members != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, doctorTimeout)
	defer cancel()
	var index *meilisearch.Index
	if r.Index != nil {
		index, _ = r.Index.Index.(*meilisearch.Index)
	}
	if index == nil { // the command line works on a configuration that is not started
		opened, err := m.OpenIndex(options.IndexOptions{Site: r.Name, Log: a.Shared().Slog})
		if err != nil {
			c.add("site "+r.Name+" meilisearch", err, "", "see the manual's page on Meilisearch")
			return
		}
		defer opened.Close()
		index = opened.(*meilisearch.Index)
	}
	for _, f := range index.Check(ctx) {
		c.add("site "+r.Name+" "+f.What, f.Err, f.Found, f.Do)
	}
}

// checkInsights reports whether events can be stored.
func (a API) checkInsights(ctx context.Context, c *checks) {
	if a.Recorded().Options.Off {
		c.add("insights", nil, "off", "")
		return
	}
	where := a.Recorded().String()
	recorder := a.Recorded().Recorder
	if recorder == nil {
		c.add("insights", nil, where, "")
		return
	}
	ctx, cancel := context.WithTimeout(ctx, doctorTimeout)
	defer cancel()
	err := recorder.Check(ctx)
	st := recorder.Status()
	if err == nil && st.Error != "" { // the store can be written to, but not this batch
		err = errors.New(st.Error)
	}
	found := where + ", kept for " + options.Days(a.Recorded().Retention())
	if st.Dropped > 0 {
		found += fmt.Sprintf(", %d events dropped", st.Dropped)
	}
	do := "make " + where + " reachable and writable"
	if errors.Is(err, insights.ErrNewer) {
		do = "install the release that wrote it, or move it away to start with an empty one"
	}
	c.add("insights", err, found, do+"; requests are still served, and up to 10,000 events are buffered in memory")
	if st.OutletError != "" {
		c.add("insights jsonl", errors.New(st.OutletError), "", "make the file writable; until then, events are stored but missing from the file")
	}
}
