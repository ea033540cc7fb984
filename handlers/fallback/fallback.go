// Package fallback lets a site answer a request first, and something else where
// it has nothing.
package fallback

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"mime"
	"net/http"
	"strings"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// UnlessFile gives the request to the site, and calls serve if the site has
// nothing at the path: no answer, 404, or an HTML page where no file is, as
// sites answer that are made of one page. hasFile reports whether there is a
// file, which may be HTML.
func UnlessFile(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler, hasFile func() bool, serve func() error) error {
	return Unless(w, r, next, serve, func(status int, h http.Header) bool {
		media, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
		return status == http.StatusNotFound || status == http.StatusOK && strings.EqualFold(media, "text/html") && !hasFile()
	})
}

// Unless gives the request to the site, and calls serve if its response, 404 for
// none, is missing by its header.
func Unless(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler, serve func() error, missing func(int, http.Header) bool) error {
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

// WhenServed gives the request to the site, and calls header for a response
// with the status 200 before it is sent. With serve, that response is dropped,
// and serve responds instead.
func WhenServed(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler, serve func() error, header func(http.Header)) error {
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

// Response is a 404 of the site.
type Response struct {
	Header http.Header
	Body   []byte
}

// maxBody bounds the body of a Response. One that is longer is sent as it is.
const maxBody = 1 << 20

// NotFound gives the request to the site, and calls serve where that fails with
// 404, with nil, or responds with 404, if take wants that response by its header.
// If serve returns false, the client gets what the site has for it. Nothing else
// is held back, so that early hints and WebSockets pass.
func NotFound(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler, take func(http.Header) bool, serve func(*Response) bool) error {
	s := holdResponse(w, func(status int, h http.Header) bool { return status != http.StatusNotFound || !take(h) })
	before := s.header
	s.header, s.kept = nil, new(bytes.Buffer)
	err := next.ServeHTTP(s, r)
	var he caddyhttp.HandlerError
	if !s.dropped && (s.status != 0 || !errors.As(err, &he) || he.StatusCode != http.StatusNotFound) {
		return err
	}
	header := w.Header().Clone()
	s.setHeader(before)
	if !s.dropped {
		if serve(nil) {
			return nil
		}
		s.setHeader(header)
		return err
	}
	if serve(&Response{header, s.kept.Bytes()}) {
		return nil
	}
	s.setHeader(header)
	return s.sendKept()
}

// Answered gives the request to the site, and reports whether it responded.
func Answered(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) (answered bool, err error) {
	s := holdResponse(w, func(int, http.Header) bool { return true })
	s.header = nil // nothing is dropped
	err = next.ServeHTTP(s, r)
	return s.status != 0, err
}

// siteResponse holds the header of a response back until its status is known,
// and then sends the response or drops it.
type siteResponse struct {
	*caddyhttp.ResponseWriterWrapper
	header  http.Header // held back; nil: that of the response
	send    func(status int, h http.Header) bool
	status  int // 0 until it is known
	dropped bool
	kept    *bytes.Buffer // the body of what is dropped, nil: it is not kept
}

// sendKept sends what was to be dropped.
func (w *siteResponse) sendKept() error {
	w.dropped = false
	w.release()
	w.ResponseWriter.WriteHeader(w.status)
	_, err := w.kept.WriteTo(w.ResponseWriter)
	return err
}

func holdResponse(w http.ResponseWriter, send func(int, http.Header) bool) *siteResponse {
	return &siteResponse{
		ResponseWriterWrapper: &caddyhttp.ResponseWriterWrapper{ResponseWriter: w}, header: w.Header().Clone(), send: send,
	}
}

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
	w.setHeader(w.header)
	w.header = nil
}

// setHeader replaces the header of the response.
func (w *siteResponse) setHeader(by http.Header) {
	h := w.ResponseWriter.Header()
	clear(h)
	maps.Copy(h, by)
}

func (w *siteResponse) WriteHeader(status int) {
	if w.status == 0 && status >= 200 {
		w.status = status
		w.dropped = !w.send(status, w.Header())
		w.release()
	}
	if w.header == nil && !w.dropped { // else it may be an early hint of something that is dropped
		w.ResponseWriter.WriteHeader(status)
	}
}

func (w *siteResponse) Write(p []byte) (int, error) {
	if w.status == 0 {
		if w.header != nil && w.header.Get("Content-Type") == "" {
			w.header.Set("Content-Type", http.DetectContentType(p))
		}
		w.WriteHeader(http.StatusOK)
	}
	if w.dropped && w.kept != nil && w.kept.Len()+len(p) > maxBody {
		if err := w.sendKept(); err != nil {
			return 0, err
		}
	}
	if w.dropped && w.kept != nil {
		return w.kept.Write(p)
	}
	if w.dropped {
		return len(p), nil
	}
	return w.ResponseWriter.Write(p)
}

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
