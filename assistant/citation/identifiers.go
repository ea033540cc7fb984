package citation

import (
	"iter"
	"regexp"
	"strings"
)

var (
	identifier = regexp.MustCompile(`[-$@\w]+(?:[.-][-$@\w]+)*\(?`)
	// named matches what looks like the name of an option, flag, function or
	// variable: a word with an underscore or a capital inside, or before "(".
	named = regexp.MustCompile(`^--|^\$|\w_\w|[a-z][\w.-]*[A-Z]|[A-Z][A-Z.-]+[a-z]|\($`)
)

// Identifiers yields what looks like a name in an answer's code: see named, and
// words that are a whole code span. Parts of paths and URLs are none.
func Identifiers(answer string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for line := range strings.SplitSeq(Code(answer), "\n") {
			line = strings.TrimSpace(line)
			alone := !strings.ContainsAny(line, " \t/:<>\"'=,;")
			for _, at := range identifier.FindAllStringIndex(line, -1) {
				word := line[at[0]:at[1]]
				if len(strings.Trim(word, "-$@_.(0123456789")) < 3 || strings.Contains(line[max(0, at[0]-3):at[0]], "/") ||
					!named.MatchString(word) && !alone {
					continue
				}
				if !yield(strings.TrimRight(word, "-.(")) {
					return
				}
			}
		}
	}
}
