package thread

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func TestIDsAreUnguessableAndHoldTheirDay(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		id := newID(noon)
		if !ownID.MatchString(id) || checkID(id) != nil || seen[id] {
			t.Fatalf("id %q", id)
		}
		seen[id] = true
	}
	id := newID(noon)
	name, ok := keyOf("acme", id)
	if !ok || name != "docs/threads/acme/20261120/"+id+".json" {
		t.Fatalf("key %q", name)
	}
	for _, name := range []string{name, "/" + name} {
		if day, ok := dayOf(name); !ok || day != "20261120" || idOf(name) != id {
			t.Errorf("%q is of the day %q and the id %q", name, day, idOf(name))
		}
	}
}

func TestNothingFromAClientFormsAPath(t *testing.T) {
	good := newID(noon)
	for _, id := range []string{
		"", "..", "../" + good, good + "/..", good + "\n", strings.ToUpper(good), good[:len(good)-1], good + "a",
		"thr_99991231" + strings.Repeat("a", 26), "thr_2026112\u0660" + strings.Repeat("a", 26), "x" + good,
	} {
		if name, ok := keyOf("acme", id); ok {
			t.Errorf("id %q makes %q", id, name)
		}
	}
	for _, organization := range []string{"", "..", "a/b", "A", "a\x00", strings.Repeat("a", 64)} {
		if name, ok := keyOf(organization, good); ok {
			t.Errorf("organization %q makes %q", organization, name)
		}
	}
	for _, name := range []string{
		"docs/threads/acme/20261120/" + good, "docs/threads/acme/20261121/" + good + ".json", "docs/threads/acme/" + good + ".json",
		"docs/threads/acme/20261120/x/" + good + ".json", "docs/keys/acme/20261120/" + good + ".json", "docs/threads/acme/20261120/1234.json",
		"docs/threads/../20261120/" + good + ".json", "", "docs/threads/acme/20261120",
	} {
		if _, ok := dayOf(name); ok {
			t.Errorf("%q passes for a thread", name)
		}
	}
}

func TestCheckID(t *testing.T) {
	for _, id := range []string{newID(noon), "a", "thread-of_another-Service1", strings.Repeat("a", 128)} {
		if err := checkID(id); err != nil {
			t.Errorf("%q: %v", id, err)
		}
	}
	for _, id := range []string{"", " ", "a b", "../x", "a\n", "é", "a\x00", strings.Repeat("a", 129)} {
		if err := checkID(id); err == nil || !strings.Contains(err.Error(), "threadId must be") {
			t.Errorf("%q: %v", id, err)
		}
	}
}

func TestOwnersAreHashedWithTheirSite(t *testing.T) {
	a := Owner{"acme", "docs", "reader-1"}
	for name, b := range map[string]Owner{
		"another reader":       {"acme", "docs", "reader-2"},
		"another site":         {"acme", "blog", "reader-1"},
		"another organization": {"other", "docs", "reader-1"},
		"nobody":               {"acme", "docs", Anonymous},
	} {
		if a.Hash() == b.Hash() {
			t.Errorf("%s has the same hash", name)
		}
	}
	if (Owner{"acme", "docs", ""}).Hash() != (Owner{"acme", "docs", Anonymous}).Hash() {
		t.Error("no fingerprint is not anonymous")
	}
	if strings.Contains(a.Hash(), "reader") || len(a.Hash()) != 64 {
		t.Errorf("hash %q", a.Hash())
	}
}

func TestThreadsAreBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("much work of one goroutine")
	}
	for name, turn := range map[string]Turn{
		"short":                     {Question: "q", Answer: "a"},
		"long text":                 {Question: strings.Repeat("q", 400_000), Answer: strings.Repeat("a", 400_000)},
		"text of which JSON is six": {Question: strings.Repeat("\x01", 400_000), Answer: strings.Repeat("<", 400_000)},
		"other scripts":             {Question: strings.Repeat("質", 100_000), Answer: strings.Repeat("👩‍🚀", 50_000)},
		"not UTF-8":                 {Question: strings.Repeat("\xff", 100_000), Answer: "\xe2\x82"},
		"many sources":              {Sources: make([]string, 10_000)},
		"long sources":              {Sources: []string{strings.Repeat("s", 5000), "https://acme.com/a", "\xff"}},
		"wide sources": {Sources: func() (s []string) {
			for range 50 {
				s = append(s, strings.Repeat("\x01", 2000))
			}
			return s
		}()},
	} {
		t.Run(name, func(t *testing.T) {
			th := &Thread{ID: newID(noon), Organization: "acme", Site: "docs"}
			for i := range 120 {
				data, err := th.add(turn, false)
				if err != nil {
					t.Fatal(err)
				}
				if len(data) > maxBytes || len(th.Turns) > maxTurns || len(th.Turns) == 0 {
					t.Fatalf("after %d: %d bytes, %d turns", i+1, len(data), len(th.Turns))
				}
				var again Thread
				if err := json.Unmarshal(data, &again); err != nil || len(again.Turns) != len(th.Turns) {
					t.Fatalf("stored %d turns, kept %d: %v", len(again.Turns), len(th.Turns), err)
				}
			}
			last := th.Turns[len(th.Turns)-1]
			if !utf8.ValidString(last.Question) || !utf8.ValidString(last.Answer) {
				t.Error("cut in the middle of a character")
			}
			if name == "short" && len(th.Turns) != maxTurns {
				t.Errorf("%d turns kept", len(th.Turns))
			}
		})
	}
}

func TestTurnsThatCannotFitAreAnError(t *testing.T) {
	th := &Thread{ID: newID(noon)}
	if _, err := th.add(Turn{Model: strings.Repeat("m", maxBytes)}, false); err == nil {
		t.Error("a turn larger than a thread is stored")
	}
}

func TestReplacingTheLastTurn(t *testing.T) {
	th := &Thread{ID: newID(noon)}
	for _, step := range []struct {
		answer  string
		replace bool
		want    string
	}{{"a", true, "a"}, {"b", true, "b"}, {"c", false, "b c"}, {"d", true, "b d"}} {
		if _, err := th.add(Turn{Answer: step.answer}, step.replace); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, turn := range th.Turns {
			got = append(got, turn.Answer)
		}
		if strings.Join(got, " ") != step.want {
			t.Errorf("after %q: %q, want %q", step.answer, got, step.want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	id := newID(noon)
	data, _ := json.Marshal(&Thread{ID: id, Turns: []Turn{{Question: "q"}}})
	f.Add(id, data)
	f.Add("", []byte("null"))
	f.Fuzz(func(t *testing.T, id string, data []byte) {
		th, err := decode(data, prefix+"/acme/20261120/"+id+".json")
		if err != nil {
			return
		}
		if len(data) > maxBytes {
			t.Fatal("accepted")
		}
		th.ownedBy(Owner{"acme", "docs", "x"})
		if out, err := th.add(Turn{Question: string(data)}, true); err == nil && len(out) > maxBytes {
			t.Fatalf("%d bytes", len(out))
		}
	})
}

func TestATurnHasThePagesOfThoseBeforeIt(t *testing.T) {
	th := &Thread{ID: newID(noon)}
	first := Turn{Sources: []string{"/a#b"}, Given: []string{"/c", "/a"}, Locked: true}
	turn := Turn{Sources: []string{"/d"}, Given: []string{"/d", "/c"}}
	turn.Follow(&first)
	if _, err := th.add(turn, false); err != nil {
		t.Fatal(err)
	}
	last := th.Turns[0]
	if got := strings.Join(last.Pages(), " "); got != "/d /a /a#b /c /d" || !last.Locked || last.More {
		t.Errorf("%s, %+v", got, last)
	}
	for i := range maxGiven {
		turn.Given = append(turn.Given, fmt.Sprint("/", i))
	}
	if _, err := th.add(turn, false); err != nil || len(th.Turns[1].Given) != maxGiven || !th.Turns[1].More {
		t.Errorf("%v: %d pages, more %v", err, len(th.Turns[1].Given), th.Turns[1].More)
	}
}
