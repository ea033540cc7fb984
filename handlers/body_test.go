package handlers

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// deadlines is a response of a connection whose reads have a deadline.
type deadlines struct {
	*httptest.ResponseRecorder
	set []time.Time
}

func (d *deadlines) SetReadDeadline(t time.Time) error {
	d.set = append(d.set, t)
	return nil
}

// drip is a body that comes n bytes at a time, and then not at all.
type drip struct {
	parts int
	then  error
}

func (d *drip) Read(p []byte) (int, error) {
	if d.parts == 0 {
		return 0, d.then
	}
	d.parts--
	return copy(p, `{"a":`), nil
}

func (*drip) Close() error { return nil }

func bodyRequest(body io.Reader, announced int64) (*deadlines, *http.Request) {
	r := httptest.NewRequest(http.MethodPost, "/v1/search/acme", body)
	r.Header.Set("Content-Type", "application/json")
	r.ContentLength = announced
	return &deadlines{ResponseRecorder: httptest.NewRecorder()}, r
}

// An announced length costs the client nothing: a thousand connections that
// announce a megabyte and send a byte must not be a gigabyte.
func TestMemoryFollowsWhatCameNotWhatWasAnnounced(t *testing.T) {
	w, r := bodyRequest(&drip{parts: 3, then: io.EOF}, defaultMaxBody)
	body, err := readBody(w, r, 0, 0)
	if err != nil || len(body) != 15 {
		t.Fatalf("%q, %v", body, err)
	}
	if cap(body) > 128<<10 {
		t.Errorf("%d bytes were set aside for a body of %d", cap(body), len(body))
	}
}

func TestBodiesThatGrowAreReadWhole(t *testing.T) {
	for _, announced := range []int64{-1, 900_000} {
		text := strings.Repeat("0123456789", 90_000)
		w, r := bodyRequest(strings.NewReader(text), announced)
		if body, err := readBody(w, r, 0, 0); err != nil || string(body) != text {
			t.Errorf("announced %d: %d bytes, %v", announced, len(body), err)
		}
	}
}

// A client that announces a body and doesn't send it would hold its
// connection forever: Caddy sets no read_timeout by default.
func TestABodyMustComeInTime(t *testing.T) {
	began := time.Now()
	w, r := bodyRequest(&drip{parts: 2, then: os.ErrDeadlineExceeded}, 1000)
	_, err := readBody(w, r, 0, 0)
	var he caddyhttp.HandlerError
	if !errors.As(err, &he) || he.StatusCode != http.StatusBadRequest || w.Header().Get("Connection") != "close" {
		t.Errorf("%v, header %v", err, w.Header())
	}
	if len(w.set) < 2 {
		t.Fatalf("deadlines: %v", w.set)
	}
	for _, d := range w.set[:len(w.set)-1] {
		if after := d.Sub(began); after < 10*time.Second || after > 2*time.Minute {
			t.Errorf("a deadline after %v", after)
		}
	}
	if last := w.set[len(w.set)-1]; !last.IsZero() {
		t.Errorf("the deadline %v stays: net/http would take it for a client that went away", last)
	}
}

func TestTheServersOwnReadTimeoutIsLeftAlone(t *testing.T) {
	w, r := bodyRequest(strings.NewReader(`{}`), 2)
	r = r.WithContext(context.WithValue(r.Context(), http.ServerContextKey, &http.Server{ReadTimeout: time.Minute}))
	if _, err := readBody(w, r, 0, 0); err != nil || len(w.set) > 0 {
		t.Errorf("%v, deadlines %v", err, w.set)
	}
}
