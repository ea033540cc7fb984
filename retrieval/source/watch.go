package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
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
	// Events uses the operating system's notifications (inotify, kqueue, …).
	Events WatchMode = iota
	// Poll lists the folder at an interval. It is for network file systems,
	// which don't report changes made on another machine.
	Poll
	// Off notices nothing.
	Off
)

// ParseWatchMode reads "events", "poll" or "off". "" is Events.
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
	// firstPause and lastPause are how long a folder is left alone before it
	// is watched again: a swap of the root is several events.
	firstPause = 50 * time.Millisecond
	lastPause  = 800 * time.Millisecond
	// missedEvery is how often changes are assumed, because queues overflow
	// and network file systems stay silent.
	missedEvery = 5 * time.Minute
	// maxRootLinks is the kernel's limit for a path.
	maxRootLinks = 40
)

// Watch calls changed after changes below the root, and after the root
// itself, or a link on the way to it, was replaced. It continues if the root
// disappears. If the system's limit of watches is reached, it logs a warning
// and polls. It returns nil when ctx is done.
func (f *Folder) Watch(ctx context.Context, changed func()) error {
	interval := cmp.Or(f.Interval, defaultInterval)
	switch f.Mode {
	case Off:
		<-ctx.Done()
		return nil
	case Poll:
		return poll(ctx, interval, changed)
	}
	log := cmp.Or(f.Log, slog.Default())
	pause := firstPause
	for ctx.Err() == nil {
		start := time.Now()
		err := f.events(ctx, interval, changed)
		if limitReached(err) {
			level := slog.LevelDebug // once is enough
			if !f.watcher().limited.Swap(true) {
				level = slog.LevelWarn
			}
			log.Log(ctx, level, "the limit of file watches is reached, so this folder, and others that follow, are polled; "+
				"raise it with sysctl fs.inotify.max_user_watches=524288 (and fs.inotify.max_user_instances), then reload",
				"folder", f.Root, "interval", interval, "error", err)
			return poll(ctx, interval, changed)
		}
		if err != nil && ctx.Err() == nil {
			log.Debug("watching the folder again", "folder", f.Root, "error", err)
		}
		// A folder that can't be watched must not keep a core busy.
		if pause = min(2*pause, lastPause); time.Since(start) > time.Second {
			pause = firstPause
		}
		sleep(ctx, pause)
	}
	return nil
}

func limitReached(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// poll calls changed at an interval until ctx is done.
func poll(ctx context.Context, interval time.Duration, changed func()) error {
	ticker := time.NewTicker(interval)
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

// events watches the folder until it must be watched again from the start.
func (f *Folder) events(ctx context.Context, interval time.Duration, changed func()) error {
	watcher, err := f.watcher().subscribe()
	if err != nil {
		return err
	}
	defer watcher.Close()

	parents, dir, err := rootParents(f.Root)
	if err != nil {
		return err
	}
	for parent, names := range parents {
		if err := watcher.Add(parent, names...); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	watched := map[string]bool{}
	// A root that appears below a folder we may not watch causes no event.
	var missing <-chan time.Time
	if dir == "" {
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		missing = ticker.C
	} else if err := f.watchTree(watcher, dir, watched); err != nil {
		return err
	}
	missed := time.NewTicker(missedEvery)
	defer missed.Stop()
	changed() // before the watches existed

	for {
		select {
		case <-ctx.Done():
			return nil
		case <-missed.C:
			changed()
		case <-missing:
			if _, err := os.Stat(f.Root); err == nil {
				return nil
			}
		case err := <-watcher.Errors:
			return err // events were lost
		case event := <-watcher.Events:
			parent, name := filepath.Split(event.Name)
			parent = filepath.Clean(parent)
			if slices.Contains(parents[parent], name) && !event.Has(fsnotify.Write) {
				changed()
				return nil
			}
			if dir == "" || (event.Name != dir && !strings.HasPrefix(event.Name, dir+string(filepath.Separator))) {
				continue // next to the root or a link to it
			}
			if event.Has(fsnotify.Rename) && watched[event.Name] {
				return nil // the watches below the folder have its old name
			}
			notable, err := f.notable(watcher, dir, event, watched)
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
// folders that it creates.
func (f *Folder) notable(watcher *subscription, dir string, event fsnotify.Event, watched map[string]bool) (bool, error) {
	name := filepath.Base(event.Name)
	// "..data" is the link that Kubernetes swaps when a volume changes.
	if strings.HasPrefix(name, ".") && !strings.HasPrefix(name, "..") {
		return false, nil
	}
	if event.Has(fsnotify.Remove) || event.Has(fsnotify.Rename) {
		return true, nil // it may have been a folder
	}
	info, err := os.Lstat(event.Name)
	switch {
	case err != nil || info.Mode()&fs.ModeSymlink != 0:
		return true, nil
	case info.IsDir():
		if event.Has(fsnotify.Create) && !f.Flat {
			return true, f.watchTree(watcher, event.Name, watched)
		}
		return true, nil
	}
	rel, err := filepath.Rel(dir, event.Name)
	return err != nil || f.Wants == nil || f.Wants(filepath.ToSlash(rel)), nil
}

// watchTree watches a folder and those below it. WalkDir lists a folder after
// it is watched, so none that appears in between is missed.
func (f *Folder) watchTree(watcher *subscription, dir string, watched map[string]bool) error {
	return filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() {
			return nil // the listing reports unreadable folders
		}
		if p != dir && (f.Flat || skipped(e.Name())) {
			return fs.SkipDir
		}
		watched[p] = true
		err = watcher.Add(p)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ENOTDIR) {
			return nil
		}
		return err
	})
}

// rootParents returns the folders whose entries decide what root leads to,
// each with the names that matter in it: the parents of the root and of each
// link on the way to it and, if something is missing, the folder that lacks
// it. dir is the root's real path, "" if it doesn't exist.
func rootParents(root string) (parents map[string][]string, dir string, err error) {
	abs, err := filepath.Abs(root)
	if err != nil {
		return nil, "", err
	}
	parents = map[string][]string{}
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
			parents[cur] = append(parents[cur], name)
			return parents, "", nil
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			parents[cur] = append(parents[cur], name)
			target, err := os.Readlink(next)
			if links++; err != nil || links > maxRootLinks {
				return parents, "", nil
			}
			rest = append(splitPath(target[len(filepath.VolumeName(target)):]), rest...)
			if filepath.IsAbs(target) {
				cur = filepath.VolumeName(target) + string(filepath.Separator)
			}
			continue
		}
		if len(rest) == 0 {
			parents[cur] = append(parents[cur], name)
			if !info.IsDir() {
				return parents, "", nil
			}
		}
		cur = next
	}
	return parents, cur, nil
}

func splitPath(p string) []string {
	return strings.FieldsFunc(p, func(r rune) bool { return r == filepath.Separator || r == '/' })
}

// watcher is the one that the folder shares, or else its own.
func (f *Folder) watcher() *Watcher {
	if f.Watcher == nil {
		f.Watcher = new(Watcher)
	}
	return f.Watcher
}

func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
