package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// pagesASite is the size of a site of the folder of sites.
const pagesASite = 20

// benchSites measures a folder of sites: the first start, the restart, and
// what they cost.
func benchSites(ctx context.Context, b *bench) error {
	sites := b.sites
	if b.short {
		sites /= 10
	}
	parent := filepath.Join(b.dir, "sites")
	bytes, err := writeSites(parent, sites)
	if err != nil {
		return err
	}
	addr, err := freeAddress() // one for all: another URL is another site
	if err != nil {
		return err
	}
	options := fmt.Sprintf("\tdocs {\n\t\tsites %s/* {\n\t\t\turl http://{site}.docs.test:PORT\n\t\t}\n\t}", parent)
	data, err := os.MkdirTemp(b.dir, "data-")
	if err != nil {
		return err
	}
	s := series{}
	for range b.rounds {
		if err := os.RemoveAll(data); err != nil {
			return err
		}
		if err := os.MkdirAll(data, 0o755); err != nil {
			return err
		}
		for _, start := range []string{"first start", "restart"} {
			begin := time.Now()
			srv, err := b.startSites(ctx, addr, options, data)
			if err != nil {
				return err
			}
			b.profileCPU(ctx, srv, strings.ReplaceAll(start, " ", "-"), 15*time.Second)
			if err := srv.sitesReady(ctx, sites, start == "restart"); err != nil {
				return err
			}
			s.add(start, time.Since(begin).Seconds())
			s.add(start+" CPU", srv.cpu().Seconds())
			if err := pause(ctx, 3*time.Second); err != nil {
				return err
			}
			s.add(start+" RSS", float64(srv.rss())/1e6)
			instances, watches := srv.inotify()
			s.add("instances", float64(instances))
			s.add("watches", float64(watches))
			before := srv.cpu()
			if err := pause(ctx, b.seconds(9)); err != nil {
				return err
			}
			s.add(start+" idle", float64(srv.cpu()-before)/float64(b.seconds(9))*100)
			if b.profile != "" {
				b.profileHeap(ctx, srv, strings.ReplaceAll(start, " ", "-"))
			}
			srv.end()
		}
	}
	met := func(name string, most float64) string {
		return result(s.median(name), fmt.Sprintf("≤ %v", most), s.median(name) <= most)
	}
	table(fmt.Sprintf("%d sites in a folder, %d pages each of %.1f kB", sites, pagesASite, float64(bytes)/float64(sites*pagesASite)/1000),
		[]string{"", "first start", "restart"}, [][]string{
			{"until all sites can be searched, s", met("first start", 10), met("restart", 10)},
			{"CPU time of it, s", number(s.median("first start CPU")), number(s.median("restart CPU"))},
			{"RSS, MB", met("first start RSS", 500), met("restart RSS", 500)},
			{"CPU afterwards, % of one core", number(s.median("first start idle")), number(s.median("restart idle"))},
			{"inotify instances, watches", number(s.median("instances")), number(s.median("watches"))},
		})
	return nil
}

// startSites starts Caddy with the hosts of the sites.
func (b *bench) startSites(ctx context.Context, addr, options, data string) (*server, error) {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	options = strings.ReplaceAll(options, "PORT", port)
	handlers := fmt.Sprintf("\trespond 404\n}\nhttp://*.docs.test:%s {\n\troot * %s/{labels.2}\n\tdocs\n\tfile_server", port, filepath.Join(b.dir, "sites"))
	return b.startCaddy(ctx, options, handlers, data)
}

// writeSites writes the folders of sites and returns the bytes of their pages.
func writeSites(parent string, sites int) (bytes int, err error) {
	c := newCorpus(4 * pagesASite) // the vocabulary of a site
	for site := range sites {
		dir := filepath.Join(parent, fmt.Sprintf("site-%d", site))
		for _, folder := range []string{"", "guide", "reference"} {
			if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
				return 0, err
			}
		}
		for p := range pagesASite {
			t := c.topic(p)
			var page strings.Builder
			fmt.Fprintf(&page, "<!doctype html><html lang=en><title>%s</title><main>", c.title(t))
			for s := range 4 {
				fmt.Fprintf(&page, "<h%d id=s%d>%s</h%[1]d>", min(s+1, 2), s, c.title(t))
				for range 3 {
					page.WriteString("<p>")
					for range 3 {
						c.sentence(&page, t)
					}
					page.WriteString("</p>\n")
				}
			}
			page.WriteString("</main></html>")
			name := []string{"", "guide/", "reference/"}[p%3] + fmt.Sprintf("page-%d.html", p)
			if p == 0 {
				name = "index.html"
			}
			bytes += page.Len()
			if err := os.WriteFile(filepath.Join(dir, name), []byte(page.String()), 0o600); err != nil {
				return 0, err
			}
		}
	}
	return bytes, nil
}

// sitesReady waits until all sites have an index of all of their pages, which
// after a restart was compared with the folder.
func (s *server) sitesReady(ctx context.Context, sites int, checked bool) error {
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.admin+"/docs/status", nil)
		if err != nil {
			return err
		}
		var status struct {
			Sites []struct {
				Index struct {
					Ready   bool
					Pages   int
					Checked time.Time
				}
			}
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		err = json.NewDecoder(res.Body).Decode(&status)
		_ = res.Body.Close()
		if err != nil {
			return err
		}
		ready := 0
		for _, site := range status.Sites {
			if site.Index.Ready && site.Index.Pages == pagesASite && (!checked || !site.Index.Checked.IsZero()) {
				ready++
			}
		}
		if ready == sites {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.done:
			return fmt.Errorf("caddy ended:\n%s", s.tail())
		case <-time.After(time.Second):
		}
	}
}

// inotify counts the process's instances and watches.
func (p *process) inotify() (instances, watches int) {
	infos, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fdinfo/*", p.cmd.Process.Pid))
	for _, info := range infos {
		data, err := os.ReadFile(info)
		if n := strings.Count(string(data), "inotify wd:"); err == nil && n > 0 {
			instances++
			watches += n
		}
	}
	return instances, watches
}
