package asked

import (
	"regexp"
	"slices"
	"strings"

	"github.com/caddy-docs/caddy-docs/retrieval/language"
	"github.com/caddy-docs/caddy-docs/short"
)

const (
	maxMessage  = 16000 // bytes of a message that are looked at, half of them at its end
	maxError    = 300   // bytes of a line that names an error
	leastPasted = 3     // lines
	// unsignedWords is from how many words a line without a sign of code is prose
	// in whatever language.
	unsignedWords = 6
)

// kind is what a line of a message is.
type kind int

const (
	blank  kind = iota
	prose       // words of a sentence
	bare        // few words, as in a title, an output or a list
	signed      // as in code, a configuration or a log
	frame       // of a stack trace
)

// lineForms are the forms of lines.
var lineForms = struct{ frame, record, failure, sign, ending, other, bullet *regexp.Regexp }{
	frame: regexp.MustCompile(`^\s*(at [\w$.<>/]+\(|at .+:\d+:\d+\)?$|File ".+", line \d+|\.\.\. \d+ (more|common))`),
	record: regexp.MustCompile(`^\W{0,2}(\d{4}[-/]\d\d|\d\d:\d\d|\w{3} +\d+ \d\d:|(TRACE|DEBUG|INFO|NOTICE|WARN|ERROR|FATAL)\w*\b|` +
		`(Caused by|[\w.]*(?i:error|exception|panic|fatal|warning)(\[\w+\])?):|` +
		`Traceback|During handling of the above|The above exception was|#|//|> )`),
	failure: regexp.MustCompile(`(?i)(error|exception|fatal|panic|failed|failure|denied|refused|cannot|unable|invalid|unknown|not found)\b`),
	sign:    regexp.MustCompile(`^\s|[={}\[\]<>|;$\\/\t]|  |: `),
	ending:  regexp.MustCompile(`[?？؟]$|\p{Greek};$`), // of questions
	other:   regexp.MustCompile(`[^\P{L}\p{Latin}]`),  // letters that logs and code hardly have
	bullet:  regexp.MustCompile(`^([-*+•]|\d+[.)]) \S`),
}

// Unpasted returns what a message says itself, and the first and the last line
// that names an error in what is pasted into it: a log, a stack trace, code, a
// configuration. asks reports whether there is prose in what it says itself.
func Unpasted(asked string) (own, errors string, asks bool) {
	if !strings.Contains(asked, "\n") {
		return asked, "", true
	}
	message := strings.ReplaceAll(asked, "\r\n", "\n")
	if n := len(message) - maxMessage; n > 0 {
		message = short.Bytes(message, maxMessage/2) + "\n" + strings.ToValidUTF8(message[n+maxMessage/2:], "")
	}
	lines := strings.Split(message, "\n")
	kinds := make([]kind, len(lines))
	fence := ""
	for i, line := range lines {
		mark := line[:min(3, len(line))]
		switch {
		case fence == "" && (mark == "```" && !strings.Contains(strings.TrimLeft(line, "`"), "`") || mark == "~~~"):
			fence, lines[i] = mark, ""
		case fence != "" && mark == fence:
			fence, lines[i] = "", ""
		case fence != "" && strings.TrimSpace(line) != "" && !lineForms.frame.MatchString(line):
			kinds[i] = signed
		default:
			kinds[i] = kindOf(line)
		}
	}

	var said, failed []string
	dropped := false
	for i := 0; i < len(lines); {
		end := i
		for end < len(lines) && kinds[end] != prose {
			end++
		}
		from, to := pastedLines(kinds[i:end])
		dropped = dropped || from < to || slices.Contains(kinds[i:end], frame)
		for j := i; j < min(end+1, len(lines)); j++ {
			switch {
			case kinds[j] != frame && (j < i+from || j >= i+to):
				said = append(said, lines[j])
				asks = asks || kinds[j] == prose
			case kinds[j] != frame && lineForms.failure.MatchString(lines[j]):
				failed = append(failed, short.Bytes(strings.TrimSpace(lines[j]), maxError))
			}
		}
		i = end + 1
	}
	if !dropped {
		return asked, "", true
	}
	if len(failed) > 2 {
		failed = []string{failed[0], failed[len(failed)-1]}
	}
	return strings.TrimSpace(strings.Join(said, "\n")), strings.Join(failed, "\n"), asks
}

// pastedLines finds what is pasted in lines without prose: what has the signs of
// it. A line without them before that is a title.
func pastedLines(kinds []kind) (from, to int) {
	for from < len(kinds) && kinds[from] < signed {
		from++
	}
	lines, signs := 0, 0
	ended := false
	for i := from; i < len(kinds); i++ {
		switch {
		case kinds[i] == blank:
			ended = true
			continue
		case kinds[i] >= signed:
			ended = false
			signs++
		}
		lines++
		if !ended {
			to = i + 1
		}
	}
	if lines < leastPasted || 2*signs < lines {
		return 0, 0
	}
	return from, to
}

func kindOf(line string) kind {
	text := strings.TrimSpace(line)
	switch {
	case text == "":
		return blank
	case lineForms.frame.MatchString(line):
		return frame
	case lineForms.ending.MatchString(text):
		return prose
	case lineForms.record.MatchString(text):
		return signed
	}
	l := language.Detect(text, language.English)
	words, stops, characters := 0, 0, 0
	for w := range Words(text) {
		if r := []rune(w); IsEastern(r[0]) {
			characters += len(r)
		}
		words++
		if len(w) > 1 && IsStopWord(strings.ToLower(w), l) {
			stops++
		}
	}
	sign := words == 0 || !lineForms.bullet.MatchString(text) && lineForms.sign.MatchString(line)
	switch {
	case characters >= 4 || !sign && len(lineForms.other.FindAllString(text, 4)) == 4 || 4*stops > words && (stops > 1 || !sign):
		return prose
	case sign:
		return signed
	case words >= unsignedWords:
		return prose
	}
	return bare
}
