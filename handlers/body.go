package handlers

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/caddy-docs/caddy-docs/encoding"
)

// Bounds of max_body, in bytes. A chat hook sends the whole conversation with
// every question; 1 MB is some 200 long turns.
const (
	defaultMaxBody = 1_000_000
	minMaxBody     = 1_000
	maxMaxBody     = 100_000_000

	// maxFiles bounds a body with its files, which chat hooks send again with
	// every later question.
	maxFiles = 20_000_000
)

// A body may take bodyTime, and a second more for each bodyRate bytes. Caddy
// only bounds the time between two reads.
const (
	bodyTime = 30 * time.Second
	bodyRate = 16_000
)

// readBody reads a JSON body whole, before the reply streams: HTTP/1 notices a
// client that went away only once its body was read. Of a body that may have
// files, at most whole bytes are read, and files that are not text are skipped;
// the limit is for the rest.
func readBody(w http.ResponseWriter, r *http.Request, limit, whole int64) ([]byte, error) {
	limit = cmp.Or(limit, defaultMaxBody)
	whole = max(limit, whole)
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || (media != "application/json" && !(strings.HasPrefix(media, "application/") && strings.HasSuffix(media, "+json"))) {
		return nil, Fail(http.StatusUnsupportedMediaType, "not_json", "the body must be JSON: send the header Content-Type: application/json", nil)
	}
	if coding := r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return nil, Fail(http.StatusUnsupportedMediaType, "not_json", "the body must be JSON that is not compressed: leave out the header Content-Encoding", nil)
	}
	do := "send a shorter one"
	if whole > limit {
		do = "send fewer or shorter messages"
	}
	tooLarge := func(what string, limit int64) error {
		w.Header().Set("Connection", "close")
		return Fail(http.StatusRequestEntityTooLarge, "too_large",
			fmt.Sprintf("%s is larger than %s; %s", what, humanize.Bytes(uint64(limit)), do), nil)
	}
	if r.ContentLength > whole {
		return nil, tooLarge("the body", whole)
	}
	defer BodyDeadline(w, r, whole)()
	var from io.Reader = http.MaxBytesReader(w, r.Body, whole)
	if whole > limit {
		from = io.LimitReader(encoding.SkipFiles(from), limit+1)
	}
	body, err := io.ReadAll(from)
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, tooLarge("the body", whole)
	}
	if err == nil && int64(len(body)) > limit {
		return nil, tooLarge("the body without its files", limit)
	}
	if err != nil {
		w.Header().Set("Connection", "close")
		return nil, Fail(http.StatusBadRequest, "broken_body", "the body ended early; send it again", err)
	}
	if encoding.HasGroups(body) {
		w.Header().Set(ignoredHeader, "groups")
	}
	return body, nil
}

// BodyDeadline sets the deadline of a body, and returns a function that clears
// it: net/http continues to read, and would take a deadline for a client that
// went away. It leaves the server's own read_timeout alone.
func BodyDeadline(w http.ResponseWriter, r *http.Request, limit int64) (clear func()) {
	if s, ok := r.Context().Value(http.ServerContextKey).(*http.Server); ok && s.ReadTimeout > 0 {
		return func() {}
	}
	length := r.ContentLength
	if length < 0 {
		length = limit
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyTime + time.Duration(length)*time.Second/bodyRate)) // not every writer has one
	return func() { _ = control.SetReadDeadline(time.Time{}) }
}
