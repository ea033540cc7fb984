package ui

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"mime"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"golang.org/x/net/html"

	"github.com/caddy-docs/caddy-docs/handlers"
	"github.com/caddy-docs/caddy-docs/handlers/reach"
	"github.com/caddy-docs/caddy-docs/handlers/site"
)

const (
	// maxInjected is the length of the longest page that gets the tag.
	maxInjected = 4 << 20
	// maxHead is how much of a page is searched for the end of its head.
	maxHead = 256 << 10
	// suffixName begins what is added to the ETags of pages with the tag.
	suffixName = "-docs"
)

// inject passes a request on, and puts the tag into the page that comes back.
func (wd *Widget) inject(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	if r.Method != http.MethodGet && r.Method != http.MethodHead || reach.IsInside(r) || !wd.App().AwaitStart(r.Context()) {
		return next.ServeHTTP(w, r)
	}
	site := wd.App().SiteAt(r.Host)
	if len(wd.Sites) > 0 {
		site = wd.App().Site(wd.Sites[0])
	}
	if site == nil {
		return next.ServeHTTP(w, r)
	}
	tag := `<script src="` + html.EscapeString(stripped(r)+"/v1/"+handlers.APIWidget+"/"+site.Name+".js") + `" defer></script>`
	links, link := handlers.LinksOf(r)
	tag += links
	sum := sha256.Sum256([]byte(tag + link))
	in := &injector{
		ResponseWriterWrapper: &caddyhttp.ResponseWriterWrapper{ResponseWriter: w},
		r:                     r, site: site, tag: tag, link: link, suffix: suffixName + hex.EncodeToString(sum[:3]),
	}
	restore := in.prepare(r)
	err := next.ServeHTTP(in, r)
	restore()
	return in.finish(err)
}

// injector puts the tag into a page on its way to the client: before the end of
// its head, which is all that it holds back.
type injector struct {
	*caddyhttp.ResponseWriterWrapper
	r      *http.Request
	site   *site.Site
	tag    string
	link   string // for the beginning of the body
	suffix string // of ETags

	state    int
	status   int
	known    bool // the client has this page with the tag
	flushing bool
	head     []byte // held back
	next     int    // the length of head at which to look again
}

// How far an injector is.
const (
	untouched = iota // no header was written
	sniffing         // a 200 without a type, which its first bytes will say
	holding          // a page whose head is being read
	passing          // everything goes on to the client
)

// prepare asks the handlers behind for a whole page that is not encoded, and
// returns a function that restores the header: others read it later, such as
// the access log.
func (in *injector) prepare(r *http.Request) (restore func()) {
	if !asksForPage(r) {
		return func() {}
	}
	names := []string{"Accept-Encoding", "Range", "If-Range", "If-Modified-Since", "If-None-Match", "If-Match"}
	saved := make([][]string, len(names))
	for i, name := range names {
		saved[i] = r.Header[name]
		delete(r.Header, name)
	}
	// The handlers behind know the ETag without our suffix. A copy without it
	// is of the page without the tag.
	for _, etags := range saved[5] {
		r.Header.Add("If-Match", strings.ReplaceAll(etags, in.suffix+`"`, `"`))
	}
	var tags []string
	for etag := range strings.SplitSeq(strings.Join(saved[4], ","), ",") {
		etag = strings.TrimSpace(etag)
		if page, ok := strings.CutSuffix(etag, in.suffix+`"`); ok {
			tags, in.known = append(tags, page+`"`), true
		} else if etag == "*" {
			tags = append(tags, etag)
		}
	}
	if len(tags) > 0 {
		r.Header.Set("If-None-Match", strings.Join(tags, ", "))
	}
	return func() {
		for i, name := range names {
			if delete(r.Header, name); saved[i] != nil {
				r.Header[name] = saved[i]
			}
		}
	}
}

// asksForPage reports whether a request is probably for an HTML page, so that
// others may be answered in parts and compressed.
func asksForPage(r *http.Request) bool {
	switch ext := path.Ext(r.URL.Path); ext {
	case "", ".html", ".htm":
		return true
	default:
		media := mime.TypeByExtension(ext)
		return strings.HasSuffix(r.URL.Path, "/") ||
			strings.Contains(r.Header.Get("Accept"), "text/html") && (media == "" || strings.HasPrefix(media, "text/html") || strings.HasPrefix(media, "text/markdown"))
	}
}

// WriteHeader decides what happens to the response.
func (in *injector) WriteHeader(status int) {
	if in.state != untouched || status >= 100 && status < 200 && status != http.StatusSwitchingProtocols {
		in.ResponseWriterWrapper.WriteHeader(status)
		return
	}
	in.status = status
	h := in.Header()
	switch {
	case status == http.StatusNotModified && in.known:
		in.addSuffix()
		in.pass()
	case status != http.StatusOK && status != http.StatusNotFound || !in.mayHaveTag():
		in.pass()
	case h.Get("Content-Type") == "" && in.r.Method == http.MethodGet:
		in.state = sniffing
	case !isPage(h.Get("Content-Type")) || in.refused(h.Values("Content-Security-Policy")):
		in.pass()
	case in.r.Method == http.MethodHead:
		h["Content-Length"] = nil // that with the tag is not known; without an entry, HTTP/3 says 0
		in.change()
		in.pass()
	default:
		in.state = holding
	}
}

