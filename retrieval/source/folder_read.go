package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// folderSnapshot reads through the directory that was listed.
type folderSnapshot struct {
	folder   *Folder
	root     *os.Root
	files    []retrieval.File
	problems []retrieval.Problem
}

func (s *folderSnapshot) Files() []retrieval.File       { return s.files }
func (s *folderSnapshot) Problems() []retrieval.Problem { return s.problems }
func (s *folderSnapshot) Workers() int                  { return 0 }
func (s *folderSnapshot) Close() error                  { return s.root.Close() }

// Current compares the directory that was listed with the one that the name
// leads to now.
func (s *folderSnapshot) Current() bool {
	then, err := s.root.Stat(".")
	if err != nil {
		return false
	}
	now, err := os.Stat(s.folder.Root)
	return err == nil && os.SameFile(then, now)
}

// Read reads a whole page into memory, at most MaxPage bytes.
func (s *folderSnapshot) Read(_ context.Context, file retrieval.File) (retrieval.Content, error) {
	none := retrieval.Content{}
	limit := s.folder.maxPage()
	if file.Size > limit {
		return none, tooLarge(limit)
	}
	// Without O_NONBLOCK a pipe put in the page's place would block forever.
	f, err := s.root.OpenFile(file.Path, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return none, readError(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return none, readError(err)
	}
	if !info.Mode().IsRegular() {
		return none, errors.New("is not a regular file")
	}
	data := make([]byte, 0, min(info.Size(), limit)+1)
	for {
		n, err := f.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if int64(len(data)) > limit {
			return none, tooLarge(limit)
		}
		if err == io.EOF {
			return retrieval.Content{Data: data}, nil
		}
		if err != nil {
			return none, readError(err)
		}
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
	}
}

func readError(err error) error {
	if systemError(err) != nil {
		return fmt.Errorf("%w: %w", retrieval.ErrTemporary, err)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return errors.New(reason(err))
}

func tooLarge(limit int64) error {
	return fmt.Errorf("is larger than %d MB; not read", limit>>20)
}
