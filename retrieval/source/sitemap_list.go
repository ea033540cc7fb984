package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// listing collects the pages of the sitemaps.
type listing struct {
	snapshot *sitemapSnapshot
	now      time.Time

	seen                       map[string]bool // sitemaps
	foreign, forbidden, broken omitted
}

// omitted counts URLs that are left out for one reason.
type omitted struct {
	n     int
	first string
}

func (o *omitted) add(u string) {
	if o.n++; o.n == 1 {
		o.first = u
	}
}

// read reads a sitemap and those that it names.
func (l *listing) read(ctx context.Context, sitemap string, depth int) error {
	if l.seen[sitemap] {
		return nil
	}
	if len(l.seen) == maxSitemaps {
		return fmt.Errorf("sitemap %s: it names more than %d sitemaps", l.snapshot.sitemap.URL, maxSitemaps)
	}
	l.seen[sitemap] = true
	response, err := l.snapshot.get(ctx, sitemap, "")
	if err != nil {
		return fmt.Errorf("fetching sitemap %s: %w", sitemap, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("fetching sitemap %s: the site responds with %s", sitemap, response.Status)
	}
	pages, maps, err := parseSitemap(response.Body, maxSitemapURLs)
	if err != nil && !errors.Is(err, errTooMuch) {
		return fmt.Errorf("sitemap %s: %w", sitemap, err)
	}
	if err != nil {
		l.problem(sitemap, err.Error()+"; the rest is left out")
	}
	for _, p := range pages {
		if err := ctx.Err(); err != nil { // testing all rules takes time
			return err
		}
		if len(l.snapshot.Files) == maxSitemapURLs {
			l.problem(l.snapshot.sitemap.URL, fmt.Sprintf("names more than %d pages; the rest is left out", maxSitemapURLs))
			return nil
		}
		l.add(p)
	}
	for _, m := range maps {
		u, err := url.Parse(m.Loc)
		switch {
		case err != nil || u.Host == "":
			l.broken.add(m.Loc)
		case depth == maxSitemapDepth:
			l.problem(m.Loc, fmt.Sprintf("sitemaps are nested deeper than %d; not read", maxSitemapDepth))
		default:
			upstream, ok := l.snapshot.upstreamURL(u)
			if !ok {
				l.foreign.add(m.Loc)
			} else if err := l.read(ctx, upstream.String(), depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// add lists a page if it may be fetched.
func (l *listing) add(entry sitemapEntry) {
	s := l.snapshot
	u, err := url.Parse(entry.Loc)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil || len(entry.Loc) > maxURL {
		l.broken.add(entry.Loc)
		return
	}
	u.Fragment, u.RawFragment = "", ""
	address, ok := s.pageURL(u)
	upstream, fetched := s.upstreamURL(u)
	if !ok || !fetched {
		l.foreign.add(u.String())
		return
	}
	page := address.String()
	switch {
	case s.sitemap.Wants != nil && !s.sitemap.Wants(page) || s.listed[page]:
		return
	case !s.robots.Test(upstream.RequestURI()):
		l.forbidden.add(page)
		return
	}
	s.listed[page] = true
	file := retrieval.File{Path: page, Size: -1}
	modified, exact := lastModified(entry.LastMod)
	settled := young
	if !exact {
		settled = 48 * time.Hour // that day, in any time zone
	}
	if !modified.IsZero() && l.now.Sub(modified) > settled {
		file.Modified = modified
		file.Version = fmt.Sprintf("%s/%d", entry.LastMod, checkDay(page, l.now))
	}
	s.Files = append(s.Files, file)
}

// checkDay numbers the days, which begin at a different hour for each page:
// lastmod is often wrong, so each page is requested once a day, but not all at
// the same time.
func checkDay(page string, now time.Time) int64 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(page))
	const day = 24 * 60 * 60
	return (now.Unix() + int64(h.Sum32()%day)) / day
}

func (l *listing) finish() {
	for _, o := range []struct {
		omitted
		file, reason string
	}{
		{l.foreign, l.snapshot.sitemap.URL, "%d URLs of other hosts are left out, the first is %.200s"},
		{l.broken, l.snapshot.sitemap.URL, "%d entries are not URLs, the first is %.200q"},
		{l.forbidden, "/robots.txt", "forbids %d of the sitemap's pages, the first is %.200s"},
	} {
		if o.n > 0 {
			l.problem(o.file, fmt.Sprintf(o.reason, o.n, o.first))
		}
	}
	slices.SortFunc(l.snapshot.Files, func(a, b retrieval.File) int { return cmp.Compare(a.Path, b.Path) })
}

func (l *listing) problem(file, reason string) {
	l.snapshot.Problems = append(l.snapshot.Problems, retrieval.Problem{File: file, Reason: reason, Since: l.now})
}
