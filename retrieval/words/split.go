// Package words divides texts into the words that a search compares, and knows
// which words of a site a misspelled or unfinished one may mean.
package words

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// MaxBytes bounds the bytes of a word: base64 and minified code in a page must
// not become words of the index.
const MaxBytes = 64

// Split calls emit for every word of a text, in order, in lower case and in
// Unicode's compatibility form.
//
// Plain words are what a reader counts as words: runs of letters, digits and
// combining marks. Identifiers (snake_case, kebab-case, camelCase,
// dotted.names) are split into plain words, and are also one word without
// separators, so that file_server, file-server, fileServer and fileserver are
// the same. Identifiers that have other punctuation (--flag, @scope/pkg, .env,
// C++, HTTP/3) are also words with it. Scripts written without spaces are split
// into bigrams.
func Split(text string, emit func(word string, plain bool)) {
	if !norm.NFKC.IsNormalString(text) {
		text = norm.NFKC.String(text)
	}
	Spans(text, nil, func(word string, plain bool, _, _ int) { emit(word, plain) })
}

// Plain returns the plain words of a text.
func Plain(text string) (out []string) {
	Split(text, func(word string, plain bool) {
		if plain {
			out = append(out, word)
		}
	})
	return out
}

// Spans is Split for a text in the compatibility form. start and end are the
// bytes that the word was made of. With wanted, it may leave out words that
// don't begin as one of them: most words of a text are left out by two letters.
func Spans(text string, wanted *Beginnings, emit func(word string, plain bool, start, end int)) {
	s := splitter{emit: emit}
	for i := 0; i < len(text); {
		if wanted != nil {
			if i += wanted.skip(text, i); i == len(text) {
				return
			}
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case unspaced(r):
			j := i + size
			for j < len(text) {
				r, n := utf8.DecodeRuneInString(text[j:])
				if !unspaced(r) {
					break
				}
				j += n
			}
			bigrams(text[i:j], func(word string, from int) { emit(word, true, i+from, i+from+len(word)) })
			i = j
		case Letter(r):
			j := runEnd(text, i)
			s.marked(text, i, j)
			s.identifier(text[i:j], i)
			i = j
		default:
			i += size
		}
	}
}

// Beginnings has the first two bytes of words, in ASCII.
type Beginnings [1 << 14 / 64]uint64

func beginning(word string) (n int, ascii bool) {
	n = int(word[0]) << 7
	if len(word) > 1 {
		n |= int(word[1])
	}
	return n, n < 1<<14 && (len(word) == 1 || word[1] < utf8.RuneSelf)
}

// Add adds a word.
func (b *Beginnings) Add(word string) {
	if n, ascii := beginning(word); ascii {
		b[n/64] |= 1 << (n % 64)
	}
}

// skip returns how many bytes at i hold words that are one plain word each, in
// ASCII, and begin as no word of b does, and what separates them. An i within a
// word is at its beginning.
func (b *Beginnings) skip(text string, i int) int {
	start := i
	for i < len(text) {
		c := text[i]
		if c >= utf8.RuneSelf || c == '_' {
			break
		}
		if !wordByte(c) {
			i++
			continue
		}
		if i > 0 && strings.IndexByte("-@.$:?%#", text[i-1]) >= 0 {
			break
		}
		j := i + 1
		for j < len(text) && ('a' <= text[j] && text[j] <= 'z' || '0' <= text[j] && text[j] <= '9') {
			j++
		}
		if j < len(text) {
			switch c := text[j]; {
			case c == ' ' || c == ',' || c == ')' || c == '.' && (j+1 == len(text) || text[j+1] == ' '):
			case c >= utf8.RuneSelf || wordByte(c) || strings.IndexByte("_-.'+#/", c) >= 0:
				return i - start
			}
		}
		second := byte(0)
		if j > i+1 {
			second = text[i+1]
		}
		if n := int(c|0x20)<<7 | int(second); b[n/64]&(1<<(n%64)) != 0 { // digits have this bit
			break
		}
		i = j
	}
	return i - start
}

