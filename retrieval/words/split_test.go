package words

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func split(text string) (plains, wholes []string) {
	Split(text, func(w string, plain bool) {
		if plain {
			plains = append(plains, w)
		} else {
			wholes = append(wholes, w)
		}
	})
	return plains, wholes
}

func TestWords(t *testing.T) {
	for _, c := range []struct {
		name, text, plains, wholes string
	}{
		{"words are runs of letters and digits in lower case", "Serve files, fast!", "serve files fast", ""},
		{"snake case is found in parts and in one piece", "reverse_proxy", "reverse proxy", "reverseproxy"},
		{"kebab case likewise", "file-server", "file server", "fileserver"},
		{"camel case likewise", "getUserName", "get user name", "getusername"},
		{"an acronym before a word is a part", "HTTPServer", "http server", "httpserver"},
		{"plurals of acronyms are one word", "APIs", "apis", ""},
		{"placeholders are found whole and by their parts", "{http.request.*}", "http request", "httprequest"},
		{"module names keep the identifiers within", "http.handlers.reverse_proxy", "http handlers reverse proxy", "reverseproxy httphandlersreverseproxy"},
		{"flags are whole words with their dashes", "run with --domain or -d", "run with domain or d", "--domain -d"},
		{"a dash between words is no flag", "well-known", "well known", "wellknown"},
		{"scoped packages are whole words", "npm i @ai-sdk/react", "npm i ai sdk react", "@ai-sdk/react aisdk"},
		{"dotfiles are whole words with their dot", "edit `.env.local`", "edit env local", ".env envlocal"},
		{"a folder's dot is none of a name", "./run and a.b", "run and a b", "ab"},
		{"C++ and C# are whole words", "C++, C++20 and C# (f#)", "c c 20 and c f", "c++ c++ c# f#"},
		{"a fragment, a heading and more pluses are not", "guide#top # A a+++ b", "guide top a a b", ""},
		{"a protocol and its version are one word", "HTTP/3 or HTTP/1.1", "http 3 or http 1 1", "http/3 http/1.1 1.1"},
		{"pairs of words are none", "CI/CD, and/or", "ci cd and or", ""},
		{"paths and addresses are not", "src/main/go https://a.b/c and application/json", "src main go https a b c and application json", "ab"},
		{"names keep their sigils", "$attrs :deep(x) ?raw 100%", "attrs deep x raw 100", "$attrs :deep ?raw"},
		{"a call is a dotted name", "a.b.c()", "a b c", "abc"},
		{"headers likewise", "X-Api-Key", "x api key", "xapikey"},
		{"numbers keep their dots", "v2.11", "v2 11", "v2.11"},
		{"an apostrophe is part of its word", "Caddy's", "caddy's", ""},
		{"a trailing dot or dash is not", "end. a- b_", "end a b", ""},
		{"Japanese becomes bigrams", "設定ファイル", "設定 定フ ファ ァイ イル", ""},
		{"a single Han character is a word", "Go 語", "go 語", ""},
		{"Korean becomes bigrams", "서버 설정", "서버 설정", ""},
		{"Latin next to Han is its own word", "使用caddy吧", "使用 caddy 吧", ""},
		{"full width is the same as ASCII", "ＡＰＩ", "api", ""},
		{"invalid UTF-8 and NUL part words", "a\xff\x00b", "a b", ""},
		{"nothing gives nothing", " …—", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			plains, wholes := split(c.text)
			if got := strings.Join(plains, " "); got != c.plains {
				t.Errorf("plain words: got %q, want %q", got, c.plains)
			}
			if got := strings.Join(wholes, " "); got != c.wholes {
				t.Errorf("whole words: got %q, want %q", got, c.wholes)
			}
		})
	}
}

func TestALongRunIsNoWord(t *testing.T) {
	long := strings.Repeat("abcdefgh", 1000)
	for _, text := range []string{long + " x", long + "." + long, "@" + long + "/" + long, "--" + long} {
		Split(text, func(w string, _ bool) {
			if len(w) > MaxBytes {
				t.Errorf("a word of %d bytes", len(w))
			}
		})
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b  string
		limit int
		want  int
	}{
		{"proxy", "proxy", 1, 0},
		{"proxy", "prxoy", 1, 1},
		{"proxy", "prox", 1, 1},
		{"proxy", "proxxy", 1, 1},
		{"proxy", "pruxy", 1, 1},
		{"proxy", "prxyo", 1, 2},
		{"authentication", "authentcaton", 2, 2},
		{"authentication", "autehntiaction", 2, 2},
		{"abc", "xyz", 2, 3},
		{"überall", "uberall", 1, 1},
		{"überall", "uberral", 2, 3}, // with another first letter, one is the most
		{"über", "uber", 1, 2},
	} {
		d := newDistances(c.a)
		d.most = c.limit
		got := c.limit + 1
		if d.compare(c.b, 0) == 0 {
			got = d.distance()
		}
		if got != c.want {
			t.Errorf("%s → %s: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

func FuzzWords(f *testing.F) {
	for _, s := range []string{"reverse_proxy --flag @a/b {x.y}", "設定 caddy's", "a\xffb", "HTTPServer v1.2.3-rc.1", "ﬁ ＡＢ", "--_a", "C++ c# .env http/3 $x ?raw http/1.1/2 /a/b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var all []string
		Split(s, func(w string, _ bool) {
			all = append(all, w)
			if w == "" || len(w) > 2*MaxBytes || !utf8.ValidString(w) && utf8.ValidString(s) {
				t.Errorf("%q gives the word %q", s, w)
			}
		})
		var again []string
		Split(s, func(w string, _ bool) { again = append(again, w) })
		if !slices.Equal(all, again) {
			t.Error("not the same twice")
		}
	})
}

func TestSuggestions(t *testing.T) {
	s := NewList(map[string]uint32{"proxy": 7, "caddy": 9, "proxies": 3, "candy": 2, "cadd1": 0, "42": 9})
	for _, c := range []struct {
		word   string
		typing bool
		want   []string
	}{
		{"cady", false, []string{"caddy", "candy"}},
		{"caddi", false, []string{"caddy"}},
		{"proxi", true, []string{"proxies", "proxy"}},
		{"zzz", false, nil},
	} {
		var got []string
		for _, x := range s.Suggest(c.word, c.typing) {
			got = append(got, x.Text)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.word, got, c.want)
		}
	}
}

func TestWordsBehindASlashOfAnyScript(t *testing.T) {
	for _, text := range []string{"TCP/日本語", "Astro/한국어", "a/ไทย", "x/_", "a/é", "UI/界面 b", "a/ー"} {
		n := 0
		Split(text, func(string, bool) { n++ })
		if n == 0 {
			t.Errorf("no words in %q", text)
		}
	}
}