// mayHaveTag reports whether the header of a page leaves room for the tag.
func (in *injector) mayHaveTag() bool {
	h := in.Header()
	if e := h.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") || h.Get("Content-Range") != "" {
		return false
	}
	n, err := strconv.ParseInt(h.Get("Content-Length"), 10, 64)
	return err != nil || n <= maxInjected
}

// isPage reports whether a type is that of an HTML page whose letters are
// ASCII's.
func isPage(contentType string) bool {
	media, params, err := mime.ParseMediaType(contentType)
	return err == nil && media == "text/html" && !strings.HasPrefix(strings.ToLower(params["charset"]), "utf-16")
}

// pass writes the header; everything goes on from now on.
func (in *injector) pass() {
	in.state = passing
	in.ResponseWriterWrapper.WriteHeader(in.status)
}

// change makes the header that of a page with the tag.
func (in *injector) change() {
	h := in.Header()
	in.addSuffix()
	for _, name := range []string{"Accept-Ranges", "Digest", "Content-Digest", "Repr-Digest", "Content-Md5"} {
		h.Del(name)
	}
}

func (in *injector) addSuffix() {
	h := in.Header()
	if etag, ok := strings.CutSuffix(h.Get("ETag"), `"`); ok && !strings.HasSuffix(etag, in.suffix) {
		h.Set("ETag", etag+in.suffix+`"`)
	}
}

// Write passes on what it gets, or holds it back until the head is whole.
func (in *injector) Write(p []byte) (int, error) {
	if in.state == untouched {
		in.WriteHeader(http.StatusOK)
	}
	if in.state == sniffing && len(p) > 0 {
		in.sniff(p)
	}
	if in.state != holding {
		return in.ResponseWriterWrapper.Write(p)
	}
	in.head = append(in.head, p...)
	if len(in.head) < in.next {
		return len(p), nil
	}
	return len(p), in.look(false)
}

// sniff decides by the first bytes what a page without a type is, as net/http
// does.
func (in *injector) sniff(p []byte) {
	h := in.Header()
	h.Set("Content-Type", http.DetectContentType(p))
	if isPage(h.Get("Content-Type")) && !in.refused(h.Values("Content-Security-Policy")) {
		in.state = holding
		return
	}
	in.pass()
}

// look puts the tag into what is held back, if that has the end of the head.
func (in *injector) look(whole bool) error {
	head := readHead(in.head, whole)
	switch {
	case head.at >= 0 && (head.hasTag || !head.document || in.refused(head.policies)):
		return in.release(nil)
	case head.more && !in.flushing && in.link != "" && len(in.head) <= maxHead: // the link waits, a page that is streamed doesn't
	case head.at >= 0 && head.body > 0:
		return in.release(slices.Concat(in.head[:head.at], []byte(in.tag), in.head[head.at:head.body], []byte(in.link), in.head[head.body:]))
	case head.at >= 0:
		return in.release(slices.Concat(in.head[:head.at], []byte(in.tag), in.head[head.at:]))
	case len(in.head) > maxHead || whole:
		return in.release(nil)
	}
	in.next = len(in.head) + len(in.head)/4 + 1 // not again for every byte
	return nil
}

// release sends what was held back, or that with the tag, nil for no tag.
func (in *injector) release(changed []byte) error {
	h, held := in.Header(), in.head
	if changed != nil {
		if n, err := strconv.Atoi(h.Get("Content-Length")); err == nil {
			h.Set("Content-Length", strconv.Itoa(n+len(changed)-len(held)))
		}
		in.change()
		held = changed
	}
	in.head = nil
	in.pass()
	if _, err := in.ResponseWriterWrapper.Write(held); err != nil { //nolint:gosec // the page, as the handler behind wrote it
		return err
	}
	if in.flushing {
		return http.NewResponseController(in.ResponseWriterWrapper.ResponseWriter).Flush()
	}
	return nil
}

// ReadFrom lets files without the tag be sent by the system.
func (in *injector) ReadFrom(from io.Reader) (n int64, err error) {
	if in.state == passing {
		return in.ResponseWriterWrapper.ReadFrom(from)
	}
	return io.Copy(struct{ io.Writer }{in}, from)
}

// FlushError sends what there is, except a head that is not whole.
func (in *injector) FlushError() error {
	if in.state == untouched {
		in.WriteHeader(http.StatusOK)
	}
	if in.state == sniffing {
		return nil // nothing was written
	}
	if in.state == holding {
		in.flushing = true
		return in.look(false)
	}
	return http.NewResponseController(in.ResponseWriterWrapper.ResponseWriter).Flush()
}

func (in *injector) Flush() { _ = in.FlushError() }

// finish sends what is still held back. A handler that failed leaves the
// response to other handlers if none of it was sent.
func (in *injector) finish(err error) error {
	switch {
	case in.state == sniffing:
		in.pass()
	case in.state == holding && err == nil:
		return in.look(true)
	}
	return err
}

var (
	_ http.ResponseWriter = (*injector)(nil)
	_ http.Flusher        = (*injector)(nil)
	_ io.ReaderFrom       = (*injector)(nil)
)
