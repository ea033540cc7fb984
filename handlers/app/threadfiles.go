package app

import (
	"context"
	"io"

	"github.com/caddyserver/certmagic"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// threadStore is the storage as conversations use it. certmagic writes each
// value to the disk itself before it goes on (fsync), as certificates need:
// for a conversation that is most of what storing it costs, and with hundreds
// of readers a good part of what a reply costs. Files of threads are
// therefore only handed to the operating system: Caddy may end at any moment,
// and what was stored stays; of a machine that loses power, the last seconds'
// turns may be missing.
type threadStore struct{ currentStore }

// Put stores a value whole.
func (t threadStore) Put(ctx context.Context, key string, value []byte) error {
	s := t.at.Load()
	files, ok := s.Storage.(*certmagic.FileStorage)
	if !ok {
		return s.Put(ctx, key, value)
	}
	key, err := s.key(key)
	if err != nil {
		return err
	}
	return retrieval.WriteFile(files.Filename(key), func(w io.Writer) error {
		_, err := w.Write(value)
		return err
	})
}

// storing bounds how many turns are stored at a time, by their weight: each
// may hold a thread of the system while a disk writes, and those threads take
// the processors from the streams.
const (
	storingAtOnce = 8
	fileWeight    = 4
)

// weight is what storing a turn counts of storingAtOnce: another machine's
// storage is waited for, files are written by our own processors.
func (s store) weight() int64 {
	if _, ok := s.Storage.(*certmagic.FileStorage); ok {
		return fileWeight
	}
	return 1
}
