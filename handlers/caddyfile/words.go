package caddyfile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
)

// word is a word of a block's grammar. The tables of words are the one place
// where the grammar stands: the parser walks them, its errors quote them,
// and Grammar prints them.
type word struct {
	name string

	// forms are the ways to write the word, the usual one first.
	forms []form

	// repeat allows the word more than once in its block.
	repeat bool

	// parse reads what follows the word: arguments and, where the form has
	// one, the block. The arguments left over are refused by its caller.
	parse func(l line) error
}

// form is a way to write a word.
type form struct {
	// args are the arguments in the notation of Caddy's manual: <required>,
	// [optional], repeated..., a|b.
	args string
	// example are arguments that the parser takes.
	example string
	// block are the words of the block, nil for a form that takes none.
	block []word
	// optional says that the form may be written without its block.
	optional bool
}

// is short for a word with a single form without a block.
func is(args, example string) []form { return []form{{args: args, example: example}} }

// line is a word that is being read: the dispenser stands on it, or on the
// last of its arguments that was read.
type line struct {
	*caddyfile.Dispenser
	word *word
}

// as narrows what errors propose to one form of the word, once it is clear
// which is meant.
func (l line) as(form int) line {
	w := *l.word
	w.forms = w.forms[form : form+1]
	return line{l.Dispenser, &w}
}

// one reads the one argument that the word takes.
func (l line) one() (string, error) {
	args, err := l.between(1, 1)
	if err != nil {
		return "", err
	}
	return args[0], nil
}

// some reads at least n arguments.
func (l line) some(n int) ([]string, error) { return l.between(n, maxArgs) }

// maxArgs bounds the arguments of a word; what a person writes stays far
// below.
const maxArgs = 1000

// between reads the arguments, of which there are least to most.
func (l line) between(least, most int) ([]string, error) {
	args := l.RemainingArgs()
	if slices.Contains(args, "") {
		return nil, l.usage(`"" is empty`)
	}
	switch {
	case len(args) == 0 && least > 0:
		return nil, l.usage("needs an argument")
	case len(args) < least:
		return nil, l.usage("needs another argument")
	case len(args) > most && args[most] == "{}":
		return nil, l.usage("an empty block is left out")
	case len(args) > most && least == 1 && most == 1:
		return nil, l.usage(fmt.Sprintf("takes one argument, so %q is too many (text with spaces stands in quotes)", args[most]))
	case len(args) > most:
		return nil, l.usage(fmt.Sprintf("%q is too many", args[most]))
	}
	return args, nil
}

// choice reads the one argument that is one of several words.
func (l line) choice(choices ...string) (string, error) {
	v, err := l.one()
	if err != nil {
		return "", err
	}
	if !slices.Contains(choices, v) {
		return "", l.refuse("%q is not known%s", v, nearest(v, choices))
	}
	return v, nil
}

// onOff reads the argument on or off.
func (l line) onOff() (bool, error) {
	v, err := l.choice("on", "off")
	return v == "on", err
}

// refuse is the error for an argument, with the form to write instead.
func (l line) refuse(format string, args ...any) error {
	return l.usage(fmt.Sprintf(format, args...))
}

// usage says what is wrong and what to write.
func (l line) usage(wrong string) error {
	var forms []string
	for _, f := range l.word.forms {
		forms = append(forms, strings.TrimSpace(l.word.name+" "+f.args))
	}
	s := l.word.name + ": " + wrong + "; write: " + strings.Join(forms, ", or: ")
	if f := l.word.forms[0]; f.example != "" && f.example != f.args {
		s += ", like: " + strings.TrimSpace(l.word.name+" "+f.example)
	}
	return l.Err(s)
}

// parseBlock reads the block that opens after the dispenser's current token,
// if one does. where names the block in errors ("site acme").
func parseBlock(d *caddyfile.Dispenser, where string, words []word) error {
	first := map[string]caddyfile.Token{}
	for nesting := d.Nesting(); d.NextBlock(nesting); {
		name := d.Val()
		i := slices.IndexFunc(words, func(w word) bool { return w.name == name })
		if i < 0 {
			return unknownWord(d, where, name, words)
		}
		w := &words[i]
		if t, ok := first[name]; ok && !w.repeat {
			return d.Errf("%s: %s is written twice, first at %s:%d; keep one", where, name, t.File, t.Line)
		}
		first[name] = d.Token()
		l := line{d, w}
		if err := w.parse(l); err != nil {
			return err
		}
		if d.NextArg() {
			return l.refuse("%q is too many", d.Val())
		}
		if d.NextBlock(nesting + 1) {
			return l.usage("takes no block")
		}
	}
	return nil
}

func unknownWord(d *caddyfile.Dispenser, where, name string, words []word) error {
	var names []string
	for _, w := range words {
		names = append(names, w.name)
	}
	if name == "{" || name == "}" {
		return d.Errf("%s: a %s stands where a word is expected; a block opens at the end of its word's line and closes on a line of its own", where, name)
	}
	if near := nearest(name, names); near != "" {
		return d.Errf("%s: unknown word %q%s", where, name, near)
	}
	if home := homes(name); home != "" {
		return d.Errf("%s: %s is a word of %s, not of this block", where, name, home)
	}
	if len(names) == 0 {
		return d.Errf("%s: unknown word %q; this block takes no words, so leave it out", where, name)
	}
	return d.Errf("%s: unknown word %q; it takes: %s", where, name, strings.Join(names, ", "))
}

// nearest proposes the word that was probably meant: "; did you mean …?", or
// "" if none is near.
func nearest(name string, words []string) string {
	best, distance := "", max(1, min(3, len(name)/3))+1
	for _, w := range words {
		if n := editDistance(strings.ToLower(name), w); n < distance {
			best, distance = w, n
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %s?", best)
}

// editDistance is the number of letters to change, add, drop or swap with
// the next to come from a to b (optimal string alignment).
func editDistance(a, b string) int {
	if len(a) > 50 { // nobody means a word of ours by it
		return len(a)
	}
	before, above := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range above {
		above[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(above[j+1]+1, row[j]+1, above[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, above = above, row
	}
	return above[len(b)]
}

// at returns a dispenser that stands on a token, for errors about what began
// there.
func at(t caddyfile.Token) *caddyfile.Dispenser {
	d := caddyfile.NewDispenser([]caddyfile.Token{t})
	d.Next()
	return d
}
