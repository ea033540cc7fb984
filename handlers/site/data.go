package site

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// isData reports whether an index keeps something of a name in its folder: a file,
// or a folder of files.
func isData(name string) bool {
	kind, hash, hashed := strings.Cut(name, "-")
	switch kind {
	case "addresses.bin", "index":
		return !hashed
	case "pages", "markdown":
		return !hashed || len(hash) == 12 && strings.Trim(hash, "0123456789abcdef") == ""
	}
	return false
}

// RemoveData removes what an index has kept in a folder, and nothing else: by
// default, a site threads has the folder where the storage keeps threads, those of an
// organization index in a folder index.
func RemoveData(dir string) error {
	entries, err := readDir(dir)
	for _, e := range entries {
		if name := filepath.Join(dir, e.Name()); isData(e.Name()) {
			err = errors.Join(err, removeFiles(name, e))
		}
	}
	_ = os.Remove(dir) // unless something else is there
	return err
}

func removeFiles(name string, e os.DirEntry) error {
	if !e.IsDir() {
		return os.Remove(name)
	}
	files, err := readDir(name)
	for _, f := range files {
		if !f.IsDir() {
			err = errors.Join(err, os.Remove(filepath.Join(name, f.Name())))
		}
	}
	_ = os.Remove(name)
	return err
}

func readDir(dir string) ([]os.DirEntry, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return entries, err
}
