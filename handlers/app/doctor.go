package app

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/caddy-docs/caddy-docs/handlers/reach"
	"github.com/caddy-docs/caddy-docs/retrieval"
)

// Check is one thing that Doctor looked at.
type Check struct {
	What  string `json:"what"`
	OK    bool   `json:"ok"`
	Found string `json:"found"`
	// Do is what to do if it is not OK.
	Do string `json:"do,omitempty"`
}

// doctorTimeout bounds a look at another server.
const doctorTimeout = 15 * time.Second

// checks are what Doctor has looked at so far.
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
func (a *App) Doctor(ctx context.Context) []Check {
	c := new(checks)
	sctx, cancel := context.WithTimeout(ctx, storeTimeout)
	err := a.keys.Reload(sctx)
	if err == nil {
		err = a.store.writable(sctx)
	}
	cancel()
	c.add("storage", err, describeStorage(a.ctx.Storage()), "make the storage reachable and writable for the user that runs Caddy, with space left")
	c.add("data_dir", writable(a.DataDir), a.DataDir, "give the user that runs Caddy the right to write there, free some space, or name another folder with data_dir")
	a.checkInsights(ctx, c)
	sites := a.all()
	for _, f := range a.SiteFolders {
		f.check(sites, c)
	}
	for _, r := range sites {
		a.checkSite(ctx, r, c)
	}
	a.checkModel(ctx, c)
	return *c
}

// check reports folders of sites that can't be served.
func (f *SiteFolders) check(sites []*LiveSite, c *checks) {
	st, what := f.status(sites), "sites "+f.Folders
	if st.Held != "" {
		c.add(what, fmt.Errorf("%s; the sites are still served", st.Held), "", "make the folder readable for the user that runs Caddy, or put the folders back; a reload takes it as it is")
	} else {
		c.add(what, nil, fmt.Sprintf("%d sites", st.Sites), "")
	}
	for _, name := range slices.Sorted(maps.Keys(st.Refused)) {
		c.add(what+" folder "+name, errors.New(st.Refused[name]), "", "rename the folder, or move it elsewhere; it is not served as a site")
	}
}

// checkSite reports whether a site can be asked, and has pages to answer from.
func (a *App) checkSite(ctx context.Context, r *LiveSite, c *checks) {
	site := "site " + r.Name
	if a.keys.Opened(r.Organization, r.Name) {
		c.add(site+" key", nil, "there is one", "")
	} else {
		c.add(site+" key", errors.New("no key opens it"), "", "run: caddy docs key create --site "+r.Name)
	}
	if u, err := url.Parse(r.Config.URL); err != nil || u.Host == "" {
		found := "not set: results link by path"
		if len(r.hosts) == 0 {
			found += "; the site block names no host, so the widget and the MCP server answer only at localhost and IP addresses: write url, or the host"
		}
		c.add(site+" url", nil, found, "")
	} else {
		c.add(site+" url", nil, r.Config.URL, "")
	}
	base, err := a.checkAPI(ctx, r)
	c.add(site+" api", err, cmp.Or(base, "/")+" answers", whatToDo(err))
	a.checkIndex(ctx, r, c)
	if r.index == nil {
		if r.Config.Root != "" {
			_, err := os.ReadDir(r.Config.Root)
			c.add(site+" root", err, r.Config.Root, r.remedy(retrieval.Status{}))
		}
		return
	}
	st := r.index.refresher.Status()
	switch {
	case st.Error != "":
		c.add(site+" index", errors.New(st.Error), "", r.remedy(st))
	case st.Held != "":
		c.add(site+" index", fmt.Errorf("held back: %s", st.Held), "", "put the pages back, or wait: once the folder is quiet it is taken as it is")
	case !st.Ready:
		c.add(site+" index", fmt.Errorf("is being built: %d of %d", st.Done, st.Total), "", "wait; caddy docs index --wait shows progress")
	case st.Pages == 0:
		c.add(site+" index", errors.New("has no pages"), "", r.remedy(st))
	default:
		c.add(site+" index", nil, fmt.Sprintf("%d pages, %d sections, checked %s", st.Pages, st.Sections, st.Checked.Format(time.DateTime)), "")
	}
	r.checkPages(c)
	r.checkWidget(c)
	for _, p := range st.Problems {
		c.add(site+" page "+p.File, errors.New(p.Reason), "", "fix the page; the site is searched without it")
	}
	if e := st.Embeddings; e != nil && e.Error != "" {
		c.add(site+" embeddings", errors.New(e.Error), "", "make the embedder reachable; search is keyword search until then")
	} else if e != nil {
		c.add(site+" embeddings", nil, fmt.Sprintf("%d of %d sections", e.Done, e.Total), "")
	}
}

