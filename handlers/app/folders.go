package app

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/caddy-docs/caddy-docs/access"
	"github.com/caddy-docs/caddy-docs/retrieval/source"
)

// SiteFolders makes a site of each folder in a folder, for hosts like
// *.docs.acme.com. Sites come and go with their folders, without a reload. A
// folder's name is its site's name; folders whose names are not DNS labels, or
// are those of other sites, are reported and left out.
type SiteFolders struct {
	// The folders: a path in which one element is *, like /srv/sites/* or
	// /srv/sites/*/public. Folders whose names start with a dot are ignored.
	Folders string `json:"folders,omitempty"`

	// What the sites have in common. It has a url, and neither root nor sitemap.
	// {site} is the site's name in url, name, organization, support_url and
	// instructions, like https://{site}.docs.acme.com.
	Site Site `json:"site"`

	parent, rest string // of Folders, before and after the *

	mu      sync.Mutex
	refused map[string]string // by folder, why
	held    string
	missing map[string]time.Time // sites without a folder, since when

	hidden sync.Once // the warning that an API can't be reached
}

const (
	// goneAfter is how long a site's folder must be missing before the site is
	// closed: a deploy may rename it.
	goneAfter = 2 * time.Second
	// folderQuiet is how long no folder must come or go before a look.
	folderQuiet = 250 * time.Millisecond
)

// FolderStatus is the status of the folders that sites are made of.
type FolderStatus struct {
	Folders string `json:"folders"`
	Sites   int    `json:"sites"`
	// Refused are the folders that are no sites, and why.
	Refused map[string]string `json:"refused,omitempty"`
	// Held says why sites without a folder are still served.
	Held string `json:"held,omitempty"`
}

// provision replaces the placeholders of the configuration.
func (f *SiteFolders) provision() (err error) {
	if f.Folders, err = replaced("folders", f.Folders); err != nil {
		return err
	}
	f.parent, f.rest = splitFolders(f.Folders)
	if !strings.Contains(f.Site.Instructions, sitePlaceholder) {
		if _, err := f.site("a-site"); err != nil {
			return err
		}
	}
	return nil
}

// splitFolders splits a path at its element *. rest is empty if * is the last.
func splitFolders(folders string) (parent, rest string) {
	parent, rest, _ = strings.Cut(filepath.ToSlash(folders)+"/", "/*/")
	return filepath.FromSlash(parent) + string(filepath.Separator), filepath.FromSlash(strings.TrimSuffix(rest, "/"))
}

const sitePlaceholder = "{site}"

// expand returns the configuration of a site.
func (f *SiteFolders) expand(name string) *Site {
	s := f.Site
	for _, field := range []*string{&s.URL, &s.Name, &s.Organization, &s.SupportURL, &s.Instructions} {
		*field = strings.ReplaceAll(*field, sitePlaceholder, name)
	}
	return &s
}

// site returns the configuration of the site of a folder.
func (f *SiteFolders) site(name string) (*Site, error) {
	s := f.expand(name)
	s.Root = filepath.Join(f.parent, name, f.rest)
	return s, s.provision(name)
}

// organization is that of all sites, "" if each has its own.
func (f *SiteFolders) organization() string {
	if strings.Contains(f.Site.Organization, sitePlaceholder) {
		return ""
	}
	return f.Site.Organization
}

// list returns the names of the folders.
func (f *SiteFolders) list() (names []string, err error) {
	entries, err := os.ReadDir(f.parent)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		dir := e.IsDir()
		if e.Type()&os.ModeSymlink != 0 {
			info, err := os.Stat(filepath.Join(f.parent, e.Name()))
			dir = err == nil && info.IsDir()
		}
		if dir && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// refuse notes which folders are no sites, and returns those that are new.
func (f *SiteFolders) refuse(refused map[string]string) (added []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for name, why := range refused {
		if f.refused[name] != why {
			added = append(added, name)
		}
	}
	f.refused = refused
	slices.Sort(added)
	return added
}

// findFolderSites adds the sites of the folders to those that are defined.
// Folders that can't be read have none.
func (a *App) findFolderSites(sites map[string]*LiveSite) {
	for _, f := range a.SiteFolders {
		names, err := f.list()
		if err != nil {
			f.held = err.Error()
			a.log.Warn("can't read the folder of sites; will retry", zap.String("folders", f.Folders), zap.Error(err))
		}
		found, refused := a.newFolderSites(f, names, sites)
		maps.Copy(sites, found)
		a.logRefused(f, refused)
	}
}

// newFolderSites returns a site for each folder that has none yet, and why the
// others can't be sites.
func (a *App) newFolderSites(f *SiteFolders, names []string, sites map[string]*LiveSite) (found map[string]*LiveSite, refused map[string]string) {
	found, refused = make(map[string]*LiveSite), make(map[string]string)
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
		s, err := f.site(name)
		if err != nil {
			refused[name] = err.Error()
			continue
		}
		found[name] = newLiveSite(name, s)
		found[name].folder = f
	}
	return found, refused
}

