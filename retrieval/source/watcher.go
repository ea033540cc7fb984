package source

import (
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/fsnotify/fsnotify"
)

// errLost means that events were lost, so that the folder must be watched
// again from the start.
var errLost = errors.New("events were lost")

// subscriptionBuffer is how many events a slow folder may have waiting.
const subscriptionBuffer = 256

// Watcher is one watch of the operating system that many folders share: Linux
// allows 128 instances of inotify a user by default, and each costs memory. It
// is opened with the first folder and closed with the last. The zero value is
// ready to use.
type Watcher struct {
	mu       sync.Mutex
	fsnotify *fsnotify.Watcher                 // nil without subscriptions
	paths    map[string]map[*subscription]bool // to each path
	all      map[*subscription]bool

	limited atomic.Bool // the system's limit is in the log
}

// subscription is a folder's share of a Watcher.
type subscription struct {
	watcher *Watcher
	Events  chan fsnotify.Event
	Errors  chan error
	paths   map[string]bool // guarded by watcher.mu
}

// subscribe returns a subscription to nothing yet.
func (w *Watcher) subscribe() (*subscription, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fsnotify == nil {
		f, err := fsnotify.NewWatcher()
		if err != nil {
			return nil, err
		}
		w.fsnotify = f
		w.paths, w.all = make(map[string]map[*subscription]bool), make(map[*subscription]bool)
		go w.dispatch(f)
	}
	s := &subscription{
		watcher: w, paths: make(map[string]bool),
		Events: make(chan fsnotify.Event, subscriptionBuffer), Errors: make(chan error, 1),
	}
	w.all[s] = true
	return s, nil
}

// Add watches a folder.
func (s *subscription) Add(path string) error {
	w := s.watcher
	w.mu.Lock()
	defer w.mu.Unlock()
	path = filepath.Clean(path)
	// Also if it is watched already: the folder may be another one by now.
	if err := w.fsnotify.Add(path); err != nil {
		return err
	}
	if w.paths[path] == nil {
		w.paths[path] = make(map[*subscription]bool)
	}
	w.paths[path][s], s.paths[path] = true, true
	return nil
}

// Close ends the subscription.
func (s *subscription) Close() {
	w := s.watcher
	w.mu.Lock()
	defer w.mu.Unlock()
	for path := range s.paths {
		delete(w.paths[path], s)
		if len(w.paths[path]) == 0 {
			w.forget(path)
		}
	}
	delete(w.all, s)
	if len(w.all) == 0 && w.fsnotify != nil {
		_ = w.fsnotify.Close()
		w.fsnotify = nil
	}
}

// forget removes the watch of a path. The caller holds the lock.
func (w *Watcher) forget(path string) {
	delete(w.paths, path)
	_ = w.fsnotify.Remove(path) // an error means that it is gone already
}

// dispatch sends the events to the subscriptions, and never waits for one.
func (w *Watcher) dispatch(f *fsnotify.Watcher) {
	for {
		select {
		case event, ok := <-f.Events:
			if !ok {
				return
			}
			w.send(f, event)
		case err, ok := <-f.Errors:
			if !ok {
				return
			}
			w.mu.Lock()
			if w.fsnotify == f {
				for s := range w.all {
					s.fail(err)
				}
			}
			w.mu.Unlock()
		}
	}
}

func (w *Watcher) send(f *fsnotify.Watcher, event fsnotify.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fsnotify != f || event.Name == "" {
		return
	}
	itself := w.paths[event.Name]
	for s := range itself {
		s.send(event)
	}
	for s := range w.paths[filepath.Dir(event.Name)] {
		if !itself[s] {
			s.send(event)
		}
	}
	if event.Has(fsnotify.Rename) && itself != nil {
		// The watches below have the old name. Its subscribers watch again from
		// the start; another folder may take the name before they do.
		below := event.Name + string(filepath.Separator)
		for _, path := range slices.Collect(maps.Keys(w.paths)) {
			if path != event.Name && !strings.HasPrefix(path, below) {
				continue
			}
			for s := range w.paths[path] {
				delete(s.paths, path)
				if !itself[s] {
					s.fail(errLost)
				}
			}
			w.forget(path)
		}
	}
}

func (s *subscription) send(event fsnotify.Event) {
	select {
	case s.Events <- event:
	default:
		s.fail(errLost)
	}
}

func (s *subscription) fail(err error) {
	select {
	case s.Errors <- err:
	default: // one is waiting already
	}
}
