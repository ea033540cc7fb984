package caddyfile

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/dustin/go-humanize"
)

// placeholder is what Caddy replaces at start or by request, {env.X} or
// {http.request.host}, and the shorthands of the Caddyfile, {host}.
var placeholder = regexp.MustCompile(`\{[a-z][^{}\s]*\}`)

// secretForm is a value made of nothing but placeholders that are read at
// start.
var secretForm = regexp.MustCompile(`^(\{(env\.[A-Za-z_][A-Za-z0-9_]*|file\.[^{}]+)\})+$`)

// startPlaceholder is one that is read at start.
var startPlaceholder = regexp.MustCompile(`\{(env|file)\.[^{}]+\}`)

// checkSecret refuses a secret that would stand in the adapted
// configuration, which Caddy saves to disk and shows at GET /config/. The
// error doesn't hold the value.
func checkSecret(s string) error {
	if secretForm.MatchString(s) {
		return nil
	}
	return errors.New("a secret that stands here would show at GET /config/ and in autosave.json; " +
		"name what holds it, {env.NAME} or {file./path/to/file} ({$NAME} would put the value itself here)")
}

// checkLiteral refuses placeholders in a value that decides how the
// configuration is made.
func checkLiteral(s string) error {
	if p := placeholder.FindString(s); p != "" {
		return fmt.Errorf("the placeholder %s can't stand here; {$NAME} can, which is replaced by an environment variable when the file is read", p)
	}
	return nil
}

// checkPath refuses placeholders that depend on a request.
func checkPath(s string) error {
	for _, p := range placeholder.FindAllString(s, -1) {
		switch name, _, _ := strings.Cut(p[1:], "."); name {
		case "env", "file", "system", "time":
		default:
			return fmt.Errorf("%s depends on the request, but the folder is read at start; {env.NAME} can stand here", p)
		}
	}
	return nil
}

// parseAddress checks an address that starts with http:// or https://.
func parseAddress(s string) (*url.URL, error) {
	if err := checkLiteral(s); err != nil {
		return nil, err
	}
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return nil, fmt.Errorf("%q is not an address that starts with https:// or http://", s)
	case u.User != nil:
		return nil, errors.New("an address holds no name and password")
	case strings.ContainsAny(u.Host, "*"):
		return nil, fmt.Errorf("%q: an address has one host, without *", s)
	}
	return u, nil
}

// parseBase checks an address below which others stand: no query, no
// fragment.
func parseBase(s string) (*url.URL, error) {
	u, err := parseAddress(s)
	if err == nil && (u.RawQuery != "" || u.Fragment != "" || strings.ContainsAny(s, "?#")) {
		err = fmt.Errorf("%q has more than scheme, host and path", s)
	}
	return u, err
}

// parseDuration reads a duration like 10s, 1h30m or 30d within bounds.
func parseDuration(s string, least, most time.Duration) (caddy.Duration, error) {
	d, err := caddy.ParseDuration(s)
	if err != nil {
		return 0, fmt.Errorf("%q is not a duration", s)
	}
	if d < least || d > most {
		return 0, fmt.Errorf("%s is not between %s and %s", s, span(least), span(most))
	}
	return caddy.Duration(d), nil
}

// span writes a duration the way operators do: 365d, not 8760h0m0s.
func span(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d >= day && d%day == 0:
		return strconv.FormatInt(int64(d/day), 10) + "d"
	case d >= time.Hour && d%time.Hour == 0:
		return strconv.FormatInt(int64(d/time.Hour), 10) + "h"
	case d >= time.Minute && d%time.Minute == 0:
		return strconv.FormatInt(int64(d/time.Minute), 10) + "m"
	}
	return d.String()
}

// parseNumber reads a whole number within bounds.
func parseNumber(s string, least, most int) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("%q is not a whole number from %d to %d", s, least, most)
	}
	return n, nil
}

// parseCount reads a number of things, with k for thousands or M for
// millions behind it.
func parseCount(s string) (int64, error) {
	digits, factor := s, int64(1)
	switch {
	case strings.HasSuffix(s, "k"), strings.HasSuffix(s, "K"):
		digits, factor = s[:len(s)-1], 1_000
	case strings.HasSuffix(s, "M"), strings.HasSuffix(s, "m"):
		digits, factor = s[:len(s)-1], 1_000_000
	}
	f, err := strconv.ParseFloat(digits, 64)
	n := int64(f * float64(factor))
	if err != nil || strings.ContainsAny(digits, "eExX+-_nN") || n < 1 || f*float64(factor) > 1e15 {
		return 0, fmt.Errorf("%q is not a number like 500, 20k or 2M", s)
	}
	return n, nil
}

const (
	leastBody = 1_000
	mostBody  = 100_000_000
)

// parseSize reads a number of bytes like 1MB (1,000,000) or 512KiB
// (524,288), in the units of Caddy's request_body.
func parseSize(s string) (int64, error) {
	n, err := humanize.ParseBytes(s)
	if err != nil {
		return 0, fmt.Errorf("%q is not a size", s)
	}
	if n < leastBody || n > mostBody {
		return 0, fmt.Errorf("%s is not between %s and %s", s, humanize.Bytes(leastBody), humanize.Bytes(mostBody))
	}
	return int64(n), nil
}

// checkGlobs checks globs of pages' paths.
func checkGlobs(globs []string) error {
	for _, g := range globs {
		switch {
		case strings.Contains(g, "://"):
			return fmt.Errorf("%q is an address; a glob is a path on the site, like /guide/*", g)
		case !strings.HasPrefix(g, "/"):
			return fmt.Errorf("%q does not start with a slash; did you mean /%s?", g, g)
		}
		if err := checkLiteral(g); err != nil {
			return err
		}
		if _, err := path.Match(g, ""); err != nil {
			return fmt.Errorf("the glob %q has a [ without ], or ends in a backslash", g)
		}
	}
	return nil
}
