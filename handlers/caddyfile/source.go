package caddyfile

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"

	"github.com/caddy-docs/caddy-docs/handlers/options"
)

// sourceForms are the forms of the word source.
var sourceForms = []form{
	{args: "folder <folder> [below <path>] [watch events|off|poll] [interval <duration>]", example: "folder /srv/handbook below /handbook"},
	{args: "sitemap <url> [interval <duration>] [allow_private on|off]", example: "sitemap https://blog.acme.com/sitemap.xml"},
	{args: "openapi <file>|<url> [below <path>] [renderer swagger-ui|redoc|scalar|elements|docusaurus|plain] [interval <duration>] [allow_private on|off]", example: "openapi /srv/docs/openapi.yaml below /reference"},
	{args: "<module> ..."},
}

// parseSource reads `source <kind> <what> [<option> <value>]...`, or the source
// of another module.
func parseSource(l line) (json.RawMessage, error) {
	if !l.NextArg() {
		return nil, l.refuse("needs an argument")
	}
	kind := l.Val()
	form := slices.Index([]string{"folder", "sitemap", "openapi"}, kind) // as in sourceForms
	if form < 0 {
		if strings.ContainsAny(kind, "/{") {
			return nil, l.refuse("%q is not a kind of source; the kind comes first", kind)
		}
		return l.guest("docs.source", "source")
	}
	l = l.as(form)
	args, err := l.between(1, 20)
	if err != nil {
		return nil, err
	}
	var m caddy.Validator
	var words map[string]any // where the values go
	switch kind {
	case "folder":
		f := &options.FolderSource{Root: args[0]}
		m, words = f, map[string]any{"below": &f.Below, "watch": &f.Watch, "interval": &f.PollInterval}
	case "sitemap":
		s := &options.SitemapSource{URL: args[0]}
		m, words = s, map[string]any{"interval": &s.PollInterval, "allow_private": &s.AllowPrivate}
	case "openapi":
		s := &options.OpenAPISource{File: args[0]}
		m, words = s, map[string]any{"below": &s.Below, "renderer": &s.Renderer, "interval": &s.PollInterval, "allow_private": &s.AllowPrivate}
	}
	for i := 1; i < len(args); i += 2 {
		name := args[i]
		to, known := words[name]
		switch {
		case !known:
			return nil, l.refuse("%q is not one of %s", name, strings.Join(slices.Sorted(maps.Keys(words)), ", "))
		case i+1 == len(args):
			return nil, l.refuse("%s needs a value", name)
		}
		switch to := to.(type) {
		case nil:
			err = l.refuse("%s is written twice; keep one", name)
		case *string:
			*to = args[i+1]
		case *bool:
			*to, err = l.isOn(args[i+1])
		case *caddy.Duration:
			*to, err = l.duration(args[i+1])
		}
		if err != nil {
			return nil, err
		}
		words[name] = nil
	}
	for _, e := range fieldErrors(m.Validate()) {
		err = errors.Join(err, l.refuse("%s", e.Problem))
	}
	return caddyconfig.JSONModuleObject(m, "source", kind, nil), err
}
