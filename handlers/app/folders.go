package app

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/caddy-docs/caddy-docs/access"
	"github.com/caddy-docs/caddy-docs/handlers/observe"
	"github.com/caddy-docs/caddy-docs/handlers/options"
	"github.com/caddy-docs/caddy-docs/handlers/site"
	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/source"
)

const (
	// goneAfter is how long a site's folder must be missing before the site is
	// closed: a deploy may rename it.
	goneAfter = 2 * time.Second
	// folderQuiet is how long the directory must be quiet before it is listed.
	folderQuiet = 250 * time.Millisecond
)

// folders are directories whose subdirectories are sites of an app.
type folders struct {
	*options.SiteFolders
	app *App

	mu      sync.Mutex
	refused map[string]string // by folder, why
	held    string
	missing map[string]time.Time // sites without a folder, since when

	// first are the names in Parent when it was first listed, and listed is when.
	first  []string
	listed time.Time
	swept  bool

	hidden sync.Once // the warning that an API can't be reached
}

// FolderStatus is the status of the folders that sites are made of.
type FolderStatus struct {
	Folders string `json:"folders"`
	Sites   int    `json:"sites"`
	// Refused are the folders that are not sites, and why.
	Refused map[string]string `json:"refused,omitempty"`
	// Held says why sites without a folder are still served.
	Held string `json:"held,omitempty"`
}

// list returns the names of the subdirectories and of all entries, in order. One
// that can't be read now, such as a mount, is still there: only the parent says
// what is gone.
func (f *folders) list() (names, all []string, err error) {
	entries, err := os.ReadDir(f.Parent())
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		all = append(all, e.Name())
		dir := e.IsDir()
		if e.Type()&os.ModeSymlink != 0 {
			info, err := os.Stat(filepath.Join(f.Parent(), e.Name()))
			dir = err == nil && info.IsDir()
		}
		if dir && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	if f.first == nil && len(names) > 0 {
		f.first, f.listed = all, time.Now()
	}
	return names, all, nil
}

// find adds the sites of the folders to those that are defined. Folders that
// can't be read have none.
func (f *folders) find(sites map[string]*live) {
	names, _, err := f.list()
	if err != nil {
		f.held = err.Error()
		f.app.log.Warn("can't read the folder of sites; will retry", zap.String("folders", f.Folders), zap.Error(err))
	}
	found, refused := f.newSites(names, sites)
	maps.Copy(sites, found)
	f.refuse(refused)
}

// newSites returns a site for each folder that has none yet, and why the
// others can't be sites.
func (f *folders) newSites(names []string, sites map[string]*live) (found map[string]*live, refused map[string]string) {
	found, refused = make(map[string]*live), make(map[string]string)
	for _, name := range names {
		if other := sites[name]; other != nil {
			if other.folder != f {
				refused[name] = "another site has this name"
			}
			continue
		}
		if err := access.CheckName("the folder's name", name); err != nil {
			refused[name] = err.Error()
			continue
		}
		s, err := f.Of(name)
		if err != nil {
			refused[name] = err.Error()
			continue
		}
		found[name] = &live{Site: site.New(name, s, &f.app.shared), folder: f}
	}
	return found, refused
}

// refuse notes which folders are not sites, and why, and logs the new ones.
func (f *folders) refuse(refused map[string]string) {
	f.mu.Lock()
	before := f.refused
	f.refused = refused
	f.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(refused)) {
		if before[name] != refused[name] {
			f.app.log.Warn("skipping folder: not a site", zap.String("folder", filepath.Join(f.Parent(), name)), zap.String("reason", refused[name]))
		}
	}
}

// run opens and closes sites as their folders come and go, until ctx
// ends.
func (f *folders) run(ctx context.Context) {
	f.app.Go(f.announce)
	changes := make(chan struct{}, 1)
	parent := &source.Folder{
		Root: f.Parent(), Flat: true, Mode: f.Site.Watch, Interval: time.Duration(f.Site.PollInterval),
		Watcher: f.app.watcher, Log: f.app.ctx.Slogger(),
	}
	f.app.Go(func(ctx context.Context) {
		_ = parent.Watch(ctx, func() { // it returns no error before ctx ends
			select {
			case changes <- struct{}{}:
			default: // one is waiting already
			}
		})
	})
	var again <-chan time.Time
	if f.first != nil {
		again = time.After(goneAfter) // for what is left of sites without a folder
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-again:
		case <-changes:
			select {
			case <-ctx.Done():
				return
			case <-time.After(folderQuiet):
			}
			select {
			case <-changes:
			default:
			}
		}
		again = nil
		if f.sync(ctx) {
			again = time.After(goneAfter)
		}
	}
}

