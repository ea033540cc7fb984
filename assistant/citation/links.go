package citation

import (
	"html"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// Rules say what answers may link to.
type Rules struct {
	// URL is the site's own, "" if unknown: links then lead to the hosts of
	// Passages.
	URL string
	// SupportURL may be linked to, with any scheme.
	SupportURL string
	// AllowLinks are hosts besides the site's own: "acme.com", "*.acme.com", or
	// a URL, whose host counts. A port means that port, none the scheme's own.
	AllowLinks []string
	// Current is the page that the reader is on, nil if unknown.
	Current *retrieval.Document
	// Passages are what the answer may rest on.
	Passages []Passage
	// PageAt names the page at a URL or path, where the pages are on several hosts.
	// Nil: PageName, below URL.
	PageAt func(address string) (name string)
	// Page returns another page by its name (see PageName), nil if there is
	// none. It is called for at most 100 names an answer.
	Page func(name string) *retrieval.Document
}

// Passage is a section of a page.
type Passage struct {
	Page             *retrieval.Document
	URL, Title, Text string
}

// maxLookups bounds the pages looked up for one answer.
const maxLookups = 100

// title names a URL that is linked without a text.
func (s *Rules) title(url string) string {
	for i := range s.Passages {
		if s.Passages[i].URL == url {
			return s.Passages[i].Title
		}
	}
	url = markdownURL(url)
	return strings.TrimPrefix(strings.TrimPrefix(url, "https://"), "http://")
}

// quotes reports whether a URL is in the text of a passage: what the pages say
// to type is shown as it is, though as code.
func (s *Rules) quotes(url string) bool {
	return slices.ContainsFunc(s.Passages, func(p Passage) bool { return strings.Contains(p.Text, url) })
}

func (s *Rules) isOwnHost(host string) bool {
	if base, err := url.Parse(s.URL); err == nil && base.Host != "" {
		return strings.EqualFold(base.Host, host)
	}
	return slices.ContainsFunc(s.Passages, func(p Passage) bool {
		u, err := url.Parse(p.URL)
		return err == nil && strings.EqualFold(u.Host, host)
	})
}

func (s *Rules) isAllowed(u *url.URL) bool {
	host := u.Hostname()
	if strings.Contains(host, "..") || strings.ContainsFunc(host, func(r rune) bool { return r < 0x80 && !isAlnum(byte(r)) && !strings.ContainsRune("-._", r) }) {
		return false // no host has such a name
	}
	port := u.Port()
	if u.Scheme == "https" && port == "443" || u.Scheme == "http" && port == "80" {
		port = ""
	}
	for _, a := range s.AllowLinks {
		if u, err := url.Parse(a); err == nil && u.Host != "" {
			a = u.Host
		}
		name, allowed, _ := strings.Cut(a, ":")
		if allowed == "443" && u.Scheme == "https" || allowed == "80" && u.Scheme == "http" {
			allowed = ""
		}
		if allowed != port {
			continue
		}
		if strings.EqualFold(name, host) {
			return true
		}
		if suffix, ok := strings.CutPrefix(name, "*"); ok && len(suffix) > 2 && suffix[0] == '.' &&
			len(host) > len(suffix) && strings.EqualFold(host[len(host)-len(suffix):], suffix) {
			return true
		}
	}
	return false
}

// resolve returns the URL that a link's destination means, as its page is
// served. ok is false for what must not be linked.
func (c *Checker) resolve(dest string) (address string, ok bool) {
	dest = strings.TrimSpace(html.UnescapeString(unescapeMarkdown(dest)))
	if dest == "" || len(dest) > maxHold {
		return "", false
	}
	for _, r := range dest {
		if r <= ' ' || r == 0x7f || r == '\\' || r == '\uFFFD' {
			return "", false
		}
	}
	if dest == c.site.SupportURL {
		return dest, true
	}
	if len(dest) > 4 && strings.EqualFold(dest[:4], "www.") {
		dest = "https://" + dest
	}
	u, err := url.Parse(dest)
	if err != nil || u.Opaque != "" || u.User != nil {
		return "", false
	}
	switch strings.ToLower(u.Scheme) {
	case "":
	case "http", "https":
		if u.Host == "" {
			return "", false
		}
	default:
		return "", false
	}
	// Renderers drop an empty port, and some end a bare URL at a capital letter.
	u.Host = strings.ToLower(strings.TrimSuffix(u.Host, ":"))
	d := c.page(u)
	if d == nil {
		foreign := u.Host != "" && !c.site.isOwnHost(u.Host)
		return u.String(), foreign && u.Scheme != "" && c.site.isAllowed(u)
	}
	if u.Fragment == "" || strings.Contains(d.URL, "#") {
		return d.URL, true
	}
	return d.URL + "#" + u.Fragment, slices.ContainsFunc(d.Sections, func(s retrieval.Section) bool { return s.Anchor == u.Fragment })
}

// page finds the page that a URL of the site names: that of a passage, another
// from the site's base, else relative to the current page. A fragment alone names
// the current page.
func (c *Checker) page(u *url.URL) *retrieval.Document {
	current := c.site.Current
	if u.Path == "" && u.Host == "" {
		if u.Fragment != "" {
			return current
		}
		return nil
	}
	for i := range c.site.Passages {
		d := c.site.Passages[i].Page
		if p, err := url.Parse(d.URL); err == nil && strings.EqualFold(p.Host, u.Host) && p.Path == u.Path && (p.Fragment == "" || p.Fragment == u.Fragment) {
			return d
		}
	}
	if d := c.lookup(u); d != nil {
		return d
	}
	if current != nil && u.Host == "" && !strings.HasPrefix(u.Path, "/") {
		if base, err := url.Parse(current.URL); err == nil {
			return c.lookup(&url.URL{Scheme: base.Scheme, Host: base.Host, Path: path.Join(path.Dir(base.Path), u.Path)})
		}
	}
	return nil
}

func (c *Checker) lookup(u *url.URL) *retrieval.Document {
	name, ok := "", false
	if c.site.PageAt != nil {
		name, ok = c.site.PageAt((&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, Fragment: u.Fragment}).String()), true
	} else if u.Host == "" || c.site.isOwnHost(u.Host) {
		name, ok = PageName((&url.URL{Path: u.Path}).String(), c.site.URL)
	}
	if !ok {
		return nil
	}
	for i := range c.site.Passages {
		if d := c.site.Passages[i].Page; d.Page == name {
			return d
		}
	}
	d, ok := c.pages[name]
	if !ok && len(c.pages) < maxLookups {
		d = c.site.Page(name)
		c.pages[name] = d
	}
	return d
}

// PageName returns the name of the page that a URL or path of a site means: its
// path below the site's base URL, without extension, query, fragment and
// "/index". ok is false for what can't be of this site.
func PageName(address, base string) (name string, ok bool) {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil {
		return "", false
	}
	b, _ := url.Parse(base)
	if u.Host != "" || u.Scheme != "" {
		if u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "" {
			return "", false
		}
		if base != "" && (b == nil || b.Host != "" && !strings.EqualFold(u.Host, b.Host)) {
			return "", false
		}
	}
	p := path.Clean("/" + u.Path)
	if b != nil {
		if bp := strings.TrimSuffix(path.Clean("/"+b.Path), "/"); bp != "" {
			if rest, found := strings.CutPrefix(p, bp); found && (rest == "" || rest[0] == '/') {
				p = rest
			}
		}
	}
	p = strings.Trim(p, "/")
	for _, ext := range []string{".html", ".htm", ".mdx", ".md"} {
		if rest, found := strings.CutSuffix(p, ext); found {
			p = rest
			break
		}
	}
	if p == "index" {
		return "", true
	}
	return strings.TrimSuffix(p, "/index"), true
}
