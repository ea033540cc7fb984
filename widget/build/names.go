package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"fmt"
	"math/rand"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tdewolff/minify/v2"
	minifyjs "github.com/tdewolff/minify/v2/js"
	"github.com/tdewolff/parse/v2"
	"github.com/tdewolff/parse/v2/js"
)

// rename gives variables shorter names: esbuild gives no name twice in nested
// functions, also where the inner one can hide the outer one.
func rename(script []byte) ([]byte, error) { return minified(string(script), false) }

func minified(script string, keepNames bool) ([]byte, error) {
	var out bytes.Buffer
	err := (&minifyjs.Minifier{KeepVarNames: keepNames}).Minify(minify.New(), &out, strings.NewReader(script), nil)
	return append(bytes.TrimSpace(out.Bytes()), '\n'), err
}

// names are the variables of a script, and which of them may not be called the
// same: those that are visible in one scope.
type names struct {
	of      []string
	between [][]byte // the script's text around its variables
	places  []int    // the variables in it
	scopes  [][]int
	in      [][]int // the scopes of a variable
	globals map[string]bool
}

// readNames finds the variables of a script.
func readNames(script []byte) (*names, error) {
	tree, err := js.Parse(parse.NewInputString(string(script)), js.Options{})
	if err != nil {
		return nil, err
	}
	scopes := &scopeFinder{found: []*js.Scope{&tree.Scope}}
	js.Walk(scopes, tree)
	n := &names{globals: make(map[string]bool)}
	declaration := func(v *js.Var) *js.Var {
		for v.Link != nil {
			v = v.Link
		}
		return v
	}
	for _, v := range tree.Undeclared {
		n.globals[string(declaration(v).Data)] = true
	}
	ids := make(map[*js.Var]int)
	for _, s := range scopes.found {
		var visible []int
		for _, v := range slices.Concat(s.Declared, s.Undeclared) {
			v = declaration(v)
			if v.Decl == js.NoDecl {
				continue
			}
			if _, ok := ids[v]; !ok {
				ids[v] = len(n.of)
				n.of = append(n.of, string(v.Data))
				n.in = append(n.in, nil)
			}
			visible = append(visible, ids[v])
			n.in[ids[v]] = append(n.in[ids[v]], len(n.scopes))
		}
		n.scopes = append(n.scopes, visible)
	}
	for v, id := range ids {
		v.Data = fmt.Appendf(nil, "$%d$", id)
	}
	text, err := minified(tree.JSString(), true)
	if err != nil {
		return nil, err
	}
	at := 0
	for _, m := range regexp.MustCompile(`\$(\d+)\$`).FindAllSubmatchIndex(text, -1) {
		id, _ := strconv.Atoi(string(text[m[2]:m[3]])) // digits
		n.between, n.places = append(n.between, text[at:m[0]]), append(n.places, id)
		at = m[1]
	}
	n.between = append(n.between, text[at:])
	return n, nil
}

type scopeFinder struct{ found []*js.Scope }

func (f *scopeFinder) Enter(node js.INode) js.IVisitor {
	if block, ok := node.(*js.BlockStmt); ok {
		f.found = append(f.found, &block.Scope)
	}
	return f
}

func (*scopeFinder) Exit(js.INode) {}

func (n *names) script() []byte {
	var out bytes.Buffer
	for i, text := range n.between {
		out.Write(text)
		if i < len(n.places) {
			out.WriteString(n.of[n.places[i]])
		}
	}
	return out.Bytes()
}

// fits reports whether no scope sees a variable's name twice.
func (n *names) fits(v int) bool {
	for _, scope := range n.in[v] {
		for _, other := range n.scopes[scope] {
			if other != v && n.of[other] == n.of[v] {
				return false
			}
		}
	}
	return !n.globals[n.of[v]]
}

