// Package disk keeps what must outlive a process: files that are replaced as a
// whole, the vectors of texts, and logs of data by keys.
package disk

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"
)

// WriteFile creates or replaces a file, and its directory if that is missing.
// Others see the previous content or all of the new one. Only the owner may
// read the file.
func WriteFile(path string, write func(io.Writer) error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // no longer there after the rename
	w := bufio.NewWriter(f)
	if err = write(w); err == nil {
		err = w.Flush()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// Scratch returns a new file that no folder lists: it is gone once it is closed,
// or once nothing refers to it. One that a killed process left is named like path
// with a suffix.
func Scratch(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err == nil {
		err = os.Remove(f.Name())
	}
	return f, err
}
