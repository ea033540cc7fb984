package caddyfile

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/spf13/cobra"

	"github.com/caddy-docs/caddy-docs/handlers/options"
	"github.com/caddy-docs/caddy-docs/handlers/ui"
)

// word is a word of a block's grammar. The tables of words are the only
// definition of the grammar: the parser walks them, its errors quote them, and
// homes looks through them.
type word struct {
	name string

	// field is the field that the word sets, as an options.FieldError names it.
	// Default: name.
	field string

	// forms are the ways to write the word, the usual one first.
	forms []form

	// repeat allows the word more than once in its block.
	repeat bool

	// parse reads what follows the word: arguments and, where the form has
	// one, the block. parseBlock refuses the arguments that it leaves.
	parse func(l line) error
}

// form is a way to write a word.
type form struct {
	// args are the arguments in the notation of Caddy's manual: <required>,
	// [optional], repeated..., a|b.
	args string
	// example are arguments that the parser takes.
	example string
	// block are the words of the block, nil for a form without a block.
	block []word
}

// is returns the only form of a word without a block.
func is(args, example string) []form { return []form{{args: args, example: example}} }

// valueWord is a word with one argument, which read turns into a value.
func valueWord[T any](name, args, example string, to *T, read func(line, string) (T, error)) word {
	return word{name: name, forms: is(args, example), parse: func(l line) error {
		s, err := l.one()
		if err == nil {
			*to, err = read(l, s)
		}
		return err
	}}
}

// textWord is a word with one argument. The module checks its value.
func textWord(name, args, example string, to *string) word {
	return valueWord(name, args, example, to, func(_ line, s string) (string, error) { return s, nil })
}

// listWord is a word with any number of arguments, whose lines add up.
func listWord(name, args, example string, to *[]string) word {
	return word{name: name, forms: is(args, example), repeat: true, parse: func(l line) error {
		values, err := l.some(1)
		*to = append(*to, values...)
		return err
	}}
}

// pairWord is a word with a name and its value, which may repeat with other
// names.
func pairWord(name, field, args, example string, to *map[string]string) word {
	return word{name: name, field: field, forms: is(args, example), repeat: true, parse: func(l line) error {
		pair, err := l.between(2, 2)
		if err != nil {
			return err
		}
		if (*to)[pair[0]] != "" {
			return l.refuse("%s is written twice; keep one", pair[0])
		}
		if *to == nil {
			*to = map[string]string{}
		}
		(*to)[pair[0]] = pair[1]
		return nil
	}}
}

// switchWord is a word with the argument on or off.
func switchWord(name string, to *bool) word {
	return valueWord(name, "on|off", "on", to, line.isOn)
}

// isOn reads on or off.
func (l line) isOn(s string) (bool, error) {
	if s != "on" && s != "off" {
		return false, l.refuse("%q must be on or off", s)
	}
	return s == "on", nil
}

// numberWord is a word with a whole number. In JSON, 0 is the default.
func numberWord(name, example string, to *int) word {
	return valueWord(name, "<n>", example, to, func(l line, s string) (int, error) {
		n, err := strconv.Atoi(s)
		if err != nil || n == 0 {
			return 0, l.refuse("%q is not a whole number above 0", s)
		}
		return n, nil
	})
}

// durationWord is a word with a duration. In JSON, 0 is the default.
func durationWord(name, example string, to *caddy.Duration) word {
	return valueWord(name, "<duration>", example, to, line.duration)
}

// secretForm is a value of nothing but placeholders that are replaced at
// start.
var secretForm = regexp.MustCompile(`^(\{(env\.[A-Za-z_][A-Za-z0-9_]*|file\.[^{}]+)\})+$`)

// secretWord is a word whose argument is a placeholder for a secret. The
// error for anything else doesn't contain it.
func secretWord(name, example string, to *string) word {
	return valueWord(name, "<placeholder>", example, to, line.secret)
}

// secret checks a placeholder for a secret.
func (l line) secret(s string) (string, error) {
	if !secretForm.MatchString(s) {
		return "", l.refuse("a secret in the configuration would show at GET /config/ and in autosave.json; " +
			"name its source, {env.NAME} or {file./path/to/file} ({$NAME} would put the value itself here)")
	}
	return s, nil
}

