package assistant

import (
	"bytes"
	"context"
	"html"
	"net/netip"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// links decides which addresses an answer may link to: pages of the index,
// with an anchor that exists on them, written as they are served; the hosts
// that the operator allows; the support address. It keeps count of what the
// answer cites and of the identifiers in its code.
type links struct {
	ctx   context.Context
	r     *run
	pages map[string]*retrieval.Document
	asked int

	cited map[string]bool // addresses linked to
	code  []byte          // of spans and blocks, a line each
	open  int             // where the open span's code begins

	unanswered bool // the model said that the docs don't answer
}

const (
	maxLookups = 100      // pages looked up for one answer
	maxCode    = 64 << 10 // bytes of code looked at for identifiers
)

func newLinks(ctx context.Context, r *run) *links {
	return &links{ctx: ctx, r: r, pages: make(map[string]*retrieval.Document), cited: make(map[string]bool)}
}

// marked tells whether a bracket is the mark of an unanswered question.
func (l *links) marked(b []byte) bool {
	if string(b) != unansweredMark {
		return false
	}
	l.unanswered = true
	return true
}

// resolve returns the address that a link's destination stands for, as it is
// to be written into Markdown; ok is false for what must not be linked.
func (l *links) resolve(dest string) (address string, ok bool) {
	dest = strings.TrimSpace(html.UnescapeString(unescapeMarkdown(dest)))
	if dest == "" || len(dest) > maxHold {
		return "", false
	}
	for _, r := range dest {
		if r <= ' ' || r == 0x7f || r == '\\' || r == '\uFFFD' {
			return "", false
		}
	}
	site := &l.r.a.Site
	if site.SupportURL != "" && dest == site.SupportURL {
		return forMarkdown(dest), true
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
	if u.Host != "" && !l.ownHost(u.Host) {
		if u.Scheme != "" && l.allowedHost(u.Hostname()) {
			return forMarkdown(u.String()), true
		}
		return "", false
	}
	d := l.page(u)
	if d == nil {
		return "", false
	}
	if u.Fragment == "" {
		return forMarkdown(d.URL), true
	}
	for i := range d.Sections {
		if d.Sections[i].Anchor == u.Fragment {
			return forMarkdown(sectionURL(d, i)), true
		}
	}
	return "", false
}

// page finds the page that an address of the site names: from the site's
// base, else relative to the page that the reader is on, else "#anchor" there.
func (l *links) page(u *url.URL) *retrieval.Document {
	on := l.r.q.page
	if u.Path == "" && u.Host == "" {
		if u.Fragment != "" {
			return on
		}
		return nil
	}
	base := l.r.a.Site.URL
	ref := url.URL{Path: u.Path}
	if name, ok := pageName(ref.String(), base); ok {
		if d := l.lookup(name); d != nil {
			return d
		}
	}
	if on != nil && u.Host == "" && !strings.HasPrefix(u.Path, "/") {
		if b, err := url.Parse(on.URL); err == nil {
			p := path.Join(path.Dir(b.Path), u.Path)
			if name, ok := pageName((&url.URL{Path: p}).String(), base); ok {
				return l.lookup(name)
			}
		}
	}
	return nil
}

// lookupTime bounds a page's look-up: the index may be on another server,
// and the reader waits.
const lookupTime = 500 * time.Millisecond

func (l *links) lookup(name string) *retrieval.Document {
	for i := range l.r.passages {
		if d := l.r.passages[i].document; d.Page == name {
			return d
		}
	}
	d, ok := l.pages[name]
	if ok {
		return d
	}
	if l.asked++; l.asked > maxLookups {
		return nil
	}
	ctx, cancel := context.WithTimeout(l.ctx, lookupTime)
	defer cancel()
	d, err := l.r.a.Search.Page(ctx, name)
	if err != nil {
		d = nil // not known to exist is not linked
	}
	l.pages[name] = d
	return d
}

// ownHost tells whether a host is the site's.
func (l *links) ownHost(host string) bool {
	if base, err := url.Parse(l.r.a.Site.URL); err == nil && base.Host != "" {
		return strings.EqualFold(base.Host, host)
	}
	// A site whose address nobody wrote: its pages may name it themselves.
	for i := range l.r.passages {
		if u, err := url.Parse(l.r.passages[i].url); err == nil && u.Host != "" && strings.EqualFold(u.Host, host) {
			return true
		}
	}
	return false
}

// allowedHost tells whether a host is one of allow_links ("acme.com",
// "*.acme.com"; a whole address counts by its host).
func (l *links) allowedHost(host string) bool {
	for _, a := range l.r.a.Site.AllowLinks {
		if u, err := url.Parse(a); err == nil && u.Host != "" {
			a = u.Hostname()
		}
		if strings.EqualFold(a, host) {
			return true
		}
		if suffix, ok := strings.CutPrefix(a, "*"); ok && len(suffix) > 2 && suffix[0] == '.' &&
			len(host) > len(suffix) && strings.EqualFold(host[len(host)-len(suffix):], suffix) {
			return true
		}
	}
	return false
}

// quoted tells whether an address stands in a passage: what the docs tell to
// type is then shown whole, though as code.
func (l *links) quoted(address string) bool {
	for i := range l.r.passages {
		if strings.Contains(l.r.passages[i].text, address) {
			return true
		}
	}
	return false
}

// title names a page or section by its address.
func (l *links) title(address string) string {
	for i := range l.r.passages {
		if forMarkdown(l.r.passages[i].url) == address {
			return l.r.passages[i].title
		}
	}
	return strings.TrimPrefix(strings.TrimPrefix(address, "https://"), "http://")
}

func (l *links) cite(address string) { l.cited[address] = true }

// cited returns the ids of the sources that the answer links to: by section,
// or by page where it links to another part of it.
func (r *run) cited() []string {
	if r.check == nil {
		return nil
	}
	return r.citedBy(r.check.links.cited)
}

func (r *run) citedBy(addresses map[string]bool) []string {
	var ids []string
	exact := make(map[string]bool)
	pages := make(map[string]bool)
	for i := range r.passages {
		exact[forMarkdown(r.passages[i].url)] = true
	}
	for a := range addresses {
		if !exact[a] {
			page, _, _ := strings.Cut(a, "#")
			pages[page] = true
		}
	}
	for i := range r.passages {
		p := &r.passages[i]
		page := forMarkdown(p.document.URL)
		if addresses[forMarkdown(p.url)] || pages[page] {
			ids = append(ids, p.id)
			delete(pages, page)
		}
	}
	return ids
}

// forMarkdown writes an address so that nothing in it ends a link or begins
// something else.
func forMarkdown(address string) string {
	if !strings.ContainsAny(address, "()<>[]\\`* _~|'\"&\t\n") {
		return address
	}
	var b strings.Builder
	for i := 0; i < len(address); i++ {
		switch c := address[i]; c {
		case '(', ')', '<', '>', '[', ']', '\\', '`', '*', ' ', '|', '"', '\t', '\n':
			b.WriteByte('%')
			b.WriteByte("0123456789ABCDEF"[c>>4])
			b.WriteByte("0123456789ABCDEF"[c&15])
		case '&':
			b.WriteString("&amp;")
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

func unescapeMarkdown(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && isPunct(s[i+1]) {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// localHost tells whether an address is the reader's own machine or one of
// the names kept for examples: it then stays readable as a whole.
func localHost(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	h := strings.ToLower(u.Hostname())
	if ip, err := netip.ParseAddr(h); err == nil {
		return ip.IsLoopback() || ip.IsPrivate() || ip.IsUnspecified()
	}
	for _, s := range []string{"localhost", "example.com", "example.org", "example.net", "example", "test", "internal"} {
		if h == s || strings.HasSuffix(h, "."+s) {
			return true
		}
	}
	return false
}

// sawSpan, endSpan, dropSpan and sawCode collect the answer's code.
func (l *links) sawSpan(b byte) {
	if len(l.code) < maxCode {
		l.code = append(l.code, b)
	}
}

func (l *links) endSpan() {
	l.code = append(l.code, '\n')
	l.open = len(l.code)
}

func (l *links) dropSpan() { l.code = l.code[:min(l.open, len(l.code))] }

func (l *links) sawCode(b []byte) {
	if len(l.code)+len(b) < maxCode {
		l.code = append(l.code, b...)
		if bytes.IndexByte(b, '\n') >= 0 {
			l.open = len(l.code)
		}
	}
}
