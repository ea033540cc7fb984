package handlers

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
)

// defaultMaxBody bounds a request's body where max_body does not. A chat
// hook sends the whole conversation with every question; 1 MB is some 200
// long turns.
const defaultMaxBody = 1_000_000

const (
	// firstBuffer is what is set aside for a body at first. A client only
	// announces its length; memory follows what came.
	firstBuffer = 64 << 10

	// bodyTime is how long a body may take to come, and bodyRate, in bytes a
	// second, earns a long one more time. Caddy sets no read_timeout of its
	// own, so that a client which sends nothing would stay for ever.
	bodyTime = 30 * time.Second
	bodyRate = 16_000
)

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
	body := make([]byte, 0, min(max(r.ContentLength, 512), firstBuffer)+1)
	reader := http.MaxBytesReader(w, r.Body, limit)
	inTime, done := bodyDeadline(w, r)
	defer done()
	for {
		inTime(len(body))
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
			w.Header().Set("Connection", "close")
			return nil, fail(http.StatusBadRequest, "broken_body", "the body broke off; send it again", err)
		}
		if len(body) == cap(body) {
			body = append(body, 0)[:len(body)]
		}
	}
}

// bodyDeadline returns a function that moves the deadline of a body, told how
// much of it came, and one that takes it off: net/http goes on reading, and
// would take a deadline for a client that went away. An operator's own
// read_timeout is left alone.
func bodyDeadline(w http.ResponseWriter, r *http.Request) (move func(came int), done func()) {
	if s, ok := r.Context().Value(http.ServerContextKey).(*http.Server); ok && s.ReadTimeout > 0 {
		return func(int) {}, func() {}
	}
	control, began := http.NewResponseController(w), time.Now()
	return func(came int) {
			_ = control.SetReadDeadline(began.Add(bodyTime + time.Duration(came)*time.Second/bodyRate)) // not every writer has one
		}, func() {
			_ = control.SetReadDeadline(time.Time{})
		}
}
