package assistant

import (
	"maps"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/language"
)

// onePage is a page with a section of this text, and one about something else.
func onePage(text string) *fakeIndex {
	return &fakeIndex{documents: []*retrieval.Document{{
		Page: "modules", URL: "https://docs.acme.com/modules", Title: "Modules", Language: "en",
		Sections: []retrieval.Section{
			{Anchor: "install-modules", Heading: "Install modules", Level: 2, Text: text},
			{Anchor: "colours", Heading: "Colours", Level: 2, Text: "Red and blue are supported."},
		},
	}}}
}

func TestQuotesAreWhole(t *testing.T) {
	filler := strings.Repeat("Nothing of this is about the topic at hand, but it is long. ", 20)
	long := make([]string, 60)
	for i := range long {
		long[i] = "echo install modules " + strings.Repeat("x", 30)
	}
	for _, c := range []struct {
		name, text, question string
		holds                []string
		lacks                []string
	}{
		{
			"a sentence with the code that it introduces",
			"To install modules, run:\n\n```sh\nacme add x\n```\n\n" + filler,
			"How do I install modules?",
			[]string{"To install modules, run:\n\n```sh\nacme add x\n```"},
			[]string{"Nothing of this"},
		},
		{
			"alternatives together",
			"Install modules with npm or yarn:\n\n```sh\nnpm add x\n```\n\n```sh\nyarn add x\n```\n\n" + filler,
			"How do I install modules with npm?",
			[]string{"npm add x", "yarn add x"},
			nil,
		},
		{
			"a list with what introduces it",
			"When you install modules:\n\n- The cache is cleared.\n- The server restarts.\n\n" + filler,
			"Is the cache cleared when I install modules?",
			[]string{"When you install modules:\n\n- The cache is cleared.\n- The server restarts."},
			nil,
		},
		{
			"the row of a table with its headers",
			filler + "\n\noption | meaning | default\ninstall_modules | Whether to install modules. | off\ncolour | A colour. | red",
			"What is the default of install_modules?",
			[]string{"Whether to install modules. (default: off)"},
			nil,
		},
		{
			"a question in the text with its answer",
			filler + "\n\nHow do you install modules on a phone?\n\nModules can't be put on one.\n\n" + filler,
			"How do I install modules on a phone?",
			[]string{"How do you install modules on a phone?\n\nModules can't be put on one."},
			nil,
		},
		{
			"a paragraph of a list's item without its indentation",
			"- Deep\n  - Deeper\n\n    To install modules on it, run `acme add`.\n\n" + filler,
			"How do I install modules on it?",
			[]string{"\n\nTo install modules on it, run `acme add`."},
			nil,
		},
		{
			"long code is cut, with a link to the rest",
			"To install modules:\n\n```sh\n" + strings.Join(long, "\n") + "\n```",
			"How do I install modules?",
			[]string{"\n```\n\n[…](https://docs.acme.com/modules#install-modules)"},
			nil,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := acme(nil)
			a.Search = onePage(c.text)
			res, rec := mustReply(t, a, ask(c.question))
			if res.Answered == "no" || !strings.Contains(rec.text(), "**[Modules › Install modules]") {
				t.Fatalf("answered %s:\n%s", res.Answered, rec.text())
			}
			for _, w := range c.holds {
				if !strings.Contains(rec.text(), w) {
					t.Errorf("%q is not in\n%s", w, rec.text())
				}
			}
			for _, w := range c.lacks {
				if strings.Contains(rec.text(), w) {
					t.Errorf("%q is in\n%s", w, rec.text())
				}
			}
			for quoted := range strings.SplitSeq(rec.text(), "**[") {
				if utf8.RuneCountInString(quoted) > mostQuoted+300 {
					t.Errorf("%d characters", utf8.RuneCountInString(quoted))
				}
			}
		})
	}
}

func TestAPageThatIsAskedForIsQuotedFromItsBeginning(t *testing.T) {
	x := &fakeIndex{documents: []*retrieval.Document{{
		Page: "baggage", URL: "https://docs.acme.com/baggage", Title: "Baggage", Language: "en",
		Sections: []retrieval.Section{
			{Text: "Baggage is information that goes from one service to the next."},
			{Anchor: "security", Heading: "Baggage security considerations", Level: 2, Text: "Baggage is in the headers of requests to others."},
			{Anchor: "limits", Heading: "Baggage limits", Level: 2, Text: "A request has at most 64 entries."},
		},
	}, {
		Page: "gears", URL: "https://docs.acme.com/gears", Title: "Gears", Language: "en",
		Sections: []retrieval.Section{
			{Anchor: "noises", Heading: "Noises", Level: 2, Text: "Gears make noises."},
			{Anchor: "turning", Heading: "How gears turn", Level: 2, Text: "Gears turn to the left."},
		},
	}}}
	for question, want := range map[string]string{
		"What is baggage?":                 "**[Baggage](https://docs.acme.com/baggage)**",
		"What are the limits of baggage?":  "**[Baggage › Baggage limits]",
		"gears":                            "**[Gears › How gears turn]", // there is no text above its headings
		"Is the security of baggage good?": "**[Baggage › Baggage security considerations]",
	} {
		a := acme(nil)
		a.Search = x
		if _, rec := mustReply(t, a, ask(question)); !strings.Contains(rec.text(), want) {
			t.Errorf("%q: %s", question, rec.text())
		}
	}
}

