// Package oracle judges what a site with locks shows: it asks for every page as
// every reader, and compares searches with that.
package oracle

import (
	"crypto/tls"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/bcrypt"
)

// Page is a page of the site.
type Page struct {
	Path string
	// Word is in this page alone, Topic in a few others, too.
	Word, Topic string
}

// Reader is a client of the site.
type Reader struct {
	Name   string
	Header map[string]string
	// From is the IP, of loopback. Default: 127.0.0.1.
	From string
	// Certificate reports that the client has one.
	Certificate bool

	client *http.Client
	opens  []bool // by page
}

// Site is a site with five locks: basic_auth on a folder, forward_auth with a
// list of pages for each reader, groups in cookies, remote_ip, and client
// certificates. Half of the pages are public.
type Site struct {
	Name, Host string
	Pages      []Page
	Readers    []*Reader
	Auth       *Auth

	dir    string
	hash   string // of the password
	at     map[string]int
	client tls.Certificate
	pool   string // the file with its authority
}

// folders are those of the locks.
var folders = []string{"staff", "lists", "groups/red", "groups/blue", "office", "vault"}

// Office is the IP that the lock with remote_ip opens for.
const Office = "127.0.0.9"

const user, password = "reader", "secret"

// Word returns a word that no language has.
func Word(n int) string {
	var b strings.Builder
	for v := uint64(n)*2654435761 + 977; b.Len() < 10; v /= 5 { //nolint:gosec // below 2^63
		b.WriteByte("bdfgklmnprtvz"[v%13])
		v /= 13
		b.WriteByte("aeiou"[v%5])
		if v == 0 {
			v = uint64(n) + 7919 //nolint:gosec // as above
		}
	}
	return b.String() + "k"
}

// New writes a site's pages below dir. cost is that of the password's hash.
func New(dir string, pages, cost int) (*Site, error) {
	hash, err := bcrypt.GenerateFromPassword([]byte(password), cost)
	if err != nil {
		return nil, err
	}
	s := &Site{Name: "oracle", Host: "docs.oracle.test", dir: dir, hash: string(hash), at: make(map[string]int)}
	if s.client, s.pool, err = ClientCertificate(dir, "clients.pem"); err != nil {
		return nil, err
	}
	random := rand.New(rand.NewPCG(5, 6)) //nolint:gosec // the same pages in each run
	for i := range pages {
		folder := "guide"
		if i%2 == 1 {
			folder = folders[i/2%len(folders)]
		}
		p := Page{Path: fmt.Sprintf("/%s/%d/p%d.html", folder, i/2%9, i), Word: Word(i), Topic: Word(1_000_000 + random.IntN(pages/20+1))}
		s.at[stem(p.Path)] = i
		s.Pages = append(s.Pages, p)
		var text strings.Builder
		for range 60 {
			fmt.Fprintf(&text, "%s ", Word(2_000_000+random.IntN(1500)))
		}
		html := fmt.Sprintf("<!doctype html><html lang=en><title>About %[1]s</title><main><h1>About %[1]s</h1><p>%[2]s of %[3]s, %[1]s.</p></main></html>", p.Word, text.String(), p.Topic)
		file := filepath.Join(s.Root(), filepath.FromSlash(p.Path))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(file, []byte(html), 0o600); err != nil {
			return nil, err
		}
	}
	s.Auth = newAuth(s)
	s.Readers = readers()
	return s, nil
}

// Root is the folder of the pages.
func (s *Site) Root() string { return filepath.Join(s.dir, "pages") }

// Block returns the site's block of a Caddyfile, at a port with TLS.
func (s *Site) Block(port int, auth string) string {
	return fmt.Sprintf(`https://%s:%d {
	tls internal {
		client_auth {
			mode verify_if_given
			trust_pool file %s
		}
	}
	root * %q
	docs %s {
		rate_limit off
	}
	basic_auth /staff/* {
		%s %s
	}
	forward_auth /lists/* %s {
		uri /verify
	}
	@red {
		path /groups/red/*
		not header_regexp Cookie group=red
	}
	respond @red 403
	@blue {
		path /groups/blue/*
		not header_regexp Cookie group=blue
	}
	respond @blue 403
	@outside {
		path /office/*
		not remote_ip %s
	}
	respond @outside 403
	@vault {
		path /vault/*
		vars {http.request.tls.client.subject} ""
	}
	respond @vault 403
	file_server
}
`, s.Host, port, s.pool, s.Root(), s.Name, user, s.hash, auth, Office)
}

// readers are strangers and readers with rights, one and several.
func readers() []*Reader {
	basic := func(password string) string {
		r := &http.Request{Header: make(http.Header)}
		r.SetBasicAuth(user, password)
		return r.Header.Get("Authorization")
	}
	header := func(h ...string) map[string]string {
		m := make(map[string]string)
		for i := 0; i+1 < len(h); i += 2 {
			m[h[i]] = h[i+1]
		}
		return m
	}
	all := []*Reader{
		{Name: "a stranger"},
		{Name: "a stranger with a cookie", Header: header("Cookie", "theme=dark")},
		{Name: "a wrong password", Header: header("Authorization", basic("wrong"))},
		{Name: "a forged address", Header: header("X-Forwarded-For", Office)},
		{Name: "a password", Header: header("Authorization", basic(password))},
		{Name: "the red group", Header: header("Cookie", "group=red")},
		{Name: "the blue group", Header: header("Cookie", "group=blue")},
		{Name: "the office", From: Office},
		{Name: "another address", From: "127.0.0.8"},
		{Name: "a certificate", Certificate: true},
		{Name: "a password and the red group", Header: header("Authorization", basic(password), "Cookie", "group=red")},
		{Name: "the office with a certificate", From: Office, Certificate: true},
		{Name: "everything", From: Office, Certificate: true, Header: header("Authorization", basic(password), "Cookie", "user=u0; group=red")},
	}
	for i := range 7 {
		all = append(all, &Reader{Name: fmt.Sprintf("the reader u%d of lists", i), Header: header("Cookie", fmt.Sprintf("user=u%d", i))})
	}
	return all
}

// Auth is an authentication server that knows which pages each user may open.
type Auth struct {
	// Delay is how long it takes.
	Delay atomic.Int64

	mu    sync.Mutex
	lists map[string]map[string]bool // paths by user
	count map[string]int             // requests by the cookie
}

// newAuth gives each user the pages that are on their list: from a few of them
// to half.
func newAuth(s *Site) *Auth {
	a := &Auth{lists: make(map[string]map[string]bool), count: make(map[string]int)}
	random := rand.New(rand.NewPCG(7, 8)) //nolint:gosec // as above
	for i, share := range []float64{.5, .25, .1, .05, .05, .03, 0} {
		list := make(map[string]bool)
		for _, p := range s.Pages {
			if strings.HasPrefix(p.Path, "/lists/") && random.Float64() < share {
				list[p.Path] = true
			}
		}
		a.lists[fmt.Sprintf("u%d", i)] = list
	}
	return a
}

func (a *Auth) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	uri := r.Header.Get("X-Forwarded-Uri")
	a.mu.Lock()
	a.count[r.Header.Get("Cookie")]++
	c, err := r.Cookie("user")
	open := err == nil && a.lists[c.Value][uri]
	a.mu.Unlock()
	time.Sleep(time.Duration(a.Delay.Load()))
	if !open {
		w.WriteHeader(http.StatusForbidden)
	}
}

// Count returns how many requests had a cookie.
func (a *Auth) Count(cookie string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.count[cookie]
}
