package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// maxDepth bounds the nesting of folders below the root.
const maxDepth = 64

// walk is one listing of a folder.
type walk struct {
	ctx    context.Context
	folder *Folder
	root   *os.Root
	now    time.Time

	files    []retrieval.File
	problems []retrieval.Problem
	links    []string        // not followed yet
	linked   map[string]bool // real paths that were listed through a link
}

func (w *walk) run() error {
	if err := w.list(w.root, "", "", 0); err != nil {
		return err
	}
	for len(w.links) > 0 {
		links := w.links
		w.links = nil
		slices.Sort(links)
		for _, link := range links {
			if err := w.follow(link); err != nil {
				return err
			}
		}
	}
	slices.SortFunc(w.files, func(a, b retrieval.File) int { return strings.Compare(a.Path, b.Path) })
	return nil
}

// list lists one folder, opened as a root so that looking at an entry can't
// leave it. target is its real path if it was reached through a link, else "".
func (w *walk) list(dir *os.Root, name, target string, depth int) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	if depth > maxDepth {
		w.problem(name, fmt.Sprintf("folders are nested deeper than %d; not read", maxDepth))
		return nil
	}
	entries, err := fs.ReadDir(dir.FS(), ".")
	if err != nil {
		return w.failed(name, err)
	}
	for _, e := range entries {
		if skipped(e.Name()) {
			continue
		}
		file, below := path.Join(name, e.Name()), ""
		if !utf8.ValidString(file) {
			w.problem(strings.ToValidUTF8(file, "\uFFFD"), "its name is not UTF-8; rename it")
			continue
		}
		if target != "" {
			if below = path.Join(target, e.Name()); w.linked[below] {
				continue
			}
			w.linked[below] = true
		}
		switch {
		case e.IsDir():
			sub, err := dir.OpenRoot(e.Name())
			if err == nil {
				err = w.list(sub, file, below, depth+1)
				sub.Close()
			}
			if err = w.failed(file, err); err != nil {
				return err
			}
		case e.Type()&fs.ModeSymlink != 0:
			w.links = append(w.links, file)
		case e.Type().IsRegular() && w.wants(file):
			info, err := dir.Lstat(e.Name())
			if err == nil {
				w.add(file, info)
			} else if err = w.failed(file, err); err != nil {
				return err
			}
		}
	}
	return nil
}

// follow lists what a link leads to, unless that is listed anyway under its
// real name: then Wants has decided about it.
func (w *walk) follow(link string) error {
	info, err := w.root.Stat(link)
	if err != nil {
		if isSystemError(err) {
			return err
		}
		if w.wants(link) && !errors.Is(err, fs.ErrNotExist) {
			w.problem(link, "is a link that leaves the folder or is circular; not followed")
		}
		return nil
	}
	target, err := w.resolve(link)
	if err != nil {
		return w.failed(link, err)
	}
	if !slices.ContainsFunc(strings.Split(target, "/"), skipped) || w.linked[target] {
		return nil
	}
	switch {
	case info.Mode().IsRegular() && w.wants(link):
		w.linked[target] = true
		w.add(link, info)
	case info.IsDir():
		w.linked[target] = true
		sub, err := w.root.OpenRoot(link)
		if err != nil {
			return w.failed(link, err)
		}
		defer sub.Close()
		return w.list(sub, link, target, strings.Count(link, "/")+1)
	}
	return nil
}

// resolve returns the real path below the root of what a link leads to. It is
// "" for the root itself, and if the root was replaced in the meantime.
func (w *walk) resolve(link string) (string, error) {
	root, err := filepath.EvalSymlinks(w.folder.Root)
	if err != nil {
		return "", err
	}
	target, err := filepath.EvalSymlinks(filepath.Join(root, filepath.FromSlash(link)))
	if err != nil {
		return "", err
	}
	rel, err := filepath.Rel(root, target)
	if err != nil || rel == "." || !filepath.IsLocal(rel) {
		return "", err
	}
	return filepath.ToSlash(rel), nil
}

// skipped reports whether a file or folder is left out by its name. Folders of
// packages hold no pages of the site but may hold 100,000 files.
func skipped(name string) bool {
	return strings.HasPrefix(name, ".") || name == "node_modules"
}

func (w *walk) wants(file string) bool {
	return w.folder.Wants == nil || w.folder.Wants(file)
}

func (w *walk) add(file string, info fs.FileInfo) {
	if !info.Mode().IsRegular() {
		return
	}
	f := retrieval.File{Path: w.folder.Below + file, Size: info.Size(), Modified: info.ModTime()}
	if w.now.Sub(info.ModTime()) > young {
		f.Version = version(info)
	}
	w.files = append(w.files, f)
}

// failed records that a file could not be looked at. It returns the errors
// that end the walk.
func (w *walk) failed(file string, err error) error {
	switch {
	case err == nil || errors.Is(err, fs.ErrNotExist) && file != "":
		return nil // deleted since its folder was listed
	case isSystemError(err) || file == "":
		return err
	}
	w.problem(file, reason(err))
	return nil
}

func (w *walk) problem(file, reason string) {
	w.problems = append(w.problems, retrieval.Problem{File: w.folder.Below + file, Reason: reason, Since: w.now})
}
