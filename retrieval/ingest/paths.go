package ingest

import (
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// siteURL parses a site's URL. The result's path ends in a slash.
func siteURL(s string) *url.URL {
	u, err := url.Parse(s)
	if err != nil {
		u = new(url.URL)
	}
	return &url.URL{Scheme: u.Scheme, Host: u.Host, Path: strings.TrimSuffix(u.Path, "/") + "/"}
}

// Wants reports whether file, a path below the root or the URL of a page, is
// a page of the site by its name: a known extension, not in a dot folder or a
// generator's internals, included and not excluded.
func (in *Ingester) Wants(file string) bool {
	file, _ = fragmentOf(file)
	if _, ok := absolute(file); !ok {
		name, f := path.Base(file), formatOf(file)
		// Generators do not serve partials and templates as pages.
		partial := strings.HasPrefix(name, "_") && !isIndex(name)
		if f == formatNone || partial || slices.ContainsFunc(strings.Split(file, "/"), func(s string) bool {
			return strings.HasPrefix(s, ".") || machineFolders.has(s)
		}) {
			return false
		}
	}
	candidates := in.candidates(file)
	return (len(in.include) == 0 || in.include.match(candidates)) && !in.exclude.match(candidates)
}

// candidates are the forms of a page's path that an operator may have in mind
// when writing a glob.
func (in *Ingester) candidates(file string) []string {
	page := in.Page(file)
	if u, ok := absolute(file); ok {
		return []string{"/" + page, "/" + page + "/", u.Path}
	}
	c := []string{"/" + page, "/" + file}
	if isIndex(path.Base(file)) && page != "" {
		c = append(c, "/"+page+"/")
	}
	if in.base.Path != "/" {
		c = append(c, in.base.Path+page)
	}
	return c
}

func absolute(file string) (*url.URL, bool) {
	if !strings.HasPrefix(file, "http://") && !strings.HasPrefix(file, "https://") {
		return nil, false
	}
	u, err := url.Parse(file)
	return u, err == nil
}

// isIndex reports whether a file is its folder's page. Hugo calls it _index.md.
func isIndex(name string) bool {
	stem := strings.TrimSuffix(name, path.Ext(name))
	return stem == "index" || stem == "_index" && formatOf(name) == formatMarkdown
}

// fragmentOf separates the fragment from the address of one of several documents
// of a page. Names of files may have a # as well.
func fragmentOf(file string) (page, fragment string) {
	page, fragment, ok := strings.Cut(file, "#")
	if _, isURL := absolute(file); ok && (isURL || formatOf(page) != formatNone) {
		return page, fragment
	}
	return file, ""
}

// Page names the page of a file below the root, or of a URL: the path without
// extension, "x" for x/index.html, "" for the front page, and x#y for one of its
// documents.
func (in *Ingester) Page(file string) (page string) {
	file, fragment := fragmentOf(file)
	if u, ok := absolute(file); ok {
		page = in.pageOf(u)
	} else {
		page = pageOfPath(file)
	}
	if fragment != "" {
		page += "#" + fragment
	}
	return page
}

func pageOfPath(p string) string {
	p = strings.Trim(path.Clean("/"+p), "/")
	dir, name := path.Split(p)
	if isIndex(name) {
		return strings.TrimSuffix(dir, "/")
	}
	if formatOf(name) != formatNone {
		name = strings.TrimSuffix(name, path.Ext(name))
	}
	return dir + name
}

// pageOf names the page at a URL: its path below the site's.
func (in *Ingester) pageOf(u *url.URL) string {
	p := u.Path
	if rest, ok := strings.CutPrefix(p+"/", in.base.Path); ok {
		p = rest
	}
	return pageOfPath(p)
}

// url is the URL at which a file is served.
func (in *Ingester) url(file string) string {
	file, fragment := fragmentOf(file)
	page := in.Page(file)
	p := page
	switch f := formatOf(file); {
	case isIndex(path.Base(file)):
		if page != "" {
			p += "/"
		}
	case f == formatHTML && !in.options.CleanURLs:
		p = strings.TrimPrefix(file, "/")
	}
	u := url.URL{Scheme: in.base.Scheme, Host: in.base.Host, Path: in.base.Path + p}
	address := u.EscapedPath()
	if u.Host != "" {
		address = u.String()
	}
	if fragment != "" {
		address += "#" + (&url.URL{Fragment: fragment}).EscapedFragment()
	}
	return address
}

// Prefer reports whether file a, not b, is indexed where both are files of
// one page: HTML wins over Markdown, that over MDX, x.html over
// x/index.html, then the first by name.
func (in *Ingester) Prefer(a, b string) bool {
	fa, fb := formatOf(a), formatOf(b)
	if fa != fb {
		return fb == formatNone || fa != formatNone && fa < fb
	}
	if ia, ib := isIndex(path.Base(a)), isIndex(path.Base(b)); ia != ib {
		return ib
	}
	return a < b
}

// canonical returns the URL that a page gives itself if that is of this site
// and names this page. Old versions often name the newest version's page, and
// builds for another host a page there.
func (in *Ingester) canonical(page, current, href string) (string, bool) {
	cur, err := url.Parse(current)
	if err != nil || href == "" {
		return "", false
	}
	u, err := cur.Parse(strings.TrimSpace(href))
	if err != nil || u.Host != cur.Host || u.RawQuery != "" || u.Scheme != "" && u.Scheme != "http" && u.Scheme != "https" {
		return "", false
	}
	other := in.pageOf(u)
	if other != page && (page == "" || !strings.HasSuffix(other, "/"+page)) {
		return "", false
	}
	u.Fragment, u.RawFragment = "", ""
	u.Scheme = cur.Scheme
	return u.String(), true
}

// link returns the page of this site to which u, a link on the page at current,
// leads.
func (in *Ingester) link(current, u *url.URL) (page, anchor string, ok bool) {
	switch {
	case u.Host != current.Host, u.Opaque != "", u.Scheme != current.Scheme && u.Scheme != "http" && u.Scheme != "https",
		formatOf(u.Path) == formatNone && assetExtensions.has(strings.ToLower(path.Ext(u.Path))), !strings.HasPrefix(u.Path+"/", in.base.Path):
		return "", "", false
	}
	return in.pageOf(u), u.Fragment, true
}

// Link returns where a link on a page leads: the URL, and the page and the
// anchor there. ok is false for links to anything but pages of the site.
func (in *Ingester) Link(d *retrieval.Document, href string) (u *url.URL, page, anchor string, ok bool) {
	base := baseOf(d, nil)
	u, err := base.Parse(strings.TrimSpace(href))
	if err != nil {
		return nil, "", "", false
	}
	page, anchor, ok = in.link(base, u)
	return u, page, anchor, ok
}
