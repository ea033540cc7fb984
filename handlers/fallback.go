package handlers

import (
	"errors"
	"io"
	"maps"
	"mime"
	"net/http"
	"strings"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// unlessFile gives the request to the site, and calls serve if the site has
// nothing at the path: no answer, 404, or an HTML page where no file is, as
// sites answer that are made of one page. hasFile reports whether there is a
// file, which may be HTML.
func unlessFile(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler, hasFile func() bool, serve func() error) error {
	f := &fallbackWriter{
		ResponseWriterWrapper: &caddyhttp.ResponseWriterWrapper{ResponseWriter: w},
		header:                w.Header().Clone(), hasFile: hasFile,
	}
	err := next.ServeHTTP(f, r)
	var he caddyhttp.HandlerError
	switch {
	case f.decided && !f.dropped:
		return err
	case err != nil && !(errors.As(err, &he) && he.StatusCode == http.StatusNotFound):
		if !f.dropped {
			f.keepHeader()
			return err
		}
	}
	return serve()
}

// whenServed gives the request to the site, and calls header for a response
// with the status 200 before it is sent. With serve, that response is dropped,
// and serve responds instead.
func whenServed(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler, serve func() error, header func(http.Header)) error {
	s := &servedWriter{ResponseWriterWrapper: &caddyhttp.ResponseWriterWrapper{ResponseWriter: w}, header: header}
	if serve == nil {
		return next.ServeHTTP(s, r)
	}
	s.drop, s.own = true, w.Header().Clone()
	asPage := r.Clone(r.Context())
	asPage.Header.Set("Accept", "text/html")
	for _, name := range []string{"If-None-Match", "If-Modified-Since", "Range"} {
		asPage.Header.Del(name)
	}
	if err := next.ServeHTTP(s, asPage); err != nil || s.status != http.StatusOK {
		return err
	}
	header(w.Header())
	return serve()
}

// servedWriter changes or drops a response with the status 200.
type servedWriter struct {
	*caddyhttp.ResponseWriterWrapper
	header func(http.Header)
	drop   bool
	own    http.Header // until the status is known; nil: that of the response
	status int
}

// Header implements http.ResponseWriter.
func (w *servedWriter) Header() http.Header {
	if w.own != nil {
		return w.own
	}
	return w.ResponseWriter.Header()
}

// WriteHeader implements http.ResponseWriter.
func (w *servedWriter) WriteHeader(status int) {
	if w.status != 0 || w.drop && status < 200 {
		return
	}
	if status >= 200 {
		w.status = status
	}
	switch {
	case status != http.StatusOK && w.own != nil:
		h := w.ResponseWriter.Header()
		clear(h)
		maps.Copy(h, w.own)
		w.own = nil
	case status != http.StatusOK:
	case w.drop:
		return
	default:
		w.header(w.Header())
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *servedWriter) dropped() bool { return w.drop && w.status == http.StatusOK }

// Write implements io.Writer.
func (w *servedWriter) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	if w.dropped() {
		return len(p), nil
	}
	return w.ResponseWriter.Write(p)
}

// ReadFrom implements io.ReaderFrom.
func (w *servedWriter) ReadFrom(r io.Reader) (int64, error) {
	if w.status == 0 || w.dropped() {
		return io.Copy(struct{ io.Writer }{w}, r)
	}
	return w.ResponseWriterWrapper.ReadFrom(r)
}

// FlushError flushes what is not dropped.
func (w *servedWriter) FlushError() error {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	if w.dropped() {
		return nil
	}
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// fallbackWriter holds the response back until its status is known, and drops
// it if the site has nothing at the path.
type fallbackWriter struct {
	*caddyhttp.ResponseWriterWrapper
	header           http.Header
	hasFile          func() bool
	decided, dropped bool
}

// Header implements http.ResponseWriter.
func (w *fallbackWriter) Header() http.Header {
	if w.decided && !w.dropped {
		return w.ResponseWriter.Header()
	}
	return w.header
}

func (w *fallbackWriter) keepHeader() {
	h := w.ResponseWriter.Header()
	clear(h)
	maps.Copy(h, w.header)
}

// WriteHeader implements http.ResponseWriter.
func (w *fallbackWriter) WriteHeader(status int) {
	if w.decided {
		if !w.dropped {
			w.ResponseWriter.WriteHeader(status)
		}
		return
	}
	if status < 200 { // early hints of something that may be dropped
		return
	}
	w.decided = true
	media, _, _ := mime.ParseMediaType(w.header.Get("Content-Type"))
	if status == http.StatusNotFound || status == http.StatusOK && strings.EqualFold(media, "text/html") && !w.hasFile() {
		w.dropped = true
		return
	}
	w.keepHeader()
	w.ResponseWriter.WriteHeader(status)
}

// Write implements io.Writer.
func (w *fallbackWriter) Write(p []byte) (int, error) {
	if !w.decided {
		if w.header.Get("Content-Type") == "" {
			w.header.Set("Content-Type", http.DetectContentType(p))
		}
		w.WriteHeader(http.StatusOK)
	}
	if w.dropped {
		return len(p), nil
	}
	return w.ResponseWriter.Write(p)
}

// ReadFrom implements io.ReaderFrom.
func (w *fallbackWriter) ReadFrom(r io.Reader) (int64, error) {
	if !w.decided || w.dropped {
		return io.Copy(struct{ io.Writer }{w}, r)
	}
	return w.ResponseWriterWrapper.ReadFrom(r)
}

// FlushError flushes what is kept.
func (w *fallbackWriter) FlushError() error {
	if !w.decided {
		w.WriteHeader(http.StatusOK)
	}
	if w.dropped {
		return nil
	}
	return http.NewResponseController(w.ResponseWriter).Flush()
}