// set reads what follows a word into a field.
func set[T any](to *T, read func(line) (T, error)) func(line) error {
	return func(l line) (err error) {
		*to, err = read(l)
		return err
	}
}

// line is a word that is being read. The dispenser's current token is the
// word, or the last of its arguments that was read.
type line struct {
	*caddyfile.Dispenser
	word *word
}

// as narrows the suggestions in errors to one form of the word, once it is known
// which one is meant.
func (l line) as(form int) line {
	w := *l.word
	w.forms = w.forms[form : form+1]
	return line{l.Dispenser, &w}
}

// opens reports whether a block follows.
func (l line) opens() bool {
	d := *l.Dispenser // a copy, which may go on
	return d.Next() && d.Val() == "{" && d.Token().Line == l.Token().Line
}

// one reads the only argument of a word.
func (l line) one() (string, error) {
	args, err := l.between(1, 1)
	if err != nil {
		return "", err
	}
	return args[0], nil
}

// some reads at least n arguments.
func (l line) some(n int) ([]string, error) { return l.between(n, 1000) }

// between reads the arguments, of which there are least to most.
func (l line) between(least, most int) ([]string, error) {
	args := l.RemainingArgs()
	switch {
	case slices.Contains(args, ""):
		return nil, l.refuse(`"" is empty`)
	case len(args) == 0 && least > 0:
		return nil, l.refuse("needs an argument")
	case len(args) < least:
		return nil, l.refuse("needs another argument")
	case len(args) > most && args[most] == "{}":
		return nil, l.refuse("remove the empty block")
	case len(args) > most && least == 1 && most == 1:
		return nil, l.refuse("takes one argument; unexpected argument %q (put text with spaces in quotes)", args[most])
	case len(args) > most:
		return nil, l.refuse("unexpected argument %q", args[most])
	}
	return args, nil
}

func (l line) duration(s string) (caddy.Duration, error) {
	d, err := caddy.ParseDuration(s)
	if err != nil || d == 0 {
		return 0, l.refuse("%q is not a duration like 30s, 10m or 7d", s)
	}
	return caddy.Duration(d), nil
}

// refuse returns an error that says what is wrong and what to write instead.
func (l line) refuse(format string, args ...any) error {
	s := l.word.name + ": " + fmt.Sprintf(format, args...)
	var forms []string
	for _, f := range l.word.forms {
		args := f.args
		if args == "" && len(f.block) == 1 {
			args = "{ " + f.block[0].name + " " + f.block[0].forms[0].args + " }"
		}
		forms = append(forms, strings.TrimSpace(l.word.name+" "+args))
	}
	if len(forms) > 0 {
		s += "; write: " + strings.Join(forms, ", or: ")
		if f := l.word.forms[0]; f.example != "" && f.example != f.args {
			s += ", like: " + strings.TrimSpace(l.word.name+" "+f.example)
		}
	}
	return l.Err(s)
}

// parseBlock reads the block that opens after a word, if one does. where names
// the block in errors ("site acme"). validate checks the values that the words
// set; its errors are reported at the word that set the field.
func parseBlock(l line, where string, words []word, validate func() error) error {
	d, opened := l.Dispenser, l.Token()
	first := map[string]caddyfile.Token{}
	refused := map[string]error{} // by the text of a FieldError
	for nesting := d.Nesting(); d.NextBlock(nesting); {
		name, token := d.Val(), d.Token()
		i := slices.IndexFunc(words, func(w word) bool { return w.name == name })
		if i < 0 {
			return unknownWord(d, where, name, words)
		}
		w := &words[i]
		if t, ok := first[name]; ok && !w.repeat {
			return d.Errf("%s: %s is written twice, first at %s; keep one", where, name, position(t))
		}
		first[name] = token
		inner := line{d, w}
		if err := w.parse(inner); err != nil {
			return err
		}
		if d.NextArg() {
			return inner.refuse("unexpected argument %q", d.Val())
		}
		if d.NextBlock(nesting + 1) {
			return inner.refuse("takes no block")
		}
		for _, e := range fieldErrors(validate()) {
			if e.Field == w.name || e.Field == w.field {
				if _, ok := refused[e.Error()]; !ok {
					refused[e.Error()] = line{at(token), w}.refuse("%s", e.Problem)
				}
			}
		}
	}
	left := fieldErrors(validate())
	if len(left) == 0 {
		return nil
	}
	if err := refused[left[0].Error()]; err != nil {
		return err
	}
	return line{at(opened), l.word}.refuse("%s", strings.TrimPrefix(left[0].Error(), l.word.name+": "))
}

