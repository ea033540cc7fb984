package handlers

import (
	"compress/gzip"
	"io"
	"net/http"
	"slices"
	"sync"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp/encode"
)

// zippers are writers that are used again: a new one costs a megabyte.
var zippers = sync.Pool{New: func() any {
	z, _ := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed) // the level is valid
	return z
}}

// zip writes a response compressed with gzip if the client accepts that. Caddy's
// encode leaves it as it is.
func zip(w http.ResponseWriter, r *http.Request, write func(io.Writer) error) error {
	w.Header().Add("Vary", "Accept-Encoding")
	if !slices.Contains(encode.AcceptedEncodings(r, nil), "gzip") {
		return write(w)
	}
	w.Header().Set("Content-Encoding", "gzip")
	z := zippers.Get().(*gzip.Writer)
	defer zippers.Put(z)
	z.Reset(w)
	if err := write(z); err != nil {
		return err
	}
	return z.Close()
}
