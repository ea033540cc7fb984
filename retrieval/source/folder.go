// Package source brings the bytes of a site's pages and tells of changes:
// Folder for a directory of files that this server serves, Sitemap for a
// site that it proxies.
package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// MaxPage is the default of Folder.MaxPage and Sitemap.MaxPage: 20 MB. The
// largest page of the documentation sites that we know has 6 MB.
const MaxPage = 20 << 20

// young is the age up to which a file's time stamp proves nothing: file
// systems store times in steps of up to two seconds (FAT, some network file
// systems), so a second write in the same step leaves no trace.
const young = 2 * time.Second

// maxDepth bounds the nesting of folders below the root.
const maxDepth = 64

// maxLinkVisits is how often one folder is listed by way of links. Links
// that form a web could otherwise multiply the paths to a folder without end.
const maxLinkVisits = 3

// Folder is a directory of pages. Its root may be a link, or stand below
// one (/srv/docs -> releases/42): each snapshot resolves it anew and reads
// through the directory it found, whatever the name points to later.
//
// Folders and files whose names start with a dot are skipped. Links within
// the root are followed, links out of it are not (os.Root holds that also
// against links that change while they are followed). A page that is reached
// by a link and under its real name stands once, under the real one. Devices,
// sockets and pipes are never opened.
type Folder struct {
	// Root is the directory, absolute or relative to the working directory.
	Root string
	// Wants filters by path below the root; nil: everything.
	Wants func(file string) bool
	// MaxPage is the size in bytes above which a page is not read but
	// reported. Default: 20 MB.
	MaxPage int64
	// Mode is how changes are noticed, see WatchMode. Default: Events.
	Mode WatchMode
	// Interval is the time between two looks in mode Poll, and where Events
	// falls back to it. Default: 10 s.
	Interval time.Duration
	// Log; nil: slog.Default().
	Log *slog.Logger
}

func (f *Folder) log() *slog.Logger {
	if f.Log != nil {
		return f.Log
	}
	return slog.Default()
}

func (f *Folder) maxPage() int64 {
	if f.MaxPage > 0 {
		return f.MaxPage
	}
	return MaxPage
}

// Snapshot lists the folder. It fails with fs.ErrNotExist if there is no
// such folder, and as a whole where the system, not a page, is at fault (too
// many open files, a disk error): half a list must not look like deletions.
func (f *Folder) Snapshot(ctx context.Context) (retrieval.Snapshot, error) {
	root, err := os.OpenRoot(f.Root)
	if err != nil {
		return nil, fmt.Errorf("opening folder %q: %w", f.Root, err)
	}
	w := walk{
		ctx: ctx, folder: f, root: root, now: time.Now(),
		real: map[fileID]bool{}, visits: map[fileID]int{},
	}
	if err := w.run(); err != nil {
		root.Close()
		return nil, fmt.Errorf("listing folder %q: %w", f.Root, err)
	}
	return &folderSnapshot{folder: f, root: root, files: w.files, problems: w.problems}, nil
}

// walk is one listing of a folder.
type walk struct {
	ctx    context.Context
	folder *Folder
	root   *os.Root
	now    time.Time

	files    []retrieval.File
	problems []retrieval.Problem

	real    map[fileID]bool // files found without any link
	visits  map[fileID]int  // folders listed by way of a link
	linked  []found         // files found by way of a link
	links   []string        // links not yet followed
	parents []fs.FileInfo   // the folders above the one being listed
}

type found struct {
	path string
	info fs.FileInfo
}

func (w *walk) run() error {
	if err := w.list(w.root, "", 0, false); err != nil {
		return err
	}
	// Links come second so that a page keeps its real name.
	for depth := 0; len(w.links) > 0 && depth < maxLinkVisits; depth++ {
		links := w.links
		w.links = nil
		slices.Sort(links)
		for _, link := range links {
			if err := w.follow(link); err != nil {
				return err
			}
		}
	}
	seen := map[fileID]bool{}
	for _, l := range w.linked {
		if id, ok := identify(l.info); ok {
			if w.real[id] || seen[id] {
				continue
			}
			seen[id] = true
		}
		w.add(l.path, l.info)
	}
	slices.SortFunc(w.files, func(a, b retrieval.File) int { return strings.Compare(a.Path, b.Path) })
	w.files = slices.CompactFunc(w.files, func(a, b retrieval.File) bool { return a.Path == b.Path })
	return nil
}

