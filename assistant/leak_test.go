package assistant

import (
	"strings"
	"testing"
)

// recite feeds a text in pieces of n bytes, and returns what passed.
func recite(a *Assistant, text string, n int) (passed string, found bool) {
	k := newLeak("0123456789abcdef", a.recitals())
	for len(text) > 0 && !found {
		m := min(n, len(text))
		var pass, held []byte
		pass, held, found = k.scan([]byte(text[:m]))
		passed += string(held) + string(pass)
		text = text[m:]
	}
	if !found {
		passed += string(k.flush())
	}
	return passed, found
}

// Wherever a rule begins in an answer, and wherever in the rule the recital
// begins, less than hold letters of it come out; and what only begins like a
// rule comes out whole.
func TestRecitalsWhereverTheyBegin(t *testing.T) {
	a := acme(nil)
	rules := a.recitals().text
	const before = "zzqxjzzqxjzzqxjzzqxjzzqxjzzqxj" // letters that no rule has in this order
	for shift := range stride + shingle {
		for from := 0; from+recital+stride < len(rules); from += 37 {
			filler := before[:shift%len(before)]
			passed, found := recite(a, filler+rules[from:from+recital+stride], 1+(shift+from)%9)
			if !found {
				t.Fatalf("%d letters of a rule after %d others are not found", recital+stride, shift)
			}
			if got := strings.TrimPrefix(passed, filler); len(got) >= hold {
				t.Fatalf("%d letters of a rule came out after %d others", len(got), shift)
			}
			harmless := filler + rules[from:from+hold+5] + before
			if passed, found := recite(a, harmless, 1+(shift+from)%9); found || passed != harmless {
				t.Fatalf("what begins like a rule came out as %q, found %v; want %q", passed, found, harmless)
			}
		}
	}
}

func TestTheKeyOfTheFencesIsFound(t *testing.T) {
	a := acme(nil)
	for n := 1; n < 20; n++ {
		passed, found := recite(a, "see <<0123456789abcdef", n)
		if !found || strings.Contains(passed, "0123456") {
			t.Errorf("in pieces of %d: %q, found %v", n, passed, found)
		}
		if passed, found := recite(a, "see <<01234567 it", n); found || passed != "see <<01234567 it" {
			t.Errorf("in pieces of %d: %q, found %v", n, passed, found)
		}
	}
}
