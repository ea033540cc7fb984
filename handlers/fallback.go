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
