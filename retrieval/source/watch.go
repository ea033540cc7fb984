package source

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

const (
	defaultInterval = 10 * time.Second
	// firstPause and lastPause are how long a folder is left alone before it
	// is watched again: a swap of the root is several events.
	firstPause = 50 * time.Millisecond
	lastPause  = 800 * time.Millisecond
	// missedEvery is how often changes are assumed, because queues overflow
	// and network file systems stay silent.
	missedEvery = 5 * time.Minute
	// rootEvery is how often the root's path is resolved again: replacing the
	// root, or a link on the way to it, causes no event inside it.
	rootEvery = 500 * time.Millisecond
)

// Watch calls changed after changes below the root, and after the root
// itself, or a link on the way to it, was replaced. It continues if the root
// disappears. If the system's limit of watches is reached, it logs a warning
// and polls. It returns nil when ctx is done.
func (f *Folder) Watch(ctx context.Context, changed func()) error {
	interval := cmp.Or(f.Interval, defaultInterval)
	switch f.Mode {
	case "off":
		<-ctx.Done()
		return nil
	case "poll":
		return Poll(ctx, interval, changed)
	}
	log := cmp.Or(f.Log, slog.Default())
	pause := firstPause
	for ctx.Err() == nil {
		start := time.Now()
		err := f.events(ctx, changed)
		if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
			level := slog.LevelDebug // once is enough
			if !f.watcher().limited.Swap(true) {
				level = slog.LevelWarn
			}
			log.Log(ctx, level, "the limit for file watches is reached, so this folder and later ones are polled; "+
				"raise it with sysctl fs.inotify.max_user_watches=524288 (and fs.inotify.max_user_instances), then reload",
				"folder", f.Root, "interval", interval, "error", err)
			return Poll(ctx, interval, changed)
		}
		if err != nil && ctx.Err() == nil {
			log.Debug("watching the folder again", "folder", f.Root, "error", err)
		}
		// A folder that can't be watched must not keep a core busy.
		if pause = min(2*pause, lastPause); time.Since(start) > time.Second {
			pause = firstPause
		}
		retrieval.Sleep(ctx, pause)
	}
	return nil
}

// Poll calls changed at an interval until ctx is done.
func Poll(ctx context.Context, interval time.Duration, changed func()) error {
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
func (f *Folder) events(ctx context.Context, changed func()) error {
	// If the root is replaced between these two calls, the next tick notices.
	root, _ := os.Stat(f.Root)
	dir, err := filepath.EvalSymlinks(f.Root)
	if err == nil {
		dir, err = filepath.Abs(dir)
	}
	if err != nil || root == nil || !root.IsDir() {
		root, dir = nil, ""
	}
	watcher, err := f.watcher().subscribe(dir, f.Flat)
	if err != nil {
		return err
	}
	defer watcher.Close()
	if dir != "" {
		if err := f.watchTree(watcher, dir); err != nil {
			return err
		}
	}
	look := time.NewTicker(rootEvery)
	defer look.Stop()
	missed := time.NewTicker(missedEvery)
	defer missed.Stop()
	changed() // before the watches existed

	for {
		select {
		case <-ctx.Done():
			return nil
		case <-missed.C:
			changed()
		case <-look.C:
			now, err := os.Stat(f.Root)
			if gone := err != nil || !now.IsDir(); gone != (root == nil) || root != nil && !os.SameFile(root, now) {
				changed()
				return nil
			}
		case err := <-watcher.Errors:
			return err // events were lost
		case event := <-watcher.Events:
			if event.Has(fsnotify.Remove) && event.Name == dir {
				return nil
			}
			notable, err := f.notable(watcher, event)
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
func (f *Folder) notable(watcher *subscription, event fsnotify.Event) (bool, error) {
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
			return true, f.watchTree(watcher, event.Name)
		}
		return true, nil
	}
	rel, err := filepath.Rel(watcher.dir, event.Name)
	return err != nil || f.Wants == nil || f.Wants(filepath.ToSlash(rel)), nil
}

// watchTree watches a folder and those below it. WalkDir lists a folder after
// it is watched, so none that appears in between is missed.
func (f *Folder) watchTree(watcher *subscription, dir string) error {
	return filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() {
			return nil // the listing reports unreadable folders
		}
		if p != dir && (f.Flat || skipped(e.Name())) {
			return fs.SkipDir
		}
		err = watcher.Add(p)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ENOTDIR) {
			return nil
		}
		return err
	})
}

// watcher is the one that the folder shares, or else its own.
func (f *Folder) watcher() *Watcher {
	if f.Watcher == nil {
		f.Watcher = new(Watcher)
	}
	return f.Watcher
}
