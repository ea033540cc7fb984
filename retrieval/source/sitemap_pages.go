package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// sitemapSnapshot fetches the pages of one listing.
type sitemapSnapshot struct {
	sitemap  *Sitemap
	files    []retrieval.File
	problems []retrieval.Problem
	listed   map[string]bool
	gate     chan struct{} // holds one per request under way
	delay    time.Duration // between two requests

	mu       sync.Mutex
	failures int // in a row
}

func (s *sitemapSnapshot) Files() []retrieval.File       { return s.files }
func (s *sitemapSnapshot) Problems() []retrieval.Problem { return s.problems }
func (s *sitemapSnapshot) Workers() int                  { return sitemapWorkers }
func (s *sitemapSnapshot) Current() bool                 { return true }

func (s *sitemapSnapshot) Close() error {
	s.sitemap.client.CloseIdleConnections()
	return nil
}

// Read fetches a page.
func (s *sitemapSnapshot) Read(ctx context.Context, file retrieval.File) (retrieval.Content, error) {
	select {
	case s.gate <- struct{}{}:
		defer func() { <-s.gate }()
	case <-ctx.Done():
		return retrieval.Content{}, ctx.Err()
	}
	if s.down() {
		return retrieval.Content{}, fmt.Errorf("%w: the site didn't answer for other pages, so it was not asked", retrieval.ErrTemporary)
	}
	content, err := s.fetch(ctx, file)
	s.mu.Lock()
	if errors.Is(err, retrieval.ErrTemporary) {
		s.failures++
	} else {
		s.failures = 0
	}
	s.mu.Unlock()
	if s.delay > 0 {
		sleep(ctx, s.delay)
	}
	return content, err
}

func (s *sitemapSnapshot) down() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failures >= giveUpAfter
}

func (s *sitemapSnapshot) fetch(ctx context.Context, file retrieval.File) (none retrieval.Content, err error) {
	response, err := s.sitemap.get(ctx, file.Path, file.Tag)
	if errors.Is(err, errElsewhere) {
		return none, fmt.Errorf("%w: %w", retrieval.ErrNotPage, err)
	}
	if err != nil {
		return none, fmt.Errorf("%w: %w", retrieval.ErrTemporary, err)
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusOK:
	case http.StatusNotModified:
		return none, retrieval.ErrUnchanged
	case http.StatusNotFound, http.StatusGone:
		return none, fmt.Errorf("the site answers %s: %w", response.Status, fs.ErrNotExist)
	default:
		return none, fmt.Errorf("%w: the site answers %s", retrieval.ErrTemporary, response.Status)
	}
	if end := *response.Request.URL; end.String() != file.Path {
		end.Fragment = ""
		if s.listed[end.String()] {
			return none, fmt.Errorf("%w: it is a redirect to another page of the sitemap", retrieval.ErrNotPage)
		}
	}
	if noindex(response.Header.Values("X-Robots-Tag")) {
		return none, fmt.Errorf("%w: X-Robots-Tag says noindex", retrieval.ErrNotPage)
	}
	if t := response.Header.Get("Content-Type"); !isHTML(t) {
		return none, fmt.Errorf("%w: its content type is %q", retrieval.ErrNotPage, t)
	}
	limit := s.sitemap.maxPage()
	data, err := io.ReadAll(io.LimitReader(response.Body, limit+1))
	if err != nil {
		return none, fmt.Errorf("%w: %w", retrieval.ErrTemporary, err)
	}
	if int64(len(data)) > limit {
		return none, tooLarge(limit)
	}
	content := retrieval.Content{Data: data}
	etag, modified := response.Header.Get("ETag"), response.Header.Get("Last-Modified")
	if len(etag)+len(modified) > 0 && len(etag)+len(modified) < 512 {
		content.Tag = etag + "\n" + modified
	}
	return content, nil
}

func isHTML(contentType string) bool {
	t, _, _ := strings.Cut(contentType, ";")
	switch strings.ToLower(strings.TrimSpace(t)) {
	case "", "text/html", "application/xhtml+xml":
		return true
	}
	return false
}

// noindex reads X-Robots-Tag headers: "noindex, nofollow", or for one
// crawler, "caddy-docs: noindex".
func noindex(values []string) bool {
	for _, v := range values {
		if agent, rules, ok := strings.Cut(v, ":"); ok && !strings.Contains(agent, ",") {
			switch agent = strings.ToLower(strings.TrimSpace(agent)); agent {
			case UserAgent:
				v = rules
			case "unavailable_after", "max-snippet", "max-image-preview", "max-video-preview":
			default:
				continue // another crawler's
			}
		}
		for rule := range strings.SplitSeq(v, ",") {
			switch strings.ToLower(strings.TrimSpace(rule)) {
			case "noindex", "none":
				return true
			}
		}
	}
	return false
}