// runEnd returns where the identifier that starts at i ends: word runes,
// and single '-', '.' or apostrophes between two of them.
func runEnd(text string, i int) int {
	for i < len(text) {
		r, n := utf8.DecodeRuneInString(text[i:])
		if Letter(r) && !unspaced(r) {
			i += n
			continue
		}
		if r != '-' && r != '.' && r != '\'' && r != '’' {
			return i
		}
		next, _ := utf8.DecodeRuneInString(text[i+n:])
		if !Letter(next) || unspaced(next) || next == '_' {
			return i
		}
		i += n
	}
	return i
}

type splitter struct {
	emit  func(word string, plain bool, start, end int)
	parts []string
}

// boundaries are what may precede an identifier that begins with punctuation.
const boundaries = " \t\n\r([{`\"'|,;=/<>*"

// sigils begin identifiers: $attrs, :deep, ?raw, %MODE%, #id.
const sigils = "$:?%#"

// marked emits the identifiers that are whole words with their punctuation:
// flags (-d, --domain), scoped packages (@scope/pkg), dotfiles (.env), names
// with a sigil ($attrs), C++ and C#, and names with a version (HTTP/3).
func (s *splitter) marked(text string, i, j int) {
	if j-i > MaxBytes {
		return
	}
	s.suffixed(text, i, j)
	if i == 0 {
		return
	}
	before := text[i-1]
	begins := func(k int) bool { return k == 0 || strings.IndexByte(boundaries, text[k-1]) >= 0 }
	letter := text[i] < utf8.RuneSelf && unicode.IsLetter(rune(text[i])) || text[i] == '_'
	switch {
	case before == '-':
		k := i - 1
		if k > 0 && text[k-1] == '-' {
			k--
		}
		if letter && begins(k) {
			s.emit(strings.ToLower(text[k:j]), false, k, j)
		}
	case before == '@':
		if j < len(text) && text[j] == '/' {
			k := runEnd(text, j+1)
			if k > j+1 && k-i <= MaxBytes {
				s.emit(strings.ToLower(text[i-1:k]), false, i-1, k)
			}
		}
	case before == '.':
		if letter && begins(i-1) {
			end := i + len(text[i:j])
			if dot := strings.IndexByte(text[i:j], '.'); dot > 0 {
				end = i + dot
			}
			s.emit(strings.ToLower(text[i-1:end]), false, i-1, end)
		}
	case strings.IndexByte(sigils, before) >= 0:
		if letter && begins(i-1) {
			s.emit(strings.ToLower(text[i-1:j]), false, i-1, j)
		}
	}
}

// Lengths, in bytes, of the parts of names that end in punctuation or have a
// slash. Longer ones are prose, paths and content types.
const (
	maxSharp = 2 // C#
	maxLeft  = 8 // C++, HTTP/3
	// maxVersion is the length of its right half.
	maxVersion = 8
)

// suffixed emits C++, C# and HTTP/3.
func (s *splitter) suffixed(text string, i, j int) {
	n := j - i
	if j == len(text) || n > maxLeft || strings.IndexByte("+#/", text[j]) < 0 ||
		i > 0 && strings.IndexByte("/.:@-_#", text[i-1]) >= 0 || strings.ContainsFunc(text[i:j], notLetter) {
		return
	}
	wordAt := func(k int) bool {
		r, _ := utf8.DecodeRuneInString(text[k:])
		return k < len(text) && Letter(r)
	}
	var end int
	switch {
	case strings.HasPrefix(text[j:], "++"):
		if end = j + 2; end < len(text) && text[end] == '+' {
			return
		}
	case n <= maxSharp && text[j] == '#' && !wordAt(j+1):
		end = j + 1
	case text[j] == '/' && wordAt(j+1):
		end = runEnd(text, j+1)
		version := text[j+1 : end] // "" before a script without spaces
		if version == "" || version[0] < '0' || version[0] > '9' || len(version) > maxVersion || end < len(text) && text[end] == '/' {
			return
		}
	default:
		return
	}
	s.emit(strings.ToLower(text[i:end]), false, i, end)
}

