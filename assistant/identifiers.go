package assistant

import (
	"cmp"
	"strings"
)

// maxUnverified bounds the identifiers reported.
const maxUnverified = 20

// unverified returns the identifiers in the answer's code that are neither in
// a passage nor in what the reader or the operator wrote.
func (r *run) unverified() []string {
	code := r.answer.check.Code()
	if code == "" {
		return nil
	}
	var b strings.Builder
	add := func(texts ...string) {
		for _, s := range texts {
			b.WriteString(s)
			b.WriteByte('\n')
		}
	}
	for i := range r.passages {
		add(r.passages[i].title, r.passages[i].text, r.passages[i].url)
	}
	add(r.q.asked, r.a.Site.Instructions)
	for _, c := range r.in.Context {
		add(c.Value)
	}
	for _, u := range r.q.earlier {
		if u.byUser {
			add(u.text)
		}
	}
	known := strings.ToLower(b.String())
	var out []string
	seen := make(map[string]bool)
	for id := range identifiers(code) {
		lower := strings.ToLower(id)
		if seen[lower] || strings.Contains(known, lower) {
			continue
		}
		seen[lower] = true
		if out = append(out, id); len(out) == maxUnverified {
			break
		}
	}
	return out
}

// identifiers yields what looks like the name of an option, flag, function or
// variable: words with an underscore or a capital inside, words before "(", and
// words that are a whole code span.
func identifiers(code string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for line := range strings.SplitSeq(code, "\n") {
			alone := !strings.ContainsAny(strings.TrimSpace(line), " \t")
			i := 0
			for i < len(line) {
				if !identByte(line[i]) {
					i++
					continue
				}
				j := i
				for j < len(line) && (identByte(line[j]) || (line[j] == '.' || line[j] == '-') && j+1 < len(line) && identByte(line[j+1])) {
					j++
				}
				word := strings.TrimRight(line[i:j], "-.")
				start := i
				i = j
				letters := strings.TrimLeft(word, "-$@_.0123456789")
				if len(letters) < 3 || strings.Contains(line[max(0, start-3):start], "/") {
					continue
				}
				inside := letters[1:]
				if strings.HasPrefix(word, "--") || strings.HasPrefix(word, "$") || strings.ContainsAny(inside, "_") ||
					inside != strings.ToLower(inside) && letters != strings.ToUpper(letters) ||
					j < len(line) && line[j] == '(' || alone && !strings.ContainsAny(line, "/:<>\"'=,;") {
					if !yield(cmp.Or(word, letters)) {
						return
					}
				}
			}
		}
	}
}

func identByte(b byte) bool {
	return b >= '0' && b <= '9' || b|0x20 >= 'a' && b|0x20 <= 'z' || strings.IndexByte("_-$@", b) >= 0
}
