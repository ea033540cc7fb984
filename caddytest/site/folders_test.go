package site

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/caddy-docs/caddy-docs/caddytest"
)

// folderPage is a page of a site of a folder.
func folderPage(site, word string) string {
	return "<html lang=en><title>" + site + "</title><main><h1>" + site + "</h1><p>How to install " + site + " with a " + word + ".</p></main></html>"
}

const folderKeys = "\nkey svc_dsc_key_of_site_acme {\n\torganization acme\n}\nkey svc_dsc_key_of_site_beta {\n\torganization beta\n}\nkey svc_dsc_key_of_site_later {\n\tsites later\n}"

// startFolders serves the folders of a folder at *.docs.test. lines are of the
// block sites, block of the site block.
func startFolders(t *testing.T, parent, lines, block string) (s *caddytest.Server, address string) {
	t.Helper()
	return startWithAdmin(t, "sites "+parent+"/* {\n\turl http://{site}.docs.test\n"+lines+"\n}"+folderKeys,
		"http://*.docs.test:0 {\n\troot * "+parent+"/{labels.2}\n\tdocs {\n\t\trate_limit off\n\t}\n\t"+block+"\n}\n")
}

// searchAt searches a site at its host and returns the status and the URLs.
func searchAt(s *caddytest.Server, site string, header map[string]string) (status int, urls string) {
	r := s.Do(caddytest.Request{
		Path: "/v1/search/" + site, Host: site + ".docs.test", Key: "-", Body: `{"query":"install"}`,
		Header: merge(map[string]string{"X-API-Key": "svc_dsc_key_of_site_" + site}, header),
	})
	var results []caddytest.Result
	_ = json.Unmarshal(r.Body, &results)
	for _, r := range results {
		urls += r.Metadata.URL + " "
	}
	return r.Status, urls
}

func merge(a, b map[string]string) map[string]string {
	for k, v := range b {
		a[k] = v
	}
	return a
}