func (a *App) logRefused(f *SiteFolders, refused map[string]string) {
	for _, name := range f.refuse(refused) {
		a.log.Warn("skipping folder: not a site", zap.String("folder", filepath.Join(f.parent, name)), zap.String("reason", refused[name]))
	}
}

// runFolders opens and closes sites as their folders come and go, until ctx
// ends.
func (a *App) runFolders(ctx context.Context, f *SiteFolders) {
	a.goBackground(func(ctx context.Context) { a.announceFolders(ctx, f) })
	changes := make(chan struct{}, 1)
	mode, _ := source.ParseWatchMode(f.Site.Watch)
	parent := &source.Folder{
		Root: f.parent, Flat: true, Mode: mode, Interval: time.Duration(f.Site.PollInterval),
		Watcher: &a.watcher.Watcher, Log: a.ctx.Slogger(),
	}
	a.goBackground(func(ctx context.Context) {
		_ = parent.Watch(ctx, func() { // it returns no error before ctx ends
			select {
			case changes <- struct{}{}:
			default: // one is waiting already
			}
		})
	})
	var again <-chan time.Time
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
		if a.syncFolders(ctx, f) {
			again = time.After(goneAfter)
		}
	}
}

// syncFolders opens the sites of new folders, and closes those whose folders
// are gone. It reports whether to look again soon.
func (a *App) syncFolders(ctx context.Context, f *SiteFolders) (again bool) {
	names, err := f.list()
	held := ""
	switch {
	case err != nil:
		held = err.Error()
	case len(names) == 0:
		held = "there are no folders in " + f.parent
	}
	f.mu.Lock()
	before := f.held
	f.held = held
	f.mu.Unlock()
	if held != "" {
		if before != held {
			a.log.Warn("no site is closed while their folders are missing as a whole", zap.String("folders", f.Folders), zap.String("reason", held))
		}
		return false
	}

	a.mu.RLock()
	sites := maps.Clone(a.sites)
	model := a.model
	a.mu.RUnlock()
	here := make(map[string]bool, len(names))
	for _, name := range names {
		here[name] = true
	}
	for name, r := range sites {
		if r.folder != f || here[name] {
			delete(f.missing, name)
			continue
		}
		if f.missing == nil {
			f.missing = make(map[string]time.Time)
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
		a.closeFolderSite(r)
		a.log.Info("a site is closed: its folder is gone", zap.String("site", name))
	}

	found, refused := a.newFolderSites(f, names, sites)
	for _, r := range sorted(found) {
		if ctx.Err() != nil {
			return false
		}
		if err := a.openSite(r, model); err != nil {
			r.close()
			refused[r.Name] = err.Error()
			continue
		}
		a.mu.Lock()
		a.addSite(r)
		a.mu.Unlock()
		a.log.Info("a site is opened: its folder is new", zap.String("site", r.Name), zap.String("root", r.Config.Root))
	}
	a.logRefused(f, refused)
	return again
}

// closeFolderSite ends a site. Its data is removed, so that a later site of
// the same name begins with none of its pages.
func (a *App) closeFolderSite(r *LiveSite) {
	a.mu.Lock()
	delete(a.sites, r.Name)
	if a.hosts[r.host]--; a.hosts[r.host] <= 0 {
		delete(a.hosts, r.host)
	}
	a.mu.Unlock()
	r.close()
	forgetMetrics(r.Name)
	if err := os.RemoveAll(filepath.Join(a.DataDir, r.Name)); err != nil {
		a.log.Warn("the data of a site that is gone can't be removed", zap.String("site", r.Name), zap.Error(err))
	}
}

// announceFolders writes the line of the start log for the sites of folders.
func (a *App) announceFolders(ctx context.Context, f *SiteFolders) {
	start := time.Now()
	var sites, keyless, pages, sections int
	example := ""
	for _, r := range a.all() {
		if r.folder != f {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-r.index.looked:
		}
		st := r.index.refresher.Status()
		sites, pages, sections = sites+1, pages+st.Pages, sections+st.Sections
		if !a.keys.Opened(r.Organization, r.Name) {
			keyless++
			example = r.Name
		}
	}
	log := a.log.With(zap.String("folders", f.Folders))
	if keyless > 0 {
		log.Warn("sites have no key", zap.Int("sites", keyless), zap.String("run", "caddy docs key create --site "+example))
	}
	log.Info("the sites of a folder are ready",
		zap.Int("sites", sites), zap.Int("pages", pages), zap.Int("sections", sections), zap.Duration("took", time.Since(start)))
	if sections >= manySections {
		debug.FreeOSMemory()
	}
}

// status returns the status of the folders.
func (f *SiteFolders) status(sites []*LiveSite) FolderStatus {
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
