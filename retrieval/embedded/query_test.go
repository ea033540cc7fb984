package embedded

import (
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/words"
)

// What is left out without reading a heading's words would have added nothing.
func TestHeadingsThatAreLeftOutAddNothing(t *testing.T) {
	headings := []string{"How to run it", "Don't do it", "dont do it", "useData for a page", "Use Data", "file_server", "The File Server", "1.2 File server", "ﬁle server", "Über uns", "HTTP/3 server", "how-to run", "C++ server run"}
	for _, query := range headings {
		p := parsedQuery{plain: words.Plain(query), text: query}
		p.phrase = strings.Join(p.plain, " ")
		for _, heading := range headings {
			want := float32(0)
			switch in := strings.Join(words.Plain(words.Unnumbered(heading)), " "); {
			case len(p.plain) < 2:
				continue
			case in == p.phrase:
				want = headingVerbatim
			case strings.Contains(" "+in+" ", " "+p.phrase+" "):
				want = headingVerbatim / 2
			}
			if got := p.headed()(&retrieval.Section{Heading: heading}); got != want {
				t.Errorf("%q in %q: %v, want %v", query, heading, got, want)
			}
		}
	}
}

// FuzzMayHold looks for a text with a plain word that it is not seen to have.
func FuzzMayHold(f *testing.F) {
	for _, text := range []string{"impl<'a> Iterator for Chars<'a>", "Don't use SHOUTING", "U.S.A. and C++", "Überſicht ﬁle", "getHTTPServer2Name", "it''s", "'", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, word := range words.Plain(text) {
			if !mayHold(text, word) {
				t.Errorf("%q is a word of %q", word, text)
			}
		}
	})
}

func TestMayHold(t *testing.T) {
	for text, want := range map[string]bool{"Implementing a trait": true, "IMPLEMENT": true, "Überschrift": true, "impl": false, "imple ment": false, "": false} {
		if got := mayHold(text, "implement"); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestAWordIsNoStemAndStopWord(t *testing.T) {
	x := opened(t, Options{}, append(manual(),
		page("expansion", "Expansion and globbing", "Operation", "How to operate on files and folders."),
		page("sessions", "Log out", "Sessions", "A user who wants to log out ends the session."))...)
	for query, want := range map[string]string{"operand ": "", "logout ": "sessions"} {
		got := ""
		if hits := search(t, x, retrieval.Query{Text: query}); len(hits) > 0 {
			got = hits[0].Document.Page
		}
		if got != want {
			t.Errorf("%q finds %q, want %q", query, got, want)
		}
	}
}