// fieldErrors returns the errors of a Validate method.
func fieldErrors(err error) (all []*options.FieldError) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range joined.Unwrap() {
			all = append(all, fieldErrors(err)...)
		}
		return all
	}
	if e, ok := errors.AsType[*options.FieldError](err); ok {
		all = append(all, e)
	}
	return all
}

func unknownWord(d *caddyfile.Dispenser, where, name string, words []word) error {
	if name == "{" || name == "}" {
		return d.Errf("%s: expected a word instead of %s; a block opens at the end of its word's line and closes on a separate line", where, name)
	}
	names := make([]string, len(words))
	for i, w := range words {
		names[i] = w.name
	}
	_, err := caddy.GetModule("http.handlers." + name)
	near, home := nearest(name, names), homes(name)
	switch {
	case home != "" && near != "":
		return d.Errf("%s: %s is a word of %s, not of this block; or did you mean %s?", where, name, home, near)
	case home != "":
		return d.Errf("%s: %s is a word of %s, not of this block", where, name, home)
	case err == nil, slices.Contains([]string{"handle", "handle_path", "header", "redir", "respond", "route"}, name):
		return d.Errf("%s: unknown word %q, which is a directive; is a } missing before it?", where, name)
	case near != "":
		return d.Errf("%s: unknown word %q; did you mean %s?", where, name, near)
	}
	return d.Errf("%s: unknown word %q; it takes: %s", where, name, strings.Join(names, ", "))
}

// nearest returns the word that was probably meant, "" if none is near.
func nearest(name string, words []string) string {
	c := &cobra.Command{SuggestionsMinimumDistance: max(1, min(3, len(name)/3))}
	for _, w := range words {
		c.AddCommand(&cobra.Command{Use: w, Run: func(*cobra.Command, []string) {}})
	}
	for _, near := range c.SuggestionsFor(name) {
		return near
	}
	return ""
}

// at returns a dispenser whose current token is t, for errors at its position.
func at(t caddyfile.Token) *caddyfile.Dispenser {
	d := caddyfile.NewDispenser([]caddyfile.Token{t})
	d.Next()
	return d
}

func position(t caddyfile.Token) string { return fmt.Sprintf("%s:%d", t.File, t.Line) }

// roots are the words that open the blocks: the global option docs and the
// directives.
func roots() []word {
	s := new(settings)
	return []word{
		{name: "docs", forms: []form{{block: (&option{app: new(options.App)}).words()}}},
		{name: "docs", forms: []form{{args: "[<@matcher>] [<site> [<root>]]", block: docsWords(new(options.Site), s)}}},
		{name: apiAssistant, forms: []form{{args: "[<@matcher>] [<site>...]", block: s.words(apiAssistant)}}},
		{name: apiSearch, forms: []form{{args: "[<@matcher>] [<site>...]", block: s.words(apiSearch)}}},
		{name: directiveWidget, forms: []form{{args: "[<@matcher>] [<site>...]", example: "acme", block: s.words(directiveWidget)}}},
		{name: dashboardDirective, forms: []form{{args: "[<@matcher>] [<site>...]", block: dashboardWords(new(ui.Dashboard))}}},
		{name: directiveMCP, forms: []form{{args: "[<@matcher>] [<site>...]", block: s.words(directiveMCP)}}},
		{name: directiveLLMs, forms: []form{{args: "[<@matcher>] [<site>...]", block: s.words(directiveLLMs)}}},
	}
}

// homes names the blocks that have a word, for the error about a word in the
// wrong block; "" if none has it.
func homes(name string) string {
	var found []string
	var look func(w word, path string)
	look = func(w word, path string) {
		for _, f := range w.forms {
			for _, inner := range f.block {
				if inner.name == name && !slices.Contains(found, path) {
					found = append(found, path)
				}
				look(inner, inner.name)
			}
		}
	}
	for i, w := range roots() {
		path := "the directive " + w.name
		if i == 0 {
			path = "the global option docs"
		}
		look(w, path)
	}
	if len(found) > 2 {
		found = append([]string{strings.Join(found[:len(found)-1], ", ")}, found[len(found)-1])
	}
	return strings.Join(found, " and ")
}