func TestAPassageIsShownAndClaimsNoMoreThanItIs(t *testing.T) {
	for _, c := range []struct {
		name, question, answered string
		begins                   string
		quotes                   int
	}{
		{"what holds every word of a question is the answer", "How do I install the Acme package on Debian Linux with sudo apt?", "yes", found, 1},
		{"what holds most of them is the closest passage", "Which package of penguins do I install on Linux?", "partly", closest, 1},
		{"what holds none is no answer", "Who won the football match yesterday evening?", "no", notFound, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			res, rec := mustReply(t, acme(nil), ask(c.question))
			text := rec.text()
			if res.Answered != c.answered || !strings.HasPrefix(text, phrases[language.English][c.begins]) && c.answered != "no" || strings.Count(text, "**[") != c.quotes {
				t.Errorf("answered %s:\n%s", res.Answered, text)
			}
			if n := strings.Count(text, "\n- ["); n > mostLinks {
				t.Errorf("%d links", n)
			}
		})
	}
}

func TestALinkHasTheSentencesThatAreNearestToTheQuestion(t *testing.T) {
	for text, want := range map[string]string{
		"Modules extend the program. They are written in Go. The files of a removed module are deleted at the next start. Before that, they stay. " + strings.Repeat("There is more to say about modules. ", 20): ": The files of a removed module are deleted at the next start. Before that, they stay. There is more",
		"Modules extend the program:\n\n- Modules are written in Go.\n- The files of a removed module are deleted at the next start.\n- Modules have names.":                                                     ": The files of a removed module are deleted at the next start.",
		"```sh\nacme module files gone\n```\n\nThey leave at the start.":     ": They leave at the start.",
		strings.Repeat("The files of a removed module, ", 20) + "and so on.": ": The files of a removed module, The files",
	} {
		x := onePage("The files of a removed Windows module are gone at once, says a penguin.")
		x.documents[0].Sections[1].Text = text
		a := acme(nil)
		a.Search = x
		_, rec := mustReply(t, a, ask("Which penguin says when the files of a removed Windows module are gone?"))
		_, line, _ := strings.Cut(rec.text(), "\n- [")
		line, _, _ = strings.Cut(line, "\n")
		if !strings.Contains(line, want) || utf8.RuneCountInString(line) > longestLine+100 {
			t.Errorf("%s", rec.text())
		}
	}
}

func TestACellWithABarIsShownAsItIs(t *testing.T) {
	a := acme(nil)
	a.Search = onePage(`Modules are installed with these options:

option | type | default
install_cache | CacheType[] \| false | false
colour | string | red`)
	_, rec := mustReply(t, a, ask("Which type has install_cache of modules?"))
	if text := rec.text(); strings.Contains(text, `\|`) || !strings.Contains(text, "CacheType[]") {
		t.Errorf("%s", text)
	}
}

func TestListsOfChangesAreNotQuoted(t *testing.T) {
	x := onePage("You can install modules now.")
	x.documents[0].Title, x.documents[0].Page = "Changelog", "changelog"
	a := acme(nil)
	a.Search = x
	if res, rec := mustReply(t, a, ask("How do I install modules?")); res.Answered == "yes" || strings.Contains(rec.text(), "**[") {
		t.Errorf("answered %s:\n%s", res.Answered, rec.text())
	}
}

func TestLinesEndBetweenWords(t *testing.T) {
	for text, want := range map[string]string{
		"one two three four":   "one two …",
		"one `two three` four": "one …",
		"`one` two, three":     "`one` two …",
		"install it:":          "install it …",
		"無限に続く文字列が続いていく":       "無限に続く文字列が続いて …",
	} {
		if got := shortened(text, 12); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// Most words of a text are left out before the stemmer; none of them is asked for.
func TestTermsAreHeldAsTheyAreStemmed(t *testing.T) {
	text := "Dying servers lie: `reverse_proxy` and rate_limit, HTTP/3 in 2-D, Caddy's skies, news.txt, größere Schlüssel, 設定を変更する, api.v1/tokens, (keys)."
	for _, question := range []string{"Is a server dying, or does it lie?", "reverse proxy limits of HTTP/3?", "What news of the sky, token and key?", "Größe der Schlüssel", "設定の変更"} {
		for _, l := range []language.Language{language.English, language.German, language.Japanese} {
			asked, want := distinct(terms(question, l)), map[string]bool{}
			for _, have := range terms(text, l) {
				for _, a := range asked {
					if a.stem == have.stem {
						want[a.stem] = true
					}
				}
			}
			if got := newFinder(asked, l).in(text); !maps.Equal(got, want) {
				t.Errorf("%q in %s: %v, want %v", question, l, got, want)
			}
		}
	}
}

// Words of the conversation help to find what a follow-up question is about, but
// what it asks itself counts more.
func TestAFollowUpIsQuotedByItsOwnWords(t *testing.T) {
	x := onePage("")
	x.documents[0].Sections = []retrieval.Section{
		{Anchor: "keys", Heading: "Keys", Level: 2, Text: "Keys open the site of an organization."},
		{Anchor: "life", Heading: "Lifetime", Level: 2, Text: "They expire after ninety days."},
	}
	a := acme(nil)
	a.Search = x
	_, rec := mustReply(t, a, ask("and when do they expire?", userSaid("What are keys?"), assistantSaid("Keys open the site.")))
	if text := rec.text(); !strings.Contains(text, "ninety days.\n\nSee also") {
		t.Errorf("quoted: %s", text)
	}
}
