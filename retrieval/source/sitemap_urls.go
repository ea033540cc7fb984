package source

import (
	"fmt"
	"net/url"
	"strings"
)

// hostOf is a host with its port, unless that is 80 or 443: http and https of
// one name are one host.
func hostOf(u *url.URL) string {
	host := strings.ToLower(u.Hostname())
	if port := u.Port(); port != "" && port != "80" && port != "443" {
		host += ":" + port
	}
	return host
}

// rebase sets the roots of the site and of its upstream if they differ.
func (s *sitemapSnapshot) rebase(sitemap *url.URL) error {
	if s.sitemap.Site == "" {
		return nil
	}
	site, err := url.Parse(s.sitemap.Site)
	if err != nil {
		return fmt.Errorf("url %q of a site with a sitemap: %w", s.sitemap.Site, err)
	}
	if hostOf(site) == s.host {
		return nil
	}
	root := strings.TrimSuffix(site.Path, "/") + "/"
	s.site = &url.URL{Scheme: site.Scheme, Host: site.Host, Path: root}
	s.upstream = &url.URL{Scheme: sitemap.Scheme, Host: sitemap.Host, Path: "/"}
	if strings.HasPrefix(sitemap.Path, root) {
		s.upstream.Path = root
	}
	return nil
}

// pageURL returns the URL by which readers know a page on either host.
func (s *sitemapSnapshot) pageURL(u *url.URL) (page *url.URL, ok bool) {
	switch {
	case s.site == nil:
		return u, hostOf(u) == s.host
	case hostOf(u) == s.host:
		return moved(u, s.upstream, s.site)
	case hostOf(u) == hostOf(s.site):
		return moved(u, s.site, s.site)
	}
	return nil, false
}

// upstreamURL returns the URL from which a page on either host is fetched.
func (s *sitemapSnapshot) upstreamURL(u *url.URL) (upstream *url.URL, ok bool) {
	if s.site != nil && hostOf(u) == hostOf(s.site) {
		return moved(u, s.site, s.upstream)
	}
	return u, hostOf(u) == s.host
}

// moved returns the URL with its root replaced, if it is below that.
func moved(u, from, to *url.URL) (*url.URL, bool) {
	rest, ok := strings.CutPrefix(strings.TrimSuffix(u.Path, "/")+"/", from.Path)
	if !ok {
		return nil, false
	}
	if !strings.HasSuffix(u.Path, "/") {
		rest = strings.TrimSuffix(rest, "/")
	}
	v := *u
	v.Scheme, v.Host, v.Path, v.RawPath = to.Scheme, to.Host, to.Path+rest, ""
	return &v, true
}
