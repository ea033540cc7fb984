package command

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/caddy-docs/caddy-docs/access"
)

// firstSite is what `caddy docs init` writes a Caddyfile of.
type firstSite struct {
	Site, Host      string
	Root, Sitemap   string
	Model, ModelURL string
	ModelKey        string // the name of an environment variable
	Widget          bool

	// What was found in Root. The generator is "HTML" or "Markdown" if it is not
	// known.
	generator string
	cleanURLs bool
}

// complete checks the answers and fills in what follows from them.
func (s *firstSite) complete() (err error) {
	if (s.Root == "") == (s.Sitemap == "") {
		return errors.New("write either --root FOLDER, the folder of the built site, or --sitemap URL, for a site on another server")
	}
	s.Host = cmp.Or(s.Host, "http://localhost:8080")
	u, err := url.Parse(s.Host)
	if err != nil || !strings.Contains(s.Host, "://") {
		u, err = url.Parse("https://" + s.Host)
	}
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.User != nil || strings.ContainsAny(u.Host, "*{} \t\n") {
		return fmt.Errorf("--host %q must be a host, like docs.acme.com or http://localhost:8080; for several hosts or a path see %s", s.Host, recipe("index"))
	}
	s.Host = strings.TrimSuffix(s.Host, "/")
	s.Site = cmp.Or(s.Site, siteName(u.Hostname()))
	if err := access.CheckName("--site", s.Site); err != nil {
		return err
	}
	if s.Root != "" {
		if err := s.lookAt(); err != nil {
			return err
		}
	} else if err := webURL("--sitemap", s.Sitemap, "https://docs.acme.com/sitemap.xml"); err != nil {
		return err
	}
	if s.ModelURL == "" {
		if s.Model != "" {
			return errors.New("--model needs --model-url, the address of its API, like https://api.openai.com/v1")
		}
		return nil
	}
	if s.Model == "" {
		return errors.New("--model-url needs --model, the model's name, like gpt-5-mini")
	}
	if strings.ContainsFunc(s.ModelKey, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) {
		return errors.New("--model-key is the name of an environment variable with the key, like OPENAI_API_KEY, not the key itself")
	}
	if !isPrivate(s.ModelURL) {
		s.ModelKey = cmp.Or(s.ModelKey, "OPENAI_API_KEY")
	}
	return webURL("--model-url", s.ModelURL, "https://api.openai.com/v1")
}

func webURL(flag, value, example string) error {
	if u, err := url.Parse(value); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("%s %q must be a URL, like %s", flag, value, example)
	}
	return nil
}

// siteName makes a name of a host: acme of docs.acme.com.
func siteName(host string) string {
	if _, err := netip.ParseAddr(host); err == nil || host == "localhost" {
		return "docs"
	}
	labels := strings.Split(strings.ToLower(host), ".")
	if len(labels) > 1 {
		labels = labels[:len(labels)-1]
	}
	common := []string{"docs", "doc", "www", "help", "developer", "developers", "dev", "api", "learn", "support"}
	for len(labels) > 1 && slices.Contains(common, labels[0]) {
		labels = labels[1:]
	}
	return labels[0]
}

// isPrivate reports whether a URL's host is this machine or in a private
// network, judging by its text.
func isPrivate(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	host := u.Hostname()
	if a, err := netip.ParseAddr(host); err == nil {
		return a.IsLoopback() || a.IsPrivate() || a.IsLinkLocalUnicast()
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || !strings.Contains(host, ".")
}

func (s *firstSite) caddyfile() string {
	var b strings.Builder
	line := func(words ...string) { fmt.Fprintln(&b, strings.TrimSpace(strings.Join(words, " "))) }
	block := func(lines ...string) string {
		if len(lines) == 0 {
			return ""
		}
		return "{\n" + strings.Join(lines, "\n") + "\n}"
	}
	if s.ModelURL != "" {
		var key []string
		if s.ModelKey != "" {
			key = []string{"api_key {env." + s.ModelKey + "}"}
		}
		line(block("docs " + block("llm "+quote(s.ModelURL)+" "+quote(s.Model)+" "+block(key...))))
		line()
	}
	proxied := s.Sitemap != "" && isPrivate(s.Sitemap)
	var words []string
	if s.Sitemap != "" {
		words = append(words, "sitemap "+quote(s.Sitemap))
	}
	if proxied {
		words = append(words, "url "+s.origin(), "allow_private on")
	}
	if s.cleanURLs {
		words = append(words, "clean_urls on")
	}
	if s.Widget {
		words = append(words, "widget inject")
	}
	line(s.Host, "{")
	if s.Root != "" {
		line("root *", quote(s.Root))
	}
	line("docs", s.Site, block(words...))
	if s.cleanURLs {
		line("try_files {path} {path}.html {path}/index.html")
	}
	if proxied {
		u, _ := url.Parse(s.Sitemap) // complete has checked it
		line("reverse_proxy", u.Scheme+"://"+u.Host)
	}
	if s.Root != "" {
		line("file_server")
	}
	line("}")
	return string(caddyfile.Format([]byte(b.String())))
}

// origin is the URL of the site's pages.
func (s *firstSite) origin() string {
	if strings.Contains(s.Host, "://") {
		return s.Host
	}
	if host, port, err := net.SplitHostPort(s.Host); err == nil && port == "443" {
		return "https://" + host
	}
	return "https://" + s.Host
}

func quote(s string) string {
	if s != "" && !strings.ContainsAny(s, " \t\"`{}#\\") {
		return s
	}
	if !strings.Contains(s, "`") {
		return "`" + s + "`"
	}
	return strconv.Quote(s)
}

func recipe(name string) string {
	return "https://github.com/caddy-docs/caddy-docs/blob/main/docs/recipes/" + name + ".md"
}
