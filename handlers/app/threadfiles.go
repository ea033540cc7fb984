package app

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/caddyserver/certmagic"
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
	return putFile(files.Filename(key), value)
}

// putFile puts value into the file, with the modes that certmagic's files
// have. A new file is written where it stands: nobody asks for a thread before
// its first reply has ended. One that exists is replaced as a whole.
func putFile(name string, value []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(filepath.Dir(name), 0o700); err == nil {
			f, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		}
	}
	replace := errors.Is(err, fs.ErrExist)
	if replace {
		f, err = os.CreateTemp(filepath.Dir(name), "")
	}
	if err != nil {
		return err
	}
	_, err = f.Write(value)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil && replace {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
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
