package assistant

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/caddytest"

	"github.com/caddyserver/caddy/v2"
)

func TestThreadsGoOn(t *testing.T) {
	dir, root := t.TempDir(), caddytest.AcmeFolder(t)
	site := caddytest.Site(root)
	s := caddytest.StartIn(t, dir, "", site)
	s.Ready("acme")
	first := s.AskBody(caddytest.Question("How do I install Acme on Linux?", map[string]any{"fp": "ann"}))
	if first.ThreadID == "" || first.EarlyThreadID != first.ThreadID {
		t.Fatalf("thread %q, early %q", first.ThreadID, first.EarlyThreadID)
	}
	second := s.AskBody(caddytest.Question("And on Windows?", map[string]any{"fp": "ann", "threadId": first.ThreadID}))
	if second.ThreadID != first.ThreadID {
		t.Errorf("the thread changed from %s to %s", first.ThreadID, second.ThreadID)
	}
	if !strings.Contains(second.Text, "acme-setup.exe") {
		t.Errorf("a follow-up whose history only the server has was not understood:\n%s", second.Text)
	}
	for name, fields := range map[string]map[string]any{
		"another reader's": {"fp": "bob", "threadId": first.ThreadID},
		"an unknown one":   {"fp": "ann", "threadId": "thr_00000000000000000000000000"},
		"one of elsewhere": {"fp": "ann", "threadId": "3f6c1d52-0f3b-4a7e-9d59-1f64b1f0a111"},
	} {
		if r := s.AskBody(caddytest.Question("install", fields)); r.ThreadID == "" || r.ThreadID == fields["threadId"] {
			t.Errorf("%s thread was taken up: %s", name, r.ThreadID)
		}
	}

	// From the metadata of the last answer, where the body names none.
	body := fmt.Sprintf(`{"fp":"ann","trigger":"submit-message","messages":[{"id":"1","role":"user","parts":[{"type":"text","text":"a"}]},{"id":"2","role":"assistant","metadata":{"threadId":%q},"parts":[{"type":"text","text":"b"}]},{"id":"3","role":"user","parts":[{"type":"text","text":"install"}]}]}`, first.ThreadID)
	if r := s.AskBody(body); r.ThreadID != first.ThreadID {
		t.Errorf("the thread of the last answer's metadata was not taken up: %s", r.ThreadID)
	}

	// Over a reload with another configuration, and over a restart.
	s.Load("", site+"http://more.test:0 {\n\trespond ok\n}\n")
	if r := s.AskBody(caddytest.Question("install", map[string]any{"fp": "ann", "threadId": first.ThreadID})); r.ThreadID != first.ThreadID {
		t.Errorf("the thread did not survive a reload")
	}
	if err := caddy.Stop(); err != nil {
		t.Fatal(err)
	}
	s.Load("", site)
	s.Ready("acme")
	if r := s.AskBody(caddytest.Question("install", map[string]any{"fp": "ann", "threadId": first.ThreadID})); r.ThreadID != first.ThreadID {
		t.Errorf("the thread did not survive a restart")
	}
}

func TestThreadsOffKeepsNone(t *testing.T) {
	s := caddytest.Start(t, "threads off", caddytest.Site(caddytest.AcmeFolder(t)))
	s.Ready("acme")
	if r := s.AskBody(caddytest.Question("install", nil)); r.ThreadID == "" {
		t.Error("a reply without a thread id")
	}
	names, err := caddy.ActiveContext().Storage().List(t.Context(), "docs", true)
	if err == nil && len(names) > 0 {
		for _, n := range names {
			if strings.Contains(n, "threads") {
				t.Errorf("stored: %s", n)
			}
		}
	}
}

// A chat hook gives an edited question, or one that is asked again, the id that
// it had. What the thread has from there on is left out, also where the app
// sends only the newest message.
func TestAnEditedQuestionReplacesItsTurnAndTheLaterOnes(t *testing.T) {
	s := caddytest.StartAcme(t)
	thread := ""
	ask := func(id, trigger, text string) (searched string) {
		t.Helper()
		fields := map[string]any{
			"messages": []any{map[string]any{"id": id, "role": "user", "parts": []any{map[string]any{"type": "text", "text": text}}}},
		}
		if trigger != "" {
			fields["trigger"] = trigger
		}
		if thread != "" {
			fields["threadId"] = thread
		}
		r := s.AskBody(caddytest.Question("", fields))
		if thread != "" && r.ThreadID != thread {
			t.Errorf("the thread changed from %s to %s", thread, r.ThreadID)
		}
		thread = r.ThreadID
		return fmt.Sprint(r.Tools[0].Input)
	}
	ask("a", "submit-message", "How do I install Acme on Linux?")
	if q := ask("b", "submit-message", "And on Windows?"); !strings.Contains(q, "Linux") {
		t.Errorf("a follow-up is searched as %s", q)
	}
	if q := ask("c", "submit-message", "And there?"); !strings.Contains(q, "Windows") {
		t.Errorf("the next one is searched as %s", q)
	}
	if q := ask("b", "regenerate-message", "And on Windows?"); !strings.Contains(q, "Linux") || strings.Contains(q, "there") {
		t.Errorf("the second question, asked again, is searched as %s", q)
	}
	if q := ask("a", "submit-message", "And the countdown?"); strings.Contains(q, "Linux") || strings.Contains(q, "Windows") {
		t.Errorf("the first question, edited, is searched as %s", q)
	}
	if q := ask("d", "submit-message", "And there?"); !strings.Contains(q, "countdown") || strings.Contains(q, "Linux") {
		t.Errorf("after the edit, the next one is searched as %s", q)
	}
	// A client made by hand may give all questions one id.
	ask("x", "", "How do I install Acme on Linux?")
	if q := ask("x", "", "And on Windows?"); !strings.Contains(q, "Linux") {
		t.Errorf("with the id of the question before, a follow-up is searched as %s", q)
	}
}

