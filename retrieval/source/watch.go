package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
)

// WatchMode is how a folder's changes are noticed.
type WatchMode int

const (
	// Events asks the operating system (inotify, kqueue, …) to tell of each.
	Events WatchMode = iota
	// Poll lists the folder at an interval: for network file systems, which
	// tell of no change made on another machine.
	Poll
	// Off notices none; a new index is made when one is asked for.
	Off
)

// ParseWatchMode reads "events", "poll" or "off"; "" is Events.
func ParseWatchMode(s string) (WatchMode, error) {
	switch s {
	case "", "events":
		return Events, nil
	case "poll":
		return Poll, nil
	case "off":
		return Off, nil
	}
	return 0, fmt.Errorf("unknown watch mode %q: write events, poll or off", s)
}

const (
	defaultInterval = 10 * time.Second
	// settle is the pause before a root that was swapped is looked at anew:
	// a swap is several events.
	settle    = 50 * time.Millisecond
	maxSettle = 800 * time.Millisecond
	// lookEvery catches what no event told of: queues overflow, and network
	// file systems stay silent.
	lookEvery = 5 * time.Minute
	// maxRootLinks is where the kernel, too, gives up on a path.
	maxRootLinks = 40
)

func (f *Folder) interval() time.Duration {
	if f.Interval > 0 {
		return f.Interval
	}
	return defaultInterval
}

// Watch calls changed after changes below the root, and after the root
// itself, or a link on the way to it, was replaced. It outlives a root that
// vanishes. Where the system's limit of watches is reached it polls, after
// one warning. It returns nil when ctx is done.
func (f *Folder) Watch(ctx context.Context, changed func()) error {
	switch f.Mode {
	case Off:
		<-ctx.Done()
		return nil
	case Poll:
		return f.poll(ctx, changed)
	}
	pause := settle
	for ctx.Err() == nil {
		start := time.Now()
		err := f.events(ctx, changed)
		if limitReached(err) {
			f.log().Warn("the system's limit of file watches is reached, so this folder is polled instead; "+
				"raise it with: sysctl fs.inotify.max_user_watches=524288 (and fs.inotify.max_user_instances), then reload",
				"folder", f.Root, "interval", f.interval(), "error", err)
			return f.poll(ctx, changed)
		}
		if err != nil && ctx.Err() == nil {
			f.log().Debug("watching again", "folder", f.Root, "error", err)
		}
		// A folder that keeps the watch from standing must not keep a core busy.
		if pause = min(2*pause, maxSettle); time.Since(start) > time.Second {
			pause = settle
		}
		sleep(ctx, pause)
	}
	return nil
}

func limitReached(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

func (f *Folder) poll(ctx context.Context, changed func()) error {
	ticker := time.NewTicker(f.interval())
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			changed()
		}
	}
}

// events watches until the root has to be looked at anew.
func (f *Folder) events(ctx context.Context, changed func()) error {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return err
	}
	defer watcher.Close()

	way, dir, err := wayTo(f.Root)
	if err != nil {
		return err
	}
	for parent := range way {
		if err := watcher.Add(parent); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	// Nothing tells of a folder that appears below one we may not watch.
	var missing <-chan time.Time
	if dir == "" {
		ticker := time.NewTicker(f.interval())
		defer ticker.Stop()
		missing = ticker.C
	} else if err := watchTree(watcher, dir); err != nil {
		return err
	}
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	// What happened before the watches stood went unseen.
	changed()

	for {
		select {
		case <-ctx.Done():
			return nil
		case <-look.C:
			changed()
		case <-missing:
			if _, err := os.Stat(f.Root); err == nil {
				return nil
			}
		case err, ok := <-watcher.Errors:
			if !ok {
				return nil
			}
			return err // events were lost
		case event, ok := <-watcher.Events:
			if !ok {
				return nil
			}
			parent, name := filepath.Split(event.Name)
			parent = filepath.Clean(parent)
			if slices.Contains(way[parent], name) && !event.Has(fsnotify.Write) {
				changed()
				return nil
			}
			if dir == "" || (event.Name != dir && !strings.HasPrefix(event.Name, dir+string(filepath.Separator))) {
				continue // a neighbour of the root or of a link
			}
			notable, err := f.notable(watcher, dir, event)
			if err != nil {
				return err
			}
			if notable {
				changed()
			}
		}
	}
}

// notable reports whether an event may change the pages, and watches the
// folders that it brings.
func (f *Folder) notable(watcher *fsnotify.Watcher, dir string, event fsnotify.Event) (bool, error) {
	name := filepath.Base(event.Name)
	// "..data" is the link that Kubernetes swaps when a volume changes.
	if strings.HasPrefix(name, ".") && !strings.HasPrefix(name, "..") {
		return false, nil
	}
	if event.Has(fsnotify.Remove) || event.Has(fsnotify.Rename) {
		return true, nil // perhaps a folder's name: nobody can look any more
	}
	info, err := os.Lstat(event.Name)
	switch {
	case err != nil || info.Mode()&fs.ModeSymlink != 0:
		return true, nil
	case info.IsDir():
		if event.Has(fsnotify.Create) {
			return true, watchTree(watcher, event.Name)
		}
		return true, nil
	}
	rel, err := filepath.Rel(dir, event.Name)
	return err != nil || f.Wants == nil || f.Wants(filepath.ToSlash(rel)), nil
}

// watchTree adds a folder and those below it. WalkDir lists a folder after
// it was added, so none that appears in between is missed.
func watchTree(watcher *fsnotify.Watcher, dir string) error {
	return filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() {
			return nil // gone or unreadable: the listing names it
		}
		if p != dir && skipFolder(e.Name()) {
			return fs.SkipDir
		}
		err = watcher.Add(p)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ENOTDIR) {
			return nil
		}
		return err
	})
}

// wayTo returns the folders whose entries decide what root leads to, each
// with the names that matter in it: the root's own parent, the parent of
// each link on the way, and where something is missing, the folder that
// misses it. dir is the root without links, "" while it doesn't exist.
func wayTo(root string) (way map[string][]string, dir string, err error) {
	abs, err := filepath.Abs(root)
	if err != nil {
		return nil, "", err
	}
	way = map[string][]string{}
	volume := filepath.VolumeName(abs)
	cur := volume + string(filepath.Separator)
	rest := splitPath(abs[len(volume):])
	for links := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		if name == "." {
			continue
		}
		if name == ".." {
			cur = filepath.Dir(cur)
			continue
		}
		next := filepath.Join(cur, name)
		info, err := os.Lstat(next)
		if err != nil {
			way[cur] = append(way[cur], name)
			return way, "", nil
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			way[cur] = append(way[cur], name)
			target, err := os.Readlink(next)
			if links++; err != nil || links > maxRootLinks {
				return way, "", nil
			}
			rest = append(splitPath(target[len(filepath.VolumeName(target)):]), rest...)
			if filepath.IsAbs(target) {
				cur = filepath.VolumeName(target) + string(filepath.Separator)
			}
			continue
		}
		if len(rest) == 0 {
			way[cur] = append(way[cur], name)
			if !info.IsDir() {
				return way, "", nil
			}
		}
		cur = next
	}
	return way, cur, nil
}

func splitPath(p string) []string {
	return strings.FieldsFunc(p, func(r rune) bool { return r == filepath.Separator || r == '/' })
}

func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
