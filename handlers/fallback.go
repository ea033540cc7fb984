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
	return unless(w, r, next, serve, func(status int, h http.Header) bool {
		media, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
		return status == http.StatusNotFound || status == http.StatusOK && strings.EqualFold(media, "text/html") && !hasFile()
	})
}

// unless gives the request to the site, and calls serve if its response, 404 for
// none, is missing by its header.
func unless(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler, serve func() error, missing func(int, http.Header) bool) error {
	s := holdResponse(w, func(status int, h http.Header) bool { return !missing(status, h) })
	err := next.ServeHTTP(s, r)
	if s.dropped {
		return serve()
	}
	var he caddyhttp.HandlerError
	if s.status == 0 && (err == nil || errors.As(err, &he) && he.StatusCode == http.StatusNotFound) && missing(http.StatusNotFound, nil) {
		return serve()
	}
	s.release()
	return err
}

// whenServed gives the request to the site, and calls header for a response
// with the status 200 before it is sent. With serve, that response is dropped,
// and serve responds instead.
func whenServed(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler, serve func() error, header func(http.Header)) error {
	s := holdResponse(w, func(status int, h http.Header) bool {
		if status == http.StatusOK && serve == nil {
			header(h)
		}
		return status != http.StatusOK || serve == nil
	})
	if serve == nil {
		s.header = nil // so that early hints are sent, too
	} else {
		r = r.Clone(r.Context())
		r.Header.Set("Accept", "text/html")
		for _, name := range []string{"If-None-Match", "If-Modified-Since", "Range"} {
			r.Header.Del(name)
		}
	}
	if err := next.ServeHTTP(s, r); err != nil || !s.dropped {
		s.release()
		return err
	}
	header(w.Header())
	return serve()
}

// siteResponse holds the header of a response back until its status is known,
// and then sends the response or drops it.
type siteResponse struct {
	*caddyhttp.ResponseWriterWrapper
	header  http.Header // held back; nil: that of the response
	send    func(status int, h http.Header) bool
	status  int // 0 until it is known
	dropped bool
}

func holdResponse(w http.ResponseWriter, send func(int, http.Header) bool) *siteResponse {
	return &siteResponse{
		ResponseWriterWrapper: &caddyhttp.ResponseWriterWrapper{ResponseWriter: w}, header: w.Header().Clone(), send: send,
	}
}

// Header implements http.ResponseWriter.
func (w *siteResponse) Header() http.Header {
	if w.header != nil {
		return w.header
	}
	return w.ResponseWriter.Header()
}

// release makes the header that is held back that of the response.
func (w *siteResponse) release() {
	if w.header == nil || w.dropped {
		return
	}
	h := w.ResponseWriter.Header()
	clear(h)
	maps.Copy(h, w.header)
	w.header = nil
}

// WriteHeader implements http.ResponseWriter.
func (w *siteResponse) WriteHeader(status int) {
	if w.status == 0 && status >= 200 {
		w.status = status
		w.dropped = !w.send(status, w.Header())
		w.release()
	}
	if w.header == nil { // else it may be an early hint of something that is dropped
		w.ResponseWriter.WriteHeader(status)
	}
}

// Write implements io.Writer.
func (w *siteResponse) Write(p []byte) (int, error) {
	if w.status == 0 {
		if w.header != nil && w.header.Get("Content-Type") == "" {
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
func (w *siteResponse) ReadFrom(r io.Reader) (int64, error) {
	if w.status == 0 || w.dropped {
		return io.Copy(struct{ io.Writer }{w}, r)
	}
	return w.ResponseWriterWrapper.ReadFrom(r)
}

// FlushError flushes what is not dropped.
func (w *siteResponse) FlushError() error {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	if w.dropped {
		return nil
	}
	return http.NewResponseController(w.ResponseWriter).Flush()
}