// Chat hooks send the images of a conversation again with every question.
func TestBigImagesDoNotCountAgainstMaxBody(t *testing.T) {
	s := caddytest.StartAcme(t)
	image := func(bytes int) map[string]any {
		return map[string]any{"type": "file", "mediaType": "image/png", "filename": "a.png", "url": "data:image/png;base64," + strings.Repeat("A", bytes)}
	}
	body := func(parts ...any) string {
		parts = append(parts, map[string]any{"type": "text", "text": caddytest.InstallQuestion})
		return caddytest.Question("", map[string]any{"messages": []any{map[string]any{"id": "a", "role": "user", "parts": parts}}})
	}
	if r := s.AskBody(body(image(600_000), image(600_000), image(15_000_000))); !strings.Contains(r.Text, "acme-install") {
		t.Errorf("with 16 MB of images, the answer is %s", r.Text)
	}
	r := s.Do(caddytest.Request{Path: caddytest.V2Path, Body: body(map[string]any{"type": "reasoning", "text": strings.Repeat("A", 1_100_000)})})
	if e := r.Error(t); r.Status != 413 || e.Code != "too_large" || !strings.Contains(e.Error, "without its files is larger than 1.0 MB") {
		t.Errorf("1.1 MB of text: %d %+v", r.Status, e)
	}
}

// Mintlify's widget shows metadata.title of the search's results, and the lines
// (text)[url] of a code block.
func TestClientsOfMintlifysAPIFindTitlesAndSuggestions(t *testing.T) {
	s := caddytest.Start(t, "", caddytest.Site(caddytest.AcmeFolder(t), "suggestions fence", "url https://docs.acme.test"))
	s.Ready("acme")
	for version, r := range s.AskAll(t, caddytest.InstallQuestion, nil) {
		results, _ := r.Tools[0].Output.([]any)
		if len(results) == 0 {
			t.Fatalf("v%d: no results: %+v", version, r.Tools)
		}
		for _, result := range results {
			m, _ := result.(map[string]any)["metadata"].(map[string]any)
			if title, _ := m["title"].(string); !strings.Contains(title, "Acme") && title == "" {
				t.Errorf("v%d: %v", version, result)
			}
		}
		form := regexp.MustCompile("\n```suggestions\n(\\([^()]+\\)\\[https://docs\\.acme\\.test/[^]\n]+\\]\n){1,3}```$")
		if !form.MatchString(r.Text) || len(r.Data) > 0 && r.Data[0].Name == "suggestions" {
			t.Errorf("v%d: %s\n%+v", version, r.Text, r.Data)
		}
	}
}

// Clients of Mintlify's API keep X-Thread-Key beside X-Thread-Id, and continue a
// thread only with both. What they name besides is answered as here.
func TestAThreadIsContinuedWithItsKey(t *testing.T) {
	s := caddytest.Start(t, "", caddytest.Site(caddytest.AcmeFolder(t)))
	s.Ready("acme")
	send := func(fields map[string]any, header map[string]string) *caddytest.Response {
		t.Helper()
		return s.Do(caddytest.Request{Path: caddytest.V2Path, Body: caddytest.Question("install", fields), Header: header})
	}
	first := send(map[string]any{"fp": "ann"}, nil)
	id, key := first.Header.Get("X-Thread-Id"), first.Header.Get("X-Thread-Key")
	if id == "" || len(key) != 22 || strings.Contains(key, "ann") {
		t.Fatalf("thread %q, key %q", id, key)
	}
	if ignored := first.Header.Get("X-Ignored-Fields"); ignored != "" {
		t.Errorf("ignored: %q", ignored)
	}
	for name, c := range map[string]struct {
		fields map[string]any
		same   bool
	}{
		"with its key":      {map[string]any{"fp": "ann", "threadId": id, "threadKey": key}, true},
		"without a key":     {map[string]any{"fp": "ann", "threadId": id}, true},
		"with an empty key": {map[string]any{"fp": "ann", "threadId": id, "threadKey": ""}, true},
		"with another key":  {map[string]any{"fp": "ann", "threadId": id, "threadKey": "q3xH7yQb2mV0cT9eWkZr1A"}, false},
		"with another fp":   {map[string]any{"fp": "bob", "threadId": id, "threadKey": key}, false},
		"with an empty id":  {map[string]any{"fp": "ann", "threadId": "", "threadKey": key}, false},
	} {
		r := send(c.fields, nil)
		if got := r.Header.Get("X-Thread-Id"); r.Status != 200 || got == "" || (got == id) != c.same {
			t.Errorf("%s: %d, thread %s, first %s", name, r.Status, got, id)
		}
	}
	for _, fields := range []map[string]any{{"groups": []string{"staff"}}, {"filter": map[string]any{"groups": []string{"staff"}}}} {
		if r := send(fields, nil); r.Status != 200 || r.Header.Get("X-Ignored-Fields") != "groups" {
			t.Errorf("%v: %d, ignored %q", fields, r.Status, r.Header.Get("X-Ignored-Fields"))
		}
	}
	wrong := send(map[string]any{"threadId": "../x"}, map[string]string{"Accept-Language": "de-AT,en;q=0.5"})
	if wrong.Status != 400 || !strings.Contains(string(wrong.Body), `"error":"threadId `) || !strings.Contains(string(wrong.Body), `"message":"Das konnte nicht gelesen werden.`) {
		t.Errorf("%d: %s", wrong.Status, wrong.Body)
	}
}