// Sites come and go with their folders while requests run, without a reload
// and without a request that fails.
func TestSitesComeAndGoWithTheirFolders(t *testing.T) {
	parent := caddytest.Folder(t, map[string]string{
		"acme/index.html":      folderPage("acme", "spanner"),
		"beta/index.html":      folderPage("beta", "hammer"),
		"Bad_Name/index.html":  folderPage("bad", "saw"),
		".hidden/index.html":   folderPage("hidden", "saw"),
		"a-file-that-is-no.md": "# No site",
	})
	s, address := startFolders(t, parent, "", "file_server")
	found := func(site string) func() bool {
		return func() bool {
			status, urls := searchAt(s, site, nil)
			return status == http.StatusOK && urls == "http://"+site+".docs.test/ "
		}
	}
	for _, site := range []string{"acme", "beta"} {
		caddytest.Until(t, site+" is found", found(site))
	}
	if r := s.Do(caddytest.Request{Path: "/v1/search/beta", Host: "beta.docs.test", Key: "svc_dsc_key_of_site_acme", Body: `{"query":"install"}`}); r.Status != http.StatusForbidden {
		t.Errorf("the key of another site: %d", r.Status)
	}
	if r := s.Do(caddytest.Request{Path: "/v1/search/beta", Host: "acme.docs.test", Key: "svc_dsc_key_of_site_beta", Body: `{"query":"install"}`}); r.Status != http.StatusNotFound {
		t.Errorf("a site at the host of another: %d", r.Status)
	}

	var stop atomic.Bool
	var clients sync.WaitGroup
	clients.Go(func() {
		for !stop.Load() {
			if status, urls := searchAt(s, "acme", nil); status != http.StatusOK || urls == "" {
				t.Errorf("acme while others come and go: %d %q", status, urls)
				return
			}
		}
	})
	caddytest.Write(t, parent, map[string]string{"later/index.html": folderPage("later", "drill")})
	caddytest.Until(t, "a new site is found, with the key that names it", found("later"))
	caddytest.Write(t, parent, map[string]string{"later/new.html": folderPage("later", "plane")})
	caddytest.Until(t, "its new page is found", func() bool {
		_, urls := searchAt(s, "later", nil)
		return strings.Contains(urls, "new.html")
	})
	out := mustRun(t, "--address", address, "key", "create", "--site", "later")
	secret, _, _ := strings.Cut(out, "\n")
	if !strings.Contains(out, "http://later.docs.test/v1/search/later") || !strings.Contains(out, "of organization later") {
		t.Errorf("key create:\n%s", out)
	}
	if r := s.Do(caddytest.Request{Path: "/v1/search/later", Host: "later.docs.test", Key: secret, Body: `{"query":"install"}`}); r.Status != http.StatusOK {
		t.Errorf("the new key: %d %s", r.Status, r.Body)
	}

	// A deploy that swaps the folder is no end of the site.
	deploy := caddytest.Folder(t, map[string]string{"index.html": folderPage("beta", "mallet")})
	if err := os.Rename(filepath.Join(parent, "beta"), filepath.Join(parent, ".old")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(deploy, filepath.Join(parent, "beta")); err != nil {
		t.Fatal(err)
	}
	caddytest.Until(t, "the deployed page is found", func() bool {
		r := s.Do(caddytest.Request{Path: "/v1/search/beta", Host: "beta.docs.test", Key: "svc_dsc_key_of_site_beta", Body: `{"query":"mallet"}`})
		if r.Status != http.StatusOK {
			t.Fatalf("during a deploy: %d %s", r.Status, r.Body)
		}
		return strings.Contains(string(r.Body), "mallet")
	})

	if err := os.RemoveAll(filepath.Join(parent, "later")); err != nil {
		t.Fatal(err)
	}
	caddytest.Until(t, "a site without a folder is gone", func() bool {
		status, _ := searchAt(s, "later", nil)
		return status == http.StatusNotFound
	})
	caddytest.Until(t, "its data is gone", func() bool {
		_, err := os.Stat(filepath.Join(s.Dir, "data", "later"))
		return os.IsNotExist(err)
	})
	stop.Store(true)
	clients.Wait()

	status := mustRun(t, "--address", address, "status")
	if strings.Contains(status, "later.docs.test") || !strings.Contains(status, "http://acme.docs.test") {
		t.Errorf("status:\n%s", status)
	}
	for _, says := range []string{"Bad_Name", "must be 1 to 63"} {
		if !strings.Contains(status, says) || !strings.Contains(s.Log(), says) {
			t.Errorf("status or log do not say %q:\n%s", says, status)
		}
	}
	if strings.Contains(status, ".hidden") || strings.Contains(status, "a-file") {
		t.Errorf("status:\n%s", status)
	}

	// All folders missing at once is a disk that is not mounted.
	if err := os.Rename(parent, parent+"-away"); err != nil {
		t.Fatal(err)
	}
	caddytest.Until(t, "status says why the sites are still served", func() bool {
		return strings.Contains(mustRun(t, "--address", address, "status"), "no such file")
	})
	if code, urls := searchAt(s, "acme", nil); code != http.StatusOK || urls == "" {
		t.Errorf("acme without its folder: %d %q", code, urls)
	}
	if err := os.Rename(parent+"-away", parent); err != nil {
		t.Fatal(err)
	}
	caddytest.Until(t, "the folders are back", func() bool {
		return !strings.Contains(mustRun(t, "--address", address, "status"), "no such file")
	})
}

// A folder that went while Caddy was stopped leaves nothing to a later one of its
// name. Data stays where a folder may come back, and where it is of something else.
func TestAFolderThatWentWhileCaddyWasStoppedLeavesNothing(t *testing.T) {
	files := map[string]string{"ant/index.html": folderPage("ant", "spanner")}
	for _, site := range []string{"bee", "cat"} {
		files[site+"/index.html"], files[site+"/merger.html"] = folderPage(site, "hammer"), folderPage("Merger", "secret")
	}
	parent := caddytest.Folder(t, files)
	target := filepath.Join(caddytest.Folder(t, map[string]string{"dog/index.html": folderPage("dog", "drill")}), "dog")
	if err := os.Symlink(target, filepath.Join(parent, "dog")); err != nil {
		t.Skip(err)
	}
	s, _ := startFolders(t, parent, "", "file_server")
	data := filepath.Join(s.Dir, "data")
	there := func(name string) bool {
		_, err := os.Stat(filepath.Join(data, filepath.FromSlash(name)))
		return err == nil
	}
	for _, site := range []string{"bee", "cat", "dog"} {
		caddytest.Until(t, site+" is stored", func() bool {
			return there(site+"/addresses.bin") && there(site+"/pages/pages.json") && there(site+"/index/index.snapshot")
		})
	}
	if err := errors.Join(caddy.Stop(),
		os.RemoveAll(filepath.Join(parent, "bee")), os.RemoveAll(filepath.Join(parent, "cat")), os.Rename(target, target+"-away"),
		os.Remove(filepath.Join(data, "cat/pages/pages.json"))); err != nil {
		t.Fatal(err)
	}
	caddytest.Write(t, data, map[string]string{"eel/pages/pages.json": `{"origin":"/srv/docs"}`, "dog/stays": ""})

	if err := s.TryLoad(caddytest.Global(s.Dir, "sites "+parent+"/* {\n\turl http://{site}.docs.test\n}"+folderKeys) +
		"http://*.docs.test:0 {\n\troot * " + parent + "/{labels.2}\n\tdocs\n\tfile_server\n}\n"); err != nil {
		t.Fatal(err)
	}
	caddytest.Until(t, "the data of a folder that is gone is, too", func() bool { return !there("bee") })
	for _, stays := range []string{"ant", "cat", "dog/stays", "eel"} {
		if !there(stays) {
			t.Errorf("%s is removed", stays)
		}
	}
	if err := os.Rename(target+"-away", target); err != nil {
		t.Fatal(err)
	}
	caddytest.Write(t, parent, map[string]string{"bee/index.html": folderPage("bee", "mallet"), "cat/index.html": folderPage("cat", "mallet")})
	for _, site := range []string{"bee", "cat", "dog"} {
		caddytest.Until(t, site+" is there again", func() bool {
			r := caddytest.App(t).Site(site)
			if r == nil {
				return false
			}
			select {
			case <-r.Index.Looked:
				return true
			default:
				return false
			}
		})
		if former := caddytest.App(t).Site(site).Pages().FormerPages(); len(former) > 0 {
			t.Errorf("%s has the pages of the former site: %+v", site, former)
		}
	}
	if !there("dog/stays") {
		t.Error("a folder that could not be followed at the start has lost its data")
	}
}

// A mount that fails for a moment must not close a site and remove its index.
// Here the path of a folder is too long to be asked for, but it is listed.
func TestAFolderThatCantBeReadIsStillThere(t *testing.T) {
	const pathMax = 4096 // with the zero at its end
	if runtime.GOOS != "linux" {
		t.Skip("the limit of paths is that of Linux")
	}
	parent := t.TempDir()
	for len(parent) < pathMax-3 {
		parent += "/" + strings.Repeat("d", min(200, pathMax-3-len(parent)))
	}
	if err := os.MkdirAll(parent, 0o755); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(parent)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := root.Mkdir("acme", 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(parent, "acme")); err == nil {
		t.Fatal("the folder can be read")
	}
	s, _ := startFolders(t, parent, "", "")
	r := s.Do(caddytest.Request{Path: "/v1/search/acme", Host: "acme.docs.test", Key: "svc_dsc_key_of_site_acme", Body: `{"query":"install"}`})
	if r.Status != http.StatusServiceUnavailable { // that of a site that has no index yet
		t.Errorf("%d: %s", r.Status, r.Body)
	}
}

// Locks are those of each site's own host.
func TestLocksOfFolderSites(t *testing.T) {
	parent := caddytest.Folder(t, map[string]string{
		"acme/index.html": folderPage("acme", "spanner"), "acme/internal/plan.html": folderPage("acme", "zebrafish"),
		"beta/index.html": folderPage("beta", "hammer"), "beta/internal/plan.html": folderPage("beta", "zebrafish"),
	})
	s, address := startFolders(t, parent, "", "@lock {\n\t\thost acme.docs.test\n\t\tpath /internal/*\n\t}\n\tbasic_auth @lock {\n\t\treader "+readerHash+"\n\t}\n\tfile_server")
	for _, site := range []string{"acme", "beta"} {
		caddytest.Until(t, "all pages of "+site+" were asked for", func() bool {
			out, _ := run(t, "--address", address, "pages", site)
			return strings.Contains(out, "internal/plan") && !strings.Contains(out, "unknown")
		})
	}
	for _, c := range []struct {
		site   string
		header map[string]string
		locked bool
	}{
		{"acme", nil, true},
		{"acme", map[string]string{"Authorization": readerLogin}, false},
		{"beta", nil, false},
	} {
		status, urls := searchAt(s, c.site, c.header)
		if status != http.StatusOK || strings.Contains(urls, "internal/plan") == c.locked || !strings.Contains(urls, c.site+".docs.test/ ") {
			t.Errorf("%s with %v: %d %s", c.site, c.header, status, urls)
		}
	}
}

// What the folders decide, the configuration can't assume.
func TestKeysOfFolderSitesNameTheirOrganization(t *testing.T) {
	parent := caddytest.Folder(t, map[string]string{"acme/public/index.html": folderPage("acme", "spanner")})
	sites := "http://*.docs.test:0 {\n\tsearch\n}\n"
	load := func(s *caddytest.Server, lines string) error {
		return s.TryLoad(caddytest.Global(s.Dir, fmt.Sprintf("sites %s/*/public {\n\turl http://{site}.docs.test\n%s\n}", parent, lines)) + sites)
	}
	s := caddytest.New(t)
	if err := load(s, ""); err == nil || !strings.Contains(err.Error(), "write organization NAME, or sites NAME") {
		t.Errorf("a key for all sites: %v", err)
	}
	if err := load(s, "\torganization group\n"); err != nil {
		t.Fatal(err)
	}
	caddytest.Until(t, "the folder below is found", func() bool {
		r := s.Do(caddytest.Request{Path: "/v1/search/acme", Host: "acme.docs.test", Body: `{"query":"spanner"}`})
		return strings.Contains(string(r.Body), "spanner")
	})
	// A site that is also defined is that of the definition.
	other := caddytest.Folder(t, map[string]string{"index.html": folderPage("other", "chisel")})
	s.Load("site acme {\n\troot "+other+"\n\torganization group\n}\nsites "+parent+"/*/public {\n\turl http://{site}.docs.test\n\torganization group\n}", sites)
	caddytest.Until(t, "the defined site is found", func() bool {
		r := s.Do(caddytest.Request{Path: "/v1/search/acme", Host: "acme.docs.test", Body: `{"query":"chisel"}`})
		return strings.Contains(string(r.Body), "chisel")
	})
	if !strings.Contains(s.Log(), "another site has this name") {
		t.Error("the log does not say that the folder is left out")
	}
}

// With many sites, status and doctor stay short and begin with what is wrong.
// All sites share one watch of the system.
func TestManySitesStayReadable(t *testing.T) {
	const n = 100
	files := map[string]string{"a-good-one/index.html": folderPage("good", "spanner"), "Bad/index.html": "x", "zz-empty/readme.txt": "x"}
	for i := range n {
		files[fmt.Sprintf("site-%d/index.html", i)] = folderPage("site", "hammer")
	}
	parent := caddytest.Folder(t, files)
	s, address := startWithAdmin(t, "sites "+parent+"/* {\n\turl http://{site}.docs.test\n\torganization group\n}\nkey svc_dsc_key_of_some_sites {\n\torganization group\n\tsites a-good-one zz-empty\n}",
		"http://*.docs.test:0 {\n\troot * "+parent+"/{labels.2}\n\tdocs\n\tfile_server\n}\n")
	caddytest.Until(t, "all sites are ready", func() bool { return strings.Contains(s.Log(), "the sites of a folder are ready") })

	out := mustRun(t, "--address", address, "status")
	lines := strings.Split(out, "\n")
	if len(lines) > 60 || strings.Contains(lines[1], "a-good-one") || !strings.Contains(out, "and 82 more sites, 81 of them with problems") {
		t.Errorf("status has %d lines:\n%s", len(lines), out)
	}
	if out := mustRun(t, "--address", address, "status", "--all"); strings.Count(out, "\nsite-") != n {
		t.Errorf("status --all:\n%s", out)
	}
	if out := mustRun(t, "--address", address, "status", "a-good-one"); !strings.Contains(out, "a-good-one") || strings.Contains(out, "site-1") {
		t.Errorf("status a-good-one:\n%s", out)
	}
	if _, err := run(t, "--address", address, "status", "nobody"); err == nil || len(err.Error()) > 500 || !strings.Contains(err.Error(), "and 82 more") {
		t.Errorf("status of a site that is not there: %v", err)
	}

	out, _ = run(t, "--address", address, "doctor")
	lines = strings.Split(out, "\n")
	if len(lines) > 40 || !strings.HasPrefix(out, "FAIL") || strings.LastIndex(out, "FAIL") > strings.Index(out, "ok    ") {
		t.Errorf("doctor has %d lines:\n%s", len(lines), out)
	}
	for _, says := range []string{"and 99 more sites, such as", "more checks of sites", "site zz-empty index", "Bad", "there is no key for this site"} {
		if !strings.Contains(out, says) {
			t.Errorf("doctor does not say %q:\n%s", says, out)
		}
	}
	if out, _ := run(t, "--address", address, "doctor", "--all"); strings.Count(out, "there is no key for this site") != n {
		t.Errorf("doctor --all:\n%s", out)
	}
	if got := inotifyInstances(t); got > 1 {
		t.Errorf("%d sites use %d instances of inotify", n, got)
	}
}

// inotifyInstances counts those of this process.
func inotifyInstances(t *testing.T) (n int) {
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0 // not Linux
	}
	for _, fd := range fds {
		if to, _ := os.Readlink("/proc/self/fd/" + fd.Name()); strings.Contains(to, "inotify") {
			n++
		}
	}
	return n
}

