package source

import (
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// contents are the pages below root, read from the disk.
func contents(t *testing.T, root string) (pages map[string]string, folders []string) {
	t.Helper()
	pages = map[string]string{}
	err := filepath.WalkDir(root, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() {
			folders = append(folders, name)
			return nil
		}
		text, err := os.ReadFile(name)
		pages[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages, folders
}

func TestEveryFolderIsWatchedAfterRandomOperations(t *testing.T) {
	root := t.TempDir()
	f := &Folder{Root: root, Interval: time.Hour}
	ctx, changes := watching(t, f)
	// index holds what was read after the last change that Watch reported.
	index := map[string]string{}
	follow := func() {
		t.Helper()
		want, _ := contents(t, root)
		for !maps.Equal(index, want) {
			select {
			case <-changes:
			case <-ctx.Done():
				t.Fatalf("the index has %d pages and the folder %d, or their contents differ", len(index), len(want))
			}
			index, _ = contents(t, root)
		}
	}

	random := rand.New(rand.NewPCG(1, 2))
	var pages map[string]string
	var folders []string
	for i := range 1000 {
		if i%20 == 0 { // operations on names that are gone fail, as they should
			pages, folders = contents(t, root)
		}
		folder := folders[random.IntN(len(folders))]
		fresh := filepath.Join(folders[random.IntN(len(folders))], fmt.Sprintf("n%d", i))
		page := ""
		for page = range pages {
			break
		}
		switch kind := random.IntN(12); {
		case kind < 3:
			os.Mkdir(fresh, 0o755)
		case kind < 6:
			os.WriteFile(fresh+".md", []byte("new"), 0o644)
		case kind < 9:
			os.Rename(folder, fresh) // fails into itself
		case kind == 9 && page != "":
			os.Rename(page, fresh+".md")
		case kind == 10 && page != "":
			os.WriteFile(page, fmt.Append(nil, i), 0o644)
		case kind == 11 && folder != root && random.IntN(4) == 0:
			os.RemoveAll(folder)
		}
	}
	follow()
	_, folders = contents(t, root)
	if len(folders) < 5 {
		t.Fatalf("%d folders are left", len(folders))
	}
	for _, folder := range folders {
		if err := os.WriteFile(filepath.Join(folder, "edited.md"), []byte("edited"), 0o644); err != nil {
			t.Fatal(err)
		}
		follow()
	}
}
