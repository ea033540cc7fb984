package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/temoto/robotstxt"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// sitemapSnapshot fetches the pages of one listing.
type sitemapSnapshot struct {
	retrieval.Snapshot
	sitemap  *Sitemap
	client   http.Client
	host     string   // that is asked, see hostOf
	site     *url.URL // root of the pages for readers; nil: as in the sitemap
	upstream *url.URL // root from which they are fetched
	robots   *robotstxt.Group
	listed   map[string]bool
	gate     chan struct{} // holds one value per request in progress
	delay    time.Duration // between two requests
	failures atomic.Int32  // consecutive
}

// read fetches a page.
func (s *sitemapSnapshot) read(ctx context.Context, file retrieval.File) (retrieval.Content, error) {
	select {
	case s.gate <- struct{}{}:
		defer func() { <-s.gate }()
	case <-ctx.Done():
		return retrieval.Content{}, ctx.Err()
	}
	if s.failures.Load() >= giveUpAfter {
		return retrieval.Content{}, fmt.Errorf("%w: not requested, because the site did not respond to requests for other pages", retrieval.ErrTemporary)
	}
	content, err := s.fetch(ctx, file)
	if errors.Is(err, retrieval.ErrTemporary) {
		s.failures.Add(1)
	} else {
		s.failures.Store(0)
	}
	if s.delay > 0 {
		retrieval.Sleep(ctx, s.delay)
	}
	return content, err
}

func (s *sitemapSnapshot) fetch(ctx context.Context, file retrieval.File) (none retrieval.Content, err error) {
	address, err := url.Parse(file.Path)
	if err != nil {
		return none, err
	}
	if upstream, ok := s.upstreamURL(address); ok {
		address = upstream
	}
	response, err := s.get(ctx, address.String(), file.Tag)
	if errors.Is(err, errRedirect) {
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
		return none, fmt.Errorf("the site responds with %s: %w", response.Status, fs.ErrNotExist)
	default:
		return none, fmt.Errorf("%w: the site responds with %s", retrieval.ErrTemporary, response.Status)
	}
	end := *response.Request.URL
	end.Fragment = ""
	if page, ok := s.pageURL(&end); ok && page.String() != file.Path && s.listed[page.String()] {
		return none, fmt.Errorf("%w: it is a redirect to another page of the sitemap", retrieval.ErrNotPage)
	}
	if noindex(response.Header.Values("X-Robots-Tag")) {
		return none, fmt.Errorf("%w: X-Robots-Tag says noindex", retrieval.ErrNotPage)
	}
	if t := response.Header.Get("Content-Type"); !isHTML(t) {
		return none, fmt.Errorf("%w: its content type is %q", retrieval.ErrNotPage, t)
	}
	data, err := readPage(response.Body, 0)
	if err != nil && err != errTooLarge {
		err = fmt.Errorf("%w: %w", retrieval.ErrTemporary, err)
	}
	if err != nil {
		return none, err
	}
	content := retrieval.Content{Data: data}
	tag := response.Header.Get("ETag") + "\n" + response.Header.Get("Last-Modified")
	if len(tag) > 1 && len(tag) <= 512 {
		content.Tag = tag
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

// noindex reads X-Robots-Tag headers: "noindex, nofollow" or, for one crawler,
// "caddy-docs: noindex".
func noindex(values []string) bool {
	for _, v := range values {
		if agent, rules, ok := strings.Cut(v, ":"); ok && !strings.Contains(agent, ",") {
			switch strings.ToLower(strings.TrimSpace(agent)) {
			case userAgent:
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