func notLetter(r rune) bool { return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z') }

// identifier emits the plain words of a run and, if it has several, the whole
// words: of each dotted part, and of the run, which starts at byte at.
func (s *splitter) identifier(run string, at int) {
	if simple(run) {
		if len(run) <= MaxBytes {
			s.emit(strings.ToLower(run), true, at, at+len(run))
		}
		return
	}
	s.parts = s.parts[:0]
	dotted := 0
	next := at
	for piece := range strings.SplitSeq(run, ".") {
		start := next
		next += len(piece) + 1
		if piece == "" {
			continue
		}
		dotted++
		from := len(s.parts)
		s.piece(piece, start)
		if len(s.parts)-from > 1 {
			s.join(s.parts[from:], "", start, start+len(piece))
		}
	}
	if dotted < 2 || len(s.parts) == 0 { // no parts: all are too long
		return
	}
	// 2.11 and 21.1 are not the same, so numbers keep their dots.
	glue := ""
	if last := s.parts[len(s.parts)-1]; last[0] >= '0' && last[0] <= '9' {
		glue = "."
	}
	s.join(s.parts, glue, at, at+len(run))
}

// simple reports whether a run is one word, as most are: ASCII letters and
// digits, of which only the first may be a capital.
func simple(run string) bool {
	for i := range len(run) {
		b := run[i]
		if !('a' <= b && b <= 'z' || '0' <= b && b <= '9' || i == 0 && 'A' <= b && b <= 'Z') {
			return false
		}
	}
	return true
}

func (s *splitter) join(parts []string, glue string, start, end int) {
	n := 0
	for _, p := range parts {
		n += len(p) + len(glue)
	}
	if n <= MaxBytes && len(parts) <= 8 {
		s.emit(strings.Join(parts, glue), false, start, end)
	}
}

// piece splits at '-', '_' and where camelCase changes. The piece starts at
// byte at.
func (s *splitter) piece(piece string, at int) {
	start := 0
	var prev rune
	cut := func(end int) {
		w, from := piece[start:end], at+start
		if w != "" && (!wordByte(w[0]) || !wordByte(w[len(w)-1])) {
			trimmed := strings.TrimLeft(w, "-_'’")
			from += len(w) - len(trimmed)
			w = strings.TrimRight(trimmed, "-_'’")
		}
		if w != "" && len(w) <= MaxBytes {
			to := from + len(w)
			w = strings.ToLower(w)
			s.parts = append(s.parts, w)
			s.emit(w, true, from, to)
		}
		start = end
	}
	for i, r := range piece {
		switch {
		case r == '-' || r == '_':
			cut(i)
		case unicode.IsUpper(r) && i > start:
			if unicode.IsLower(prev) {
				cut(i)
			} else if unicode.IsUpper(prev) {
				// HTTPServer: the last capital starts the next word, but
				// plurals such as APIs are one.
				n := utf8.RuneLen(r)
				next, _ := utf8.DecodeRuneInString(piece[i+n:])
				if unicode.IsLower(next) && strings.TrimLeft(piece[i+n:], "s") != "" {
					cut(i)
				}
			}
		}
		prev = r
	}
	cut(len(piece))
}

func bigrams(run string, emit func(word string, start int)) {
	last := -1
	for i := range run {
		prev := last
		last = i
		if prev < 0 {
			continue
		}
		_, n := utf8.DecodeRuneInString(run[i:])
		emit(run[prev:i+n], prev)
	}
	if _, n := utf8.DecodeRuneInString(run); n == len(run) {
		emit(run, 0)
	}
}

func wordByte(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9'
}

// Letter reports whether a rune is one that words are made of.
func Letter(r rune) bool {
	if r < utf8.RuneSelf {
		return wordByte(byte(r)) || r == '_'
	}
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r))
}

// unspaced reports whether a rune is of a script that is written without
// spaces between words, or, as Hangul, glues particles to them.
func unspaced(r rune) bool {
	return r >= 0x0e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar) || r == 'ー'
}

// Compatible returns a text in Unicode's compatibility form, and a function
// that returns where a range of its bytes is in the text.
func Compatible(text string) (out string, at func(start, end int) (int, int)) {
	if norm.NFKC.IsNormalString(text) {
		return text, func(start, end int) (int, int) { return start, end }
	}
	var form norm.Iter
	form.InitString(norm.NFKC, text)
	var b strings.Builder
	from := make([]int, 0, len(text)+8) // of each byte of the form
	for !form.Done() {
		pos := form.Pos()
		segment := form.Next()
		b.Write(segment)
		for range segment {
			from = append(from, pos)
		}
	}
	from = append(from, len(text))
	return b.String(), func(start, end int) (int, int) {
		// A word may end within what is one character of the text.
		last := from[end-1]
		for from[end] == last && end < len(from)-1 {
			end++
		}
		return from[start], from[end]
	}
}
