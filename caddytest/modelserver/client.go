package modelserver

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
)

// Client returns a client whose requests are served by h in memory, without
// sockets: for tests in a testing/synctest bubble, and for those that must
// not wait for a network. It has no time limit.
func Client(h http.Handler) *http.Client { return &http.Client{Transport: transport{h}} }

type transport struct{ h http.Handler }

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	pr, pw := io.Pipe()
	w := &pipeWriter{header: http.Header{}, pw: pw, ready: make(chan struct{})}
	stop := context.AfterFunc(ctx, func() { _ = pr.CloseWithError(context.Canceled) })
	go func() {
		defer cancel()
		defer stop()
		defer func() {
			err := io.EOF
			if p := recover(); p != nil {
				err = io.ErrUnexpectedEOF
				if e, ok := p.(error); !ok || !errors.Is(e, http.ErrAbortHandler) {
					panic(p)
				}
			}
			if ctx.Err() != nil {
				err = context.Canceled // never a regular end, whichever is first
			}
			w.end(err)
		}()
		t.h.ServeHTTP(w, r.Clone(ctx))
	}()
	select {
	case <-w.ready:
		if w.err != nil {
			return nil, w.err
		}
		return &http.Response{
			Status: http.StatusText(w.status), StatusCode: w.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
			Header: w.header.Clone(), Body: &body{pr, cancel}, ContentLength: -1, Request: r,
		}, nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

type body struct {
	*io.PipeReader
	cancel context.CancelFunc
}

func (b *body) Close() error {
	b.cancel()
	return b.PipeReader.Close()
}

type pipeWriter struct {
	header http.Header
	pw     *io.PipeWriter
	once   sync.Once
	ready  chan struct{}
	status int
	err    error // the handler gave up before its header
}

func (w *pipeWriter) Header() http.Header { return w.header }

func (w *pipeWriter) WriteHeader(status int) {
	w.once.Do(func() {
		w.status = status
		close(w.ready)
	})
}

func (w *pipeWriter) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if len(b) == 0 {
		return 0, nil
	}
	return w.pw.Write(b)
}

func (w *pipeWriter) FlushError() error { w.WriteHeader(http.StatusOK); return nil }

func (w *pipeWriter) end(err error) {
	w.once.Do(func() {
		w.status = http.StatusOK
		if !errors.Is(err, io.EOF) {
			w.err = err
		}
		close(w.ready)
	})
	_ = w.pw.CloseWithError(err)
}