// A site whose index is only on disk is searched, and is indexed again if its
// file is gone.
func TestASiteOfAFolderIsSearchedFromDiskAndIndexedAgain(t *testing.T) {
	parent := caddytest.Folder(t, map[string]string{"acme/index.html": folderPage("acme", "spanner"), "acme/more.html": folderPage("acme", "drill")})
	s, address := startFolders(t, parent, "", "file_server")
	snapshot := filepath.Join(s.Dir, "data", "acme", "index", "index.snapshot")
	caddytest.Until(t, "the index is stored", func() bool {
		_, err := os.Stat(snapshot)
		return err == nil
	})
	caddytest.Until(t, "the pages of a site that nobody has searched are listed", func() bool {
		out, _ := run(t, "--address", address, "pages", "acme")
		return strings.Contains(out, "/more.html")
	})
	if err := os.Remove(snapshot); err != nil {
		t.Fatal(err)
	}
	if status, _ := searchAt(s, "acme", nil); status != http.StatusServiceUnavailable {
		t.Errorf("without its file: %d, want 503", status)
	}
	caddytest.Until(t, "the site is indexed again", func() bool {
		status, urls := searchAt(s, "acme", nil)
		return status == http.StatusOK && strings.Contains(urls, "/more.html")
	})
	if _, err := os.Stat(snapshot); err != nil {
		t.Error(err)
	}
}