// list reads one folder, given as its own root so that a look at an entry is
// a single system call that can't leave it.
func (w *walk) list(dir *os.Root, name string, depth int, byLink bool) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	self, err := dir.Stat(".")
	if err != nil {
		return w.failed(name, err)
	}
	for _, p := range w.parents {
		if os.SameFile(p, self) {
			return nil // a loop
		}
	}
	if depth > maxDepth {
		w.problem(name, fmt.Sprintf("folders are nested deeper than %d; not read", maxDepth))
		return nil
	}
	w.parents = append(w.parents, self)
	defer func() { w.parents = w.parents[:len(w.parents)-1] }()

	entries, err := readDir(dir)
	if err != nil {
		return w.failed(name, err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		file := path.Join(name, e.Name())
		if !utf8.ValidString(file) {
			w.problem(strings.ToValidUTF8(file, "\uFFFD"), "its name is not UTF-8; rename it")
			continue
		}
		switch {
		case e.IsDir() && skipFolder(e.Name()):
		case e.IsDir():
			sub, err := dir.OpenRoot(e.Name())
			if err != nil {
				if err := w.failed(file, err); err != nil {
					return err
				}
				continue
			}
			err = w.list(sub, file, depth+1, byLink)
			sub.Close()
			if err != nil {
				return err
			}
		case e.Type()&fs.ModeSymlink != 0:
			w.links = append(w.links, file)
		case e.Type().IsRegular() && w.wants(file):
			info, err := dir.Lstat(e.Name())
			if err != nil {
				if err := w.failed(file, err); err != nil {
					return err
				}
				continue
			}
			if !info.Mode().IsRegular() {
				continue
			}
			if byLink {
				w.linked = append(w.linked, found{file, info})
				continue
			}
			if id, ok := identify(info); ok {
				w.real[id] = true
			}
			w.add(file, info)
		}
	}
	return nil
}

// follow looks at what a link within the root points to.
func (w *walk) follow(link string) error {
	info, err := w.root.Stat(link)
	if err != nil {
		if w.wants(link) && !errors.Is(err, fs.ErrNotExist) {
			w.problem(link, "is a link out of the folder, or in a circle; not followed")
		}
		return systemError(err)
	}
	switch {
	case info.Mode().IsRegular():
		if w.wants(link) {
			w.linked = append(w.linked, found{link, info})
		}
	case info.IsDir():
		if id, ok := identify(info); ok {
			if w.visits[id]++; w.visits[id] > maxLinkVisits {
				return nil
			}
		}
		// The folders above the link's place are its parents: a link to one
		// of them is a loop.
		if loop, err := w.above(link, info); loop || err != nil {
			return err
		}
		sub, err := w.root.OpenRoot(link)
		if err != nil {
			return w.failed(link, err)
		}
		defer sub.Close()
		return w.list(sub, link, strings.Count(link, "/")+1, true)
	}
	return nil
}

// above reports whether target is one of the folders on the way to link.
func (w *walk) above(link string, target fs.FileInfo) (bool, error) {
	for dir := path.Dir(link); ; dir = path.Dir(dir) {
		info, err := w.root.Stat(dir)
		if err != nil {
			return true, systemError(err)
		}
		if os.SameFile(info, target) {
			return true, nil
		}
		if dir == "." {
			return false, nil
		}
	}
}

// skipFolder names folders that hold no pages of the site but may hold
// 100,000 files.
func skipFolder(name string) bool {
	return strings.HasPrefix(name, ".") || name == "node_modules"
}

func (w *walk) wants(file string) bool {
	return w.folder.Wants == nil || w.folder.Wants(file)
}

func (w *walk) add(file string, info fs.FileInfo) {
	f := retrieval.File{Path: file, Size: info.Size(), Modified: info.ModTime()}
	if w.now.Sub(info.ModTime()) > young {
		f.Version = version(info)
	}
	w.files = append(w.files, f)
}

// failed notes what could not be looked at; what the system is to blame for
// ends the walk.
func (w *walk) failed(file string, err error) error {
	switch {
	case systemError(err) != nil:
		return err
	case errors.Is(err, fs.ErrNotExist) && file != "":
		return nil // deleted since its folder was listed
	case file == "":
		return err
	}
	w.problem(file, reason(err))
	return nil
}

func (w *walk) problem(file, reason string) {
	w.problems = append(w.problems, retrieval.Problem{File: file, Reason: reason, Since: w.now})
}

func readDir(dir *os.Root) ([]fs.DirEntry, error) {
	d, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.ReadDir(-1)
}

// systemError returns err if it says nothing about the file: the process or
// the machine is at its limits, the disk or the network failed.
func systemError(err error) error {
	for _, target := range []error{
		syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EIO, syscall.EAGAIN, syscall.EINTR, errStale,
		context.Canceled, context.DeadlineExceeded,
	} {
		if errors.Is(err, target) {
			return err
		}
	}
	return nil
}

// reason words an error for the list of problems, without the path that
// stands beside it there.
func reason(err error) string {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		err = p.Err
	}
	if errors.Is(err, fs.ErrPermission) {
		return "permission denied: the server's user may not read it"
	}
	return err.Error()
}
