package repository

import (
	"io/fs"
	"path/filepath"
	"testing"
)

// maxFile is the size of the largest file that the repository may have. Git
// keeps what was committed once for ever.
const maxFile = 1 << 20

func TestNoFileIsLarge(t *testing.T) {
	files := 0
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if d.Name() == ".git" || d.Name() == "node_modules" {
				return fs.SkipDir
			}
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if files++; info.Size() > maxFile {
			t.Errorf("%s has %d bytes, more than %d", name, info.Size(), maxFile)
		}
		return nil
	})
	if err != nil || files < 100 {
		t.Errorf("%d files, %v", files, err)
	}
}