// checkModel reports whether the model answers.
func (a *App) checkModel(ctx context.Context, c *checks) {
	if a.models == nil {
		c.add("llm", nil, "none: replies are extractive", "")
		return
	}
	m := a.currentModel()
	if m == nil { // the command line works on a configuration that is not started
		opened, err := a.models.OpenModel(a.ctx.Slogger())
		if err != nil {
			c.add("llm", err, "", "check the configuration of llm")
			return
		}
		m = &pooledModel{opened}
		defer func() { _ = m.Destruct() }()
	}
	c.add("llm", m.check(ctx), m.Name(), "check address, key and model's name; replies are extractive until it answers")
}

// remedy is what to do about a site whose pages can't be read, or that has
// none.
func (r *LiveSite) remedy(st retrieval.Status) string {
	if r.Config.Sitemap != "" {
		if st.Error != "" {
			return "make the sitemap reachable, or correct its URL: sitemap " + r.Config.Sitemap
		}
		return "check that the sitemap lists pages below the site's url, and include and exclude"
	}
	write := "root /path/to/docs, in the block of site " + r.Name
	if r.at != nil {
		write = "docs " + r.Name + " /path/to/docs"
	}
	info, err := os.Stat(r.Config.Root)
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir():
		return "create the folder " + r.Config.Root + ", or name another one: " + write
	case errors.Is(err, fs.ErrPermission) || strings.Contains(st.Error, fs.ErrPermission.Error()):
		return "make the folder " + r.Config.Root + " and its files readable for the user that runs Caddy"
	case st.Error != "":
		return "fix it; the previous pages are served until then, and Caddy retries by itself"
	}
	return "write pages (.html, .htm, .md or .mdx files) into " + r.Config.Root + ", or name another folder: " + write + "; check include and exclude"
}

// checkPages reports which of the site's pages clients can open.
func (r *LiveSite) checkPages(c *checks) {
	pages := r.Pages()
	n, what := reach.Count(pages), "site "+r.Name+" pages"
	switch p, exclude := reach.FirstNotServed(pages); {
	case len(pages) == 0:
	case r.reach == nil:
		c.add(what, nil, "all count as public: locks are off", "")
	case r.reach.View().Elsewhere && r.reach.Named():
		c.add(what, fmt.Errorf("nothing in this Caddy serves the %d pages; all count as public", len(pages)), "", r.serve(pages[0].File))
	case r.reach.View().Elsewhere:
		c.add(what, nil, "all count as public: this Caddy does not serve them, by its configuration", "")
	case !r.reach.View().Complete:
		c.add(what, nil, fmt.Sprintf("%d of %d were not asked for yet and count as locked", n.Unknown, len(pages)), "")
	case reach.NoneOpens(pages) != nil:
		p := reach.NoneOpens(pages)
		c.add(what, fmt.Errorf("none of the %d pages opens, for example %s: %s; search and assistant have nothing to show", len(pages), p.URL, p.Why), "", r.serve(p.File))
	case p != nil:
		c.add(what, fmt.Errorf("%d of %d are not served, for example %s: %s", n.NotServed, len(pages), p.URL, p.Why), "",
			"serve them, or leave them out: "+exclude+"; caddy docs pages "+r.Name+" lists them")
	case n.Unknown > 0:
		p := reach.FirstUnknown(pages)
		c.add(what, fmt.Errorf("%d of %d count as locked, for example %s: %s", n.Unknown, len(pages), p.URL, p.Why), "",
			"make what serves them answer sooner and without limits for 192.0.2.1; they are asked for again on their own")
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
func (r *LiveSite) serve(file string) string {
	elsewhere := "if they are served elsewhere, write where: url https://…, in the block of site " + r.Name + "; if everybody may read every page: locks off"
	switch {
	case r.Config.Root == "":
		return "add the reverse_proxy to the upstream; " + elsewhere
	case strings.HasSuffix(file, ".md") || strings.HasSuffix(file, ".mdx"):
		return "render them (" + renderMarkdown + "), or serve the built site and name its folder; " + elsewhere
	}
	return "add: root * " + r.Config.Root + " and file_server; " + elsewhere
}

// writable returns an error if values can't be written to the storage.
func (s *store) writable(ctx context.Context) error {
	key := "docs/doctor/" + rand.Text()
	return errors.Join(s.Put(ctx, key, make([]byte, 4<<10)), s.Delete(ctx, key))
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