// By default, data_dir is where the storage has its keys and threads, and a folder
// may have the name of one of theirs.
func TestAFolderNamedLikeTheStoragesOwnLeavesThese(t *testing.T) {
	parent := caddytest.Folder(t, map[string]string{"acme/index.html": folderPage("acme", "spanner")})
	s, _ := startFolders(t, parent, "", "file_server")
	data := filepath.Join(s.Dir, "data")
	stored := []string{"keys/a.json", "threads/acme/2026-11-30/a.json", "threads/index/2026-11-30/a.json"}
	for _, name := range stored {
		caddytest.Write(t, data, map[string]string{name: "{}"})
	}
	time.Sleep(2500 * time.Millisecond) // from now on, folders are new
	for _, site := range []string{"keys", "threads"} {
		caddytest.Write(t, parent, map[string]string{site + "/index.html": folderPage(site, "hammer")})
		caddytest.Until(t, site+" is stored", func() bool {
			_, err := os.Stat(filepath.Join(data, site, "pages/pages.json"))
			return err == nil
		})
		if err := os.RemoveAll(filepath.Join(parent, site)); err != nil {
			t.Fatal(err)
		}
		caddytest.Until(t, "its data is gone", func() bool {
			_, err := os.Stat(filepath.Join(data, site, "pages"))
			return os.IsNotExist(err)
		})
	}
	for _, name := range stored {
		if _, err := os.Stat(filepath.Join(data, name)); err != nil {
			t.Error(err)
		}
	}
}