// sync opens the sites of new folders, and closes those whose folders
// are gone. It reports whether to look again soon.
func (f *folders) sync(ctx context.Context) (again bool) {
	names, all, err := f.list()
	held := ""
	switch {
	case err != nil:
		held = err.Error()
	case len(names) == 0:
		held = "there are no folders in " + f.Parent()
	}
	f.mu.Lock()
	before := f.held
	f.held = held
	f.mu.Unlock()
	if held != "" {
		if before != held {
			f.app.log.Warn("all site folders are missing; the sites stay open", zap.String("folders", f.Folders), zap.String("reason", held))
		}
		return false
	}

	sites := f.app.sites()
	for name, r := range sites {
		if _, here := slices.BinarySearch(names, name); here || r.folder != f {
			delete(f.missing, name)
			continue
		}
		since, ok := f.missing[name]
		if !ok {
			f.missing[name] = time.Now()
		}
		if !ok || time.Since(since) < goneAfter {
			again = true
			continue
		}
		delete(f.missing, name)
		f.close(r)
		f.app.log.Info("site closed: its folder is gone", zap.String("site", name))
	}

	settled := time.Since(f.listed) >= goneAfter
	if settled && !f.swept {
		f.swept = true
		f.sweep(all, sites)
	}
	found, refused := f.newSites(names, sites)
	for _, r := range sorted(found) {
		if ctx.Err() != nil {
			return false
		}
		if _, here := slices.BinarySearch(f.first, r.Name); !here && settled {
			f.remove(r.Name) // what has this name there is not of this folder
		}
		if err := f.app.openSite(r, f.app.Model()); err != nil {
			r.close()
			refused[r.Name] = err.Error()
			continue
		}
		f.app.change(func(sites map[string]*live) { sites[r.Name] = r })
		f.app.log.Info("site opened: its folder is new", zap.String("site", r.Name), zap.String("root", r.Config.Root))
	}
	f.refuse(refused)
	return again || !settled
}

// sweep removes the data of sites whose folders went while Caddy was stopped: it
// says that it was made of a folder in Parent, which has none of that name.
func (f *folders) sweep(all []string, sites map[string]*live) {
	entries, _ := os.ReadDir(f.app.DataDir) // what can't be read stays
	for _, e := range entries {
		name := e.Name()
		if _, here := slices.BinarySearch(all, name); here || sites[name] != nil {
			continue
		}
		origin := retrieval.Origin(filepath.Join(f.app.DataDir, name, "pages"))
		if rel, err := filepath.Rel(filepath.Join(f.Parent(), name), origin); err == nil && filepath.IsLocal(rel) {
			f.remove(name)
			f.app.log.Info("data removed: its folder is gone", zap.String("site", name))
		}
	}
}

// close ends a site, and removes its data.
func (f *folders) close(r *live) {
	f.app.change(func(sites map[string]*live) { delete(sites, r.Name) })
	r.close()
	observe.Forget(r.Name)
	f.remove(r.Name)
}

// remove removes the data of a name, so that a later site begins with none of the
// pages of the former one.
func (f *folders) remove(name string) {
	if err := site.RemoveData(filepath.Join(f.app.DataDir, name)); err != nil {
		f.app.log.Warn("can't remove the data of a closed site", zap.String("site", name), zap.Error(err))
	}
}

// announce writes the line of the start log for the sites of folders.
func (f *folders) announce(ctx context.Context) {
	start := time.Now()
	var sites, keyless, pages, sections int
	example := ""
	for _, r := range f.app.all() {
		if r.folder != f {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-r.Index.Looked:
		}
		st := r.Index.Refresher.Status()
		sites, pages, sections = sites+1, pages+st.Pages, sections+st.Sections
		if !r.Keys.Opened(r.Organization, r.Name) {
			keyless++
			example = r.Name
		}
	}
	log := f.app.log.With(zap.String("folders", f.Folders))
	if keyless > 0 {
		log.Warn("sites have no key", zap.Int("sites", keyless), zap.String("run", "caddy docs key create --site "+example))
	}
	log.Info("the sites of a folder are ready",
		zap.Int("sites", sites), zap.Int("pages", pages), zap.Int("sections", sections), zap.Duration("took", time.Since(start)))
	site.ReturnMemory(sections)
}

// status returns the status of the folders.
func (f *folders) status(sites []*live) FolderStatus {
	s := FolderStatus{Folders: f.Folders}
	for _, r := range sites {
		if r.folder == f {
			s.Sites++
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	s.Refused, s.Held = maps.Clone(f.refused), f.held
	return s
}
