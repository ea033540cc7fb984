package options

import (
	"errors"
	"fmt"
	"maps"
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

// Checker collects the errors of a configuration's fields. Where a zero value
// means the default, its methods accept it.
type Checker struct{ errs []error }

// Err returns what was found, joined.
func (c *Checker) Err() error { return errors.Join(c.errs...) }

// Add adds what another check has found, which may be nil.
func (c *Checker) Add(err error) { c.errs = append(c.errs, err) }

func (c *Checker) semanticRatio(r *float64) {
	if r != nil && !(*r >= 0 && *r <= 1) {
		c.Fail("semantic_ratio", "%v must be from 0 (keyword search only) to 1 (semantic search only)", *r)
	}
}

// Fail adds an error.
func (c *Checker) Fail(field, format string, args ...any) {
	c.errs = append(c.errs, &FieldError{field, fmt.Sprintf(format, args...)})
}

// Within adds the error of a value inside this one.
func (c *Checker) Within(field string, err error) {
	if err != nil {
		c.Fail(field, "%s", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
}

// Sites checks the names of the sites that a route serves.
func (c *Checker) Sites(names []string) {
	for _, name := range names {
		c.Name("sites", name)
	}
}

// Name checks the name of a site or an organization.
func (c *Checker) Name(field, name string) {
	if err := access.CheckName("name", name); err != nil {
		c.Fail(field, "%v", err)
	}
}

func (c *Checker) required(field, value string) {
	if value == "" {
		c.Fail(field, "is missing")
	}
}

// OneOf checks that a value is one of several.
func (c *Checker) OneOf(field, value string, choices ...string) {
	if value != "" && !slices.Contains(choices, value) {
		last := len(choices) - 1
		c.Fail(field, "%q must be %s", value, strings.TrimPrefix(strings.Join(choices[:last], ", ")+" or "+choices[last], " or "))
	}
}

// Number checks that a number is within bounds.
func (c *Checker) Number(field string, n, least, most int) {
	if n != 0 && (n < least || n > most) {
		c.Fail(field, "%d must be from %d to %d", n, least, most)
	}
}

// Duration checks that a duration is within bounds.
func (c *Checker) Duration(field string, d caddy.Duration, least, most time.Duration) {
	if t := time.Duration(d); t != 0 && (t < least || t > most) {
		c.Fail(field, "%s must be from %s to %s", span(t), span(least), span(most))
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

// Text checks a text of at most that many characters.
func (c *Checker) Text(field, s string, most int) {
	if s != "" && strings.TrimSpace(s) == "" {
		c.Fail(field, "has only spaces")
	}
	if n := utf8.RuneCountInString(s); n > most {
		c.Fail(field, "has %d characters; the maximum is %d", n, most)
	}
}

// Questions checks questions for readers.
func (c *Checker) Questions(field string, questions []string, most int) {
	if n := len(questions); n > most {
		c.Fail(field, "has %d questions; the maximum is %d", n, most)
	}
	for _, q := range questions {
		c.required(field, q)
		c.Text(field, q, maxName)
	}
}

// placeholder is what Caddy replaces, {env.X} or {http.request.host}.
var placeholder = regexp.MustCompile(`\{([a-z]+)[^{}\s]*\}`)

// replaced reports whether a value has placeholders that are replaced at
// start: it can't be checked before. Placeholders of a request are an error.
func (c *Checker) replaced(field, value string) bool {
	found := placeholder.FindAllStringSubmatch(value, -1)
	for _, p := range found {
		switch p[1] {
		case "env", "file", "system", "time":
		default:
			c.Fail(field, "%s depends on the request, but the value is read at startup; use {env.NAME} or {file./path}", p[0])
		}
	}
	return len(found) > 0
}

// literal refuses placeholders, where none are replaced.
func (c *Checker) literal(field, value string) {
	if p := placeholder.FindString(value); p != "" {
		c.Fail(field, "the placeholder %s is not replaced here; use the Caddyfile's {$NAME}", p)
	}
}

// url checks a URL of the web. It returns nil for one that is wrong, left out
// or unknown before the start.
func (c *Checker) url(field, value string) *url.URL {
	return c.urlOf(field, value, "https:// or http://")
}

// urlOf is url for a field that may begin with more, which the error names.
func (c *Checker) urlOf(field, value, begins string) *url.URL {
	if value == "" || c.replaced(field, value) {
		return nil
	}
	u, err := url.Parse(value)
	switch {
	case err == nil && u.User != nil: // the value may hold a password
		c.Fail(field, "a URL must not hold a user name or password")
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		c.Fail(field, "%q must be a URL that starts with %s", value, begins)
	case strings.Contains(u.Host, "*"):
		c.Fail(field, "%q must have one host, without *", value)
	default:
		return u
	}
	return nil
}

// baseURL checks a URL that others are below.
func (c *Checker) baseURL(field, value string) *url.URL {
	u := c.url(field, value)
	if u != nil && strings.ContainsAny(value, "?#") {
		c.Fail(field, "%q must have no query and no fragment", value)
		return nil
	}
	return u
}

// endpoint checks the URL of an API in OpenAI's form, below which
// /chat/completions and /embeddings are, and the name of a model.
func (c *Checker) endpoint(address, model string) {
	c.required("url", address)
	if u := c.baseURL("url", address); u != nil {
		for _, tail := range []string{"/chat/completions", "/completions", "/embeddings", "/responses"} {
			if strings.HasSuffix(strings.TrimSuffix(u.Path, "/"), tail) {
				c.Fail("url", "%q must end before %s", address, tail)
				break
			}
		}
	}
	c.required("model", model)
	if strings.Contains(model, "://") {
		c.Fail("model", "%q must be the name of a model, not a URL", model)
	}
}

// scopes checks versions or languages and the paths of their pages.
func (c *Checker) scopes(field string, scopes []Scope) {
	standard := ""
	for _, s := range scopes {
		switch {
		case s.Value == "":
			c.Fail(field, "one has no value")
		case strings.HasPrefix(s.Value, "/"):
			c.Fail(field, "%q must come before its globs", s.Value)
		case len(s.Paths) == 0 && standard != "":
			c.Fail(field, "%s and %s both have no globs; only one can be the default of the other pages", standard, s.Value)
		case len(s.Paths) == 0:
			standard = s.Value
		}
		c.literal(field, s.Value)
		c.globs(field, s.Paths)
	}
}

func (c *Checker) globs(field string, globs []string) {
	for _, g := range globs {
		switch _, err := path.Match(g, ""); {
		case strings.Contains(g, "://"):
			c.Fail(field, "%q must be a path on the site like /guide/*, not a URL", g)
		case !strings.HasPrefix(g, "/"):
			c.Fail(field, "%q must start with a slash, like /%s", g, g)
		case err != nil:
			c.Fail(field, "%q has a [ without ], or ends in a backslash", g)
		case strings.ContainsAny(g, " \t\r\n#") || strings.Contains(g, "***"):
			c.Fail(field, "%q must be a path without white space and #anchor, with * for a part of a segment or ** for several segments", g)
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

// fromOutside matches the placeholders whose values come from outside of the
// configuration.
var fromOutside = regexp.MustCompile(`\{(env|file)\.([^{}]+)\}`)

// Replaced returns the value of a field with its placeholders replaced. A
// placeholder without a value is an error that says what to do.
func Replaced(field, value string) (string, error) {
	repl := caddy.NewReplacer()
	v, err := repl.ReplaceOrErr(value, true, true)
	if err == nil {
		return v, nil
	}
	for _, p := range fromOutside.FindAllStringSubmatch(value, -1) {
		name, _, _ := strings.Cut(p[2], ":") // a default may follow
		switch {
		case repl.ReplaceAll(p[0], "") != "":
		case p[1] == "env":
			return "", fmt.Errorf("%s: %s is empty; set the environment variable %s for the Caddy process", field, p[0], name)
		default:
			return "", fmt.Errorf("%s: %s is empty; write the value into the file %s, readable for the user that runs Caddy", field, p[0], p[2])
		}
	}
	return "", fmt.Errorf("%s: %w", field, err)
}

// replaceAll replaces the placeholders of fields, by their names.
func replaceAll(fields map[string]*string) error {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		v, err := Replaced(name, *fields[name])
		if err != nil {
			return err
		}
		*fields[name] = v
	}
	return nil
}
