package options

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2"
)

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
			return "", fmt.Errorf("%s: %s is empty; set the environment variable %s for the process of Caddy, or write the value itself", field, p[0], name)
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
