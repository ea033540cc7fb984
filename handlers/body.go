package handlers

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/dustin/go-humanize"
)

// defaultMaxBody bounds a request's body where max_body does not. A chat
// hook sends the whole conversation with every question; 1 MB is some 200
// long turns.
const defaultMaxBody = 1_000_000

// readBody reads a JSON body whole, and no more of one that is too large
// than it takes to know it. The whole body is read before a reply streams,
// also because HTTP/1 notices a client that went away only then.
func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	if limit <= 0 {
		limit = defaultMaxBody
	}
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || (media != "application/json" && !(strings.HasPrefix(media, "application/") && strings.HasSuffix(media, "+json"))) {
		return nil, fail(http.StatusUnsupportedMediaType, "not_json", "the body must be JSON: send the header Content-Type: application/json", nil)
	}
	tooLarge := func() error {
		w.Header().Set("Connection", "close")
		return fail(http.StatusRequestEntityTooLarge, "too_large",
			fmt.Sprintf("the body is larger than %s; send fewer or shorter messages", humanize.Bytes(uint64(limit))), nil)
	}
	if r.ContentLength > limit {
		return nil, tooLarge()
	}
	body := make([]byte, 0, max(r.ContentLength, 512)+1)
	reader := http.MaxBytesReader(w, r.Body, limit)
	for {
		n, err := reader.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		if err != nil {
			var mbe *http.MaxBytesError
			switch {
			case errors.Is(err, io.EOF):
				return body, nil
			case errors.As(err, &mbe):
				return nil, tooLarge()
			}
			return nil, fail(http.StatusBadRequest, "broken_body", "the body broke off; send it again", err)
		}
		if len(body) == cap(body) {
			body = append(body, 0)[:len(body)]
		}
	}
}