// swap gives a variable a name, and the variables that have it there the
// variable's. It reports whether all of them fit.
func (n *names) swap(v int, name string) bool {
	changed := []int{v}
	for _, scope := range n.in[v] {
		for _, other := range n.scopes[scope] {
			if other != v && n.of[other] == name {
				n.of[other] = n.of[v]
				changed = append(changed, other)
			}
		}
	}
	n.of[v] = name
	return !slices.ContainsFunc(changed, func(v int) bool { return !n.fits(v) })
}

// zipper returns a function that measures a script, in bytes after gzip -9.
func zipper() func(script []byte) int {
	var out bytes.Buffer
	zip, _ := gzip.NewWriterLevel(nil, gzip.BestCompression) // the level is valid
	return func(script []byte) int {
		out.Reset()
		zip.Reset(&out)
		_, _ = zip.Write(script) // memory doesn't fail
		_ = zip.Close()
		return out.Len()
	}
}

// arrange puts the functions of a chunk before everything else that it does, in
// an order that makes it smaller for gzip, by trial: what is alike is closer then.
func arrange(script []byte, rounds int) ([]byte, error) {
	tree, err := js.Parse(parse.NewInputBytes(bytes.Clone(script)), js.Options{})
	if err != nil {
		return nil, err
	}
	chunk := tree.List[0].(*js.ExportStmt).Decl.(*js.ArrowFunc)
	var functions [][]byte
	for _, statement := range chunk.Body.List {
		v, ok := statement.(*js.VarDecl)
		if !ok {
			continue
		}
		v.List = slices.DeleteFunc(v.List, func(e js.BindingElement) bool {
			if _, ok := e.Default.(*js.ArrowFunc); !ok {
				return false
			}
			var one strings.Builder
			js.VarDecl{TokenType: js.VarToken, List: []js.BindingElement{e}}.JS(&one)
			text, failed := minified(one.String(), true)
			err = cmp.Or(err, failed)
			functions = append(functions, bytes.TrimRight(text, ";\n"))
			return true
		})
	}
	rest, failed := minified(tree.JSString(), true)
	if err = cmp.Or(err, failed); err != nil {
		return nil, err
	}
	head, body, _ := bytes.Cut(rest, []byte("{"))
	put := func() []byte {
		return slices.Concat(head, []byte("{"), bytes.Join(functions, []byte(";")), []byte(";"), body)
	}
	size := zipper()
	best := size(put())
	random := rand.New(rand.NewSource(1)) //nolint:gosec // the same order each time
	for range rounds {
		from, to := random.Intn(len(functions)), random.Intn(len(functions))
		before := slices.Clone(functions)
		functions = slices.Insert(slices.Delete(functions, from, from+1), to, before[from])
		if now := size(put()); now <= best {
			best = now
		} else {
			functions = before
		}
	}
	return minified(string(put()), true) // one list of variables
}

// repeat chooses names that make a script smaller for gzip, by trial: the more
// its functions look like each other, the less they take. It tries as many
// changes as there are rounds, the same ones each time.
func repeat(script []byte, rounds int) ([]byte, error) {
	n, err := readNames(script)
	if err != nil {
		return nil, err
	}
	size := zipper()
	const letters = "etnsoiarclduhmfpgvbjywOxCEkASMFTzDNLRPHIBVWUKqYGXQZJ_$"
	random := rand.New(rand.NewSource(1)) //nolint:gosec // the same names each time
	best := size(n.script())
	for range rounds {
		v := n.places[random.Intn(len(n.places))]
		name := n.of[n.places[random.Intn(len(n.places))]]
		if random.Intn(3) == 0 {
			i := random.Intn(len(letters))
			name = letters[i : i+1]
		}
		if len(name) > len(n.of[v]) {
			continue
		}
		before := slices.Clone(n.of)
		if n.swap(v, name) {
			if now := size(n.script()); now <= best {
				best = now
				continue
			}
		}
		n.of = before
	}
	return n.script(), nil
}
