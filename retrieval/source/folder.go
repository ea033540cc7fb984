// Package source reads the pages of a site and notices changes: Folder for a
// directory of files that this server serves, Sitemap for a site that it
// proxies.
package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// young is the age up to which a file's time stamp proves nothing: file
// systems store times in steps of up to two seconds, so a second write in the
// same step leaves no trace.
const young = 2 * time.Second

// Folder is a directory of pages. Its root may be a symbolic link, or be below
// one (/srv/docs -> releases/42): each snapshot resolves it once and reads from
// the directory that it found, whatever the name points to later.
//
// Folders and files whose names start with a dot are skipped. Symbolic links
// out of the root are not followed. Those within it are followed only to what
// is skipped under its real name, such as Kubernetes' "..data": other pages
// are found under their real names. Devices, sockets and pipes are never
// opened.
type Folder struct {
	// Root is the directory, absolute or relative to the working directory.
	Root string
	// Below is what the paths of files begin with: "" or a path of the site with a
	// slash at its end.
	Below string
	// Wants filters by path below the root. Nil: everything.
	Wants func(file string) bool
	// Mode is how changes are noticed: by the operating system's notifications
	// (inotify, kqueue, …), unless it is "poll", for network file systems, which
	// don't report changes made on another machine, or "off".
	Mode string
	// Interval is the time between two listings if the folder is polled.
	// Default: 10 s.
	Interval time.Duration
	// Flat makes Watch notice changes of the directory's own entries only, not
	// of those in the directories below it.
	Flat bool
	// Watcher is shared with other folders. Nil: one for this folder.
	Watcher *Watcher
	// Log is for warnings. Nil: slog.Default().
	Log *slog.Logger
}

// Snapshot lists the folder. It fails with fs.ErrNotExist if there is no such
// folder, and as a whole if the system, not a page, is at fault (too many open
// files, a disk error): an incomplete list would look like deletions.
func (f *Folder) Snapshot(ctx context.Context) (*retrieval.Snapshot, error) {
	root, err := os.OpenRoot(f.Root)
	if err != nil {
		return nil, fmt.Errorf("opening folder %q: %w", f.Root, err)
	}
	w := walk{ctx: ctx, folder: f, root: root, now: time.Now(), linked: map[string]bool{}}
	if err := w.run(); err != nil {
		root.Close()
		return nil, fmt.Errorf("listing folder %q: %w", f.Root, err)
	}
	s := &folderSnapshot{f, root}
	return &retrieval.Snapshot{Files: w.files, Problems: w.problems, Read: s.page, Current: s.current, Close: root.Close}, nil
}

// folderSnapshot reads from the directory that was listed.
type folderSnapshot struct {
	folder *Folder
	root   *os.Root
}

// current compares the directory that was listed with the one that the name
// leads to now.
func (s *folderSnapshot) current() bool {
	then, err := s.root.Stat(".")
	if err != nil {
		return false
	}
	now, err := os.Stat(s.folder.Root)
	return err == nil && os.SameFile(then, now)
}

// page reads a page of at most retrieval.MaxPage bytes.
func (s *folderSnapshot) page(_ context.Context, file retrieval.File) (retrieval.Content, error) {
	if file.Size > retrieval.MaxPage {
		return retrieval.Content{}, errTooLarge
	}
	data, err := s.read(file.Path)
	switch {
	case isSystemError(err):
		err = fmt.Errorf("%w: %w", retrieval.ErrTemporary, err)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		err = errors.New(reason(err))
	}
	return retrieval.Content{Data: data}, err
}

func (s *folderSnapshot) read(file string) ([]byte, error) {
	name := filepath.FromSlash(strings.TrimPrefix(file, s.folder.Below))
	f, err := s.root.OpenFile(name, os.O_RDONLY|Nonblock, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("is not a regular file")
	}
	return readPage(f, info.Size())
}

// errTooLarge is the error of a page of more than retrieval.MaxPage bytes.
var errTooLarge = fmt.Errorf("is larger than %d MB: split it, or exclude it", retrieval.MaxPage>>20)

// readPage reads a page that is probably of a size.
func readPage(r io.Reader, size int64) ([]byte, error) {
	var data bytes.Buffer
	data.Grow(int(min(size, retrieval.MaxPage)) + bytes.MinRead)
	_, err := data.ReadFrom(io.LimitReader(r, retrieval.MaxPage+1))
	if err == nil && data.Len() > retrieval.MaxPage {
		return nil, errTooLarge
	}
	return data.Bytes(), err
}

// isSystemError reports whether an error says nothing about the file: the process
// or the machine is at its limits, the disk or the network failed.
func isSystemError(err error) bool {
	return slices.ContainsFunc([]error{
		syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EIO, syscall.EAGAIN, syscall.EINTR, errStale,
		context.Canceled, context.DeadlineExceeded,
	}, func(target error) bool { return errors.Is(err, target) })
}

// reason words an error for the list of problems, which names the file.
func reason(err error) string {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		err = p.Err
	}
	if errors.Is(err, fs.ErrPermission) {
		return "permission denied: the user that runs Caddy may not read it"
	}
	return err.Error()
}

// ReadPage reads one page as it is now. The name is of a Snapshot's file.
func (f *Folder) ReadPage(file string) ([]byte, error) {
	root, err := os.OpenRoot(f.Root)
	if err != nil {
		return nil, fmt.Errorf("opening folder %q: %w", f.Root, err)
	}
	defer root.Close()
	data, err := (&folderSnapshot{f, root}).read(file)
	if err != nil {
		return nil, fmt.Errorf("reading page %q: %w", file, err)
	}
	return data, nil
}

// Serves reports whether a file, also one that is no page, is in the folder.
func (f *Folder) Serves(file string) bool {
	file, below := strings.CutPrefix(file, f.Below)
	if !below {
		return false
	}
	root, err := os.OpenRoot(f.Root)
	if err != nil {
		return false
	}
	defer root.Close()
	info, err := root.Stat(filepath.FromSlash(file))
	return err == nil && info.Mode().IsRegular()
}
