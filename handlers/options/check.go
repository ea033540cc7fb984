package options

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/caddyserver/caddy/v2"

	"github.com/caddy-docs/caddy-docs/access"
)

// FieldError is the error for a field of the configuration that has a value
// which it can't have. Validate returns these, joined.
type FieldError struct {
	// Field is the name in JSON.
	Field string
	// Problem says what the field has and what it may have.
	Problem string
}

func (e *FieldError) Error() string { return e.Field + ": " + e.Problem }

const day = 24 * time.Hour

// checker collects the errors of a configuration's fields. Where a zero value
// means the default, its methods accept it.
type checker struct{ errs []error }

func (c *checker) err() error { return errors.Join(c.errs...) }

func (c *checker) semanticRatio(r *float64) {
	if r != nil && !(*r >= 0 && *r <= 1) {
		c.fail("semantic_ratio", "%v must be from 0 (keyword search only) to 1 (semantic search only)", *r)
	}
}

func (c *checker) fail(field, format string, args ...any) {
	c.errs = append(c.errs, &FieldError{field, fmt.Sprintf(format, args...)})
}

// within adds the error of a value inside this one.
func (c *checker) within(field string, err error) {
	if err != nil {
		c.fail(field, "%s", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
}

// name checks the name of a site or an organization.
func (c *checker) name(field, name string) {
	if err := access.CheckName("name", name); err != nil {
		c.fail(field, "%v", err)
	}
}

func (c *checker) required(field, value string) {
	if value == "" {
		c.fail(field, "is missing")
	}
}

func (c *checker) oneOf(field, value string, choices ...string) {
	if value != "" && !slices.Contains(choices, value) {
		last := len(choices) - 1
		c.fail(field, "%q must be %s", value, strings.TrimPrefix(strings.Join(choices[:last], ", ")+" or "+choices[last], " or "))
	}
}

func (c *checker) number(field string, n, most int) {
	if n < 0 || n > most {
		c.fail(field, "%d must be from 1 to %d", n, most)
	}
}

func (c *checker) duration(field string, d caddy.Duration, least, most time.Duration) {
	if t := time.Duration(d); t != 0 && (t < least || t > most) {
		c.fail(field, "%s must be from %s to %s", span(t), span(least), span(most))
	}
}

// span formats a duration as operators write it: 30d, not 720h0m0s.
func span(d time.Duration) string {
	for _, unit := range []struct {
		length time.Duration
		name   string
	}{{day, "d"}, {time.Hour, "h"}, {time.Minute, "m"}} {
		if d%unit.length == 0 {
			return fmt.Sprintf("%d%s", d/unit.length, unit.name)
		}
	}
	return d.String()
}

// text checks a text of at most that many characters.
func (c *checker) text(field, s string, most int) {
	if s != "" && strings.TrimSpace(s) == "" {
		c.fail(field, "has only spaces")
	}
	if n := utf8.RuneCountInString(s); n > most {
		c.fail(field, "has %d characters, at most %d are possible", n, most)
	}
}

// placeholder is what Caddy replaces, {env.X} or {http.request.host}.
var placeholder = regexp.MustCompile(`\{([a-z]+)[^{}\s]*\}`)

// replaced reports whether a value has placeholders that are replaced at
// start: it can't be checked before. Placeholders of a request are an error.
func (c *checker) replaced(field, value string) bool {
	found := placeholder.FindAllStringSubmatch(value, -1)
	for _, p := range found {
		switch p[1] {
		case "env", "file", "system", "time":
		default:
			c.fail(field, "%s depends on the request, but the value is read at start; {env.NAME} and {file./path} are possible", p[0])
		}
	}
	return len(found) > 0
}

// literal refuses placeholders, where none are replaced.
func (c *checker) literal(field, value string) {
	if p := placeholder.FindString(value); p != "" {
		c.fail(field, "the placeholder %s is not replaced here; the Caddyfile's {$NAME} is", p)
	}
}

// url checks a URL of the web. It returns nil for one that is wrong, left out
// or unknown before the start.
func (c *checker) url(field, value string) *url.URL {
	if value == "" || c.replaced(field, value) {
		return nil
	}
	u, err := url.Parse(value)
	switch {
	case err == nil && u.User != nil: // the value may hold a password
		c.fail(field, "a URL must not hold a user name or password")
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		c.fail(field, "%q must be a URL that starts with https:// or http://", value)
	case strings.Contains(u.Host, "*"):
		c.fail(field, "%q must have one host, without *", value)
	default:
		return u
	}
	return nil
}

// baseURL checks a URL that others are below.
func (c *checker) baseURL(field, value string) *url.URL {
	u := c.url(field, value)
	if u != nil && strings.ContainsAny(value, "?#") {
		c.fail(field, "%q must have no query and no fragment", value)
		return nil
	}
	return u
}

// endpoint checks the URL of an API in OpenAI's form, below which
// /chat/completions and /embeddings are, and the name of a model.
func (c *checker) endpoint(address, model string) {
	c.required("url", address)
	if u := c.baseURL("url", address); u != nil {
		for _, tail := range []string{"/chat/completions", "/completions", "/embeddings", "/responses"} {
			if strings.HasSuffix(strings.TrimSuffix(u.Path, "/"), tail) {
				c.fail("url", "%q must end before %s", address, tail)
				break
			}
		}
	}
	c.required("model", model)
	if strings.Contains(model, "://") {
		c.fail("model", "%q must be the name of a model, not a URL", model)
	}
}

// scopes checks versions or languages and the paths of their pages.
func (c *checker) scopes(field string, scopes []Scope) {
	standard := ""
	for _, s := range scopes {
		switch {
		case s.Value == "":
			c.fail(field, "one has no value")
		case strings.HasPrefix(s.Value, "/"):
			c.fail(field, "%q must come before its globs", s.Value)
		case len(s.Paths) == 0 && standard != "":
			c.fail(field, "%s and %s both have no globs; only one can be the default of the other pages", standard, s.Value)
		case len(s.Paths) == 0:
			standard = s.Value
		}
		c.literal(field, s.Value)
		c.globs(field, s.Paths)
	}
}

func (c *checker) globs(field string, globs []string) {
	for _, g := range globs {
		switch _, err := path.Match(g, ""); {
		case strings.Contains(g, "://"):
			c.fail(field, "%q must be a path on the site like /guide/*, not a URL", g)
		case !strings.HasPrefix(g, "/"):
			c.fail(field, "%q must start with a slash, like /%s", g, g)
		case err != nil:
			c.fail(field, "%q has a [ without ], or ends in a backslash", g)
		}
		c.literal(field, g)
	}
}

// Days formats a duration, in days if it is a whole number of them.
func Days(d time.Duration) string {
	if d%(24*time.Hour) == 0 {
		return fmt.Sprintf("%d days", d/(24*time.Hour))
	}
	return strings.TrimSuffix(d.String(), "0s")
}
