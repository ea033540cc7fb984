package source

import (
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/fsnotify/fsnotify"
)

// errLost means that the folder must be watched again from the start: events
// were lost, or a folder was renamed, and its watches keep the old name.
var errLost = errors.New("events were lost")

// subscriptionBuffer is how many events a slow folder may have waiting.
const subscriptionBuffer = 256

// Watcher is one watch of the operating system that many folders share: Linux
// allows 128 instances of inotify a user by default, and each costs memory. It
// is opened with the first folder and closed with the last. The zero value is
// ready to use.
type Watcher struct {
	mu       sync.Mutex
	fsnotify *fsnotify.Watcher // nil without subscriptions
	paths    map[string]bool   // that are watched
	all      map[*subscription]bool

	limited atomic.Bool // the system's limit is in the log
}

// subscription is a folder's share of a Watcher.
type subscription struct {
	watcher *Watcher
	dir     string
	flat    bool // not what is in the directories below
	Events  chan fsnotify.Event
	Errors  chan error
}

// subscribe returns a subscription to the events in dir, of the folders that Add
// watches. It gets none if dir is "".
func (w *Watcher) subscribe(dir string, flat bool) (*subscription, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fsnotify == nil {
		f, err := fsnotify.NewWatcher()
		if err != nil {
			return nil, err
		}
		w.fsnotify, w.paths, w.all = f, map[string]bool{}, map[*subscription]bool{}
		go w.dispatch(f)
	}
	s := &subscription{watcher: w, dir: dir, flat: flat, Events: make(chan fsnotify.Event, subscriptionBuffer), Errors: make(chan error, 1)}
	w.all[s] = true
	return s, nil
}

// covers reports whether the subscription gets the events of a path.
func (s *subscription) covers(path string) bool {
	return s.dir != "" && (path == s.dir || filepath.Dir(path) == s.dir || !s.flat && below(path, s.dir))
}

// below reports whether a path is in a folder or in those below it.
func below(path, dir string) bool { return strings.HasPrefix(path, dir+string(filepath.Separator)) }

// Add watches a folder.
func (s *subscription) Add(path string) error {
	s.watcher.mu.Lock()
	defer s.watcher.mu.Unlock()
	// Also if it is watched already: the folder may be another one by now.
	if err := s.watcher.fsnotify.Add(path); err != nil {
		return err
	}
	s.watcher.paths[path] = true
	return nil
}

// Close ends the subscription.
func (s *subscription) Close() {
	w := s.watcher
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.all, s)
	w.forget(func(path string) bool {
		if !s.covers(path) {
			return false
		}
		for other := range w.all {
			if other.covers(path) {
				return false
			}
		}
		return true
	})
	if len(w.all) == 0 && w.fsnotify != nil {
		_ = w.fsnotify.Close()
		w.fsnotify = nil
	}
}

// forget removes the watches of some paths. The caller holds the lock.
func (w *Watcher) forget(which func(path string) bool) {
	for path := range w.paths {
		if which(path) {
			delete(w.paths, path)
			_ = w.fsnotify.Remove(path) // an error means that it is gone already
		}
	}
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
	if w.fsnotify != f {
		return
	}
	renamed := event.Has(fsnotify.Rename) && w.paths[event.Name]
	if renamed {
		w.forget(func(path string) bool { return path == event.Name || below(path, event.Name) })
	}
	for s := range w.all {
		switch {
		case renamed && (s.covers(event.Name) || below(s.dir, event.Name)):
			s.fail(errLost)
		case s.covers(event.Name):
			select {
			case s.Events <- event:
			default:
				s.fail(errLost)
			}
		}
	}
}

func (s *subscription) fail(err error) {
	select {
	case s.Errors <- err:
	default: // one is waiting already
	}
}
