package dashboard

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/caddy-docs/caddy-docs/insights"
	"github.com/caddy-docs/caddy-docs/insights/sqlite"
	"github.com/caddy-docs/caddy-docs/retrieval"
)

const unansweredQuestion = "How do I configure proxies?"

// recorded is a store with a little of both organizations.
func recorded(t *testing.T) *insights.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "insights.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	record(t, s)
	return s
}

// record stores a conversation, a vote and searches of each organization.
func record(t *testing.T, s *insights.Store) {
	t.Helper()
	var events []insights.Event
	for _, org := range []string{"acme", "rival"} {
		add := func(e insights.Event) {
			e.At, e.Scope, e.Source = time.Now(), insights.Scope{Organization: org, Site: org + "-docs"}, insights.Widget
			if !(insights.Privacy{}).Clean(&e) {
				t.Fatalf("%+v is not stored", e)
			}
			events = append(events, e)
		}
		add(insights.Event{Reply: &insights.Reply{
			Thread: org + "-1", Message: org + "-m1", Question: unansweredQuestion, Outcome: "answered", Answered: "no", Nearest: "guide/" + org, Took: 100,
		}})
		add(insights.Event{Vote: &insights.Vote{Thread: org + "-1", Message: org + "-m1", Rating: "down", Comment: "of " + org, Known: true}})
		add(insights.Event{Search: &insights.Search{Query: "nothing of " + org}})
		add(insights.Event{Missing: &insights.Missing{Path: "/old", Status: http.StatusNotFound}})
	}
	if err := s.Append(t.Context(), "", events); err != nil {
		t.Fatal(err)
	}
}

// recordConversation stores a conversation of acme.
func recordConversation(t *testing.T, s *insights.Store, thread string) {
	t.Helper()
	e := insights.Event{
		At: time.Now(), Scope: insights.Scope{Organization: "acme", Site: "acme-docs"}, Source: insights.Widget,
		Reply: &insights.Reply{Thread: thread, Message: thread, Question: "Why?", Outcome: "answered", Answered: "yes"},
	}
	if err := s.Append(t.Context(), "", []insights.Event{e}); err != nil {
		t.Fatal(err)
	}
}

// addSearches stores searches for a query.
func addSearches(t *testing.T, s *insights.Store, queries ...string) {
	t.Helper()
	var events []insights.Event
	for _, query := range queries {
		e := insights.Event{At: time.Now(), Scope: insights.Scope{Organization: "acme", Site: "acme-docs"}, Source: insights.API, Search: &insights.Search{Query: query}}
		if !(insights.Privacy{}).Clean(&e) {
			t.Fatal("not stored")
		}
		events = append(events, e)
	}
	if err := s.Append(t.Context(), "", events); err != nil {
		t.Fatal(err)
	}
}

// get asks for a page as a member of acme.
func get(t *testing.T, s *twoOrganizations, path string, status int) string {
	t.Helper()
	w := ask(t, newDashboard(s), http.MethodGet, strings.Replace(strings.TrimSuffix("/acme/acme-docs/"+path, "/"), "docs/?", "docs?", 1), visitors["a member"])
	if w.Code != status {
		t.Fatalf("%s is %d, want %d\n%s", path, w.Code, status, w.Body)
	}
	return w.Body.String()
}

func audited(t *testing.T, s *insights.Store) string {
	t.Helper()
	list, err := s.Audit(t.Context(), insights.Scope{Organization: "acme"}, insights.Query{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for i := len(list) - 1; i >= 0; i-- {
		fmt.Fprintf(&b, "%s %s %s;", list[i].Who, list[i].What, list[i].Target)
	}
	return b.String()
}

// A conversation is shown as its reader saw it: as Markdown, of which nothing
// is clickable but links to pages, and nothing is loaded.
func TestAnswersAreRendered(t *testing.T) {
	s := &twoOrganizations{store: recorded(t), answers: []Answer{{At: time.Now(), Question: "<b>How?</b> [x](https://evil.example)", Text: strings.Join([]string{
		"# Steps", "1. Run `acme` with **care**, see [Install](https://docs.example/install#linux) and [the guide](/guide).",
		"![a cat](https://evil.example/cat.png) ![own](/acme/acme-docs)", "<img src=x onerror=alert(1)><script>alert(1)</script>", "[run](javascript:alert(1)) [mail](mailto:a@b.example) [ftp](ftp://evil.example) [data](data:text/html,x)",
		"| a | b |\n|---|--:|\n| 1 | 2 |", "```html\n<script>x</script>\n```",
	}, "\n\n")}}}
	page := get(t, s, "conversations/acme-1", http.StatusOK)
	_, page, _ = strings.Cut(page, "<main")
	for _, has := range []string{
		"&lt;b&gt;How?&lt;/b&gt; [x](https://evil.example)", "<h3>Steps</h3>", "<code>acme</code> with <strong>care</strong>",
		`<a href="https://docs.example/install#linux" rel="noreferrer noopener">Install</a> and the guide.`,
		"a cat own", "run mail ftp data", `<td align="right">2</td>`, "&lt;script&gt;x&lt;/script&gt;",
	} {
		if !strings.Contains(page, has) {
			t.Errorf("the page lacks %s", has)
		}
	}
	for _, never := range []string{"<img", "<script", "onerror", "javascript:", "mailto:", "evil.example/cat", `href="ftp`, "data:text", `href=""`} {
		if strings.Contains(page, never) {
			t.Errorf("the page has %s", never)
		}
	}
	if t.Failed() {
		t.Log(page)
	}
}

// Every table is a file by the same address, with the same filters.
func TestTablesAreFiles(t *testing.T) {
	s := &twoOrganizations{store: recorded(t), pages: []Page{{URL: "/", Title: "=1+1", State: "public"}}}
	if err := s.store.AddAudit(t.Context(), insights.Audit{Scope: insights.Scope{Organization: "acme"}, Who: "mia", What: "key created", Target: "k1"}); err != nil {
		t.Fatal(err)
	}
	addSearches(t, s.store, "=cmd|' /C calc'!A0", "+1", "-1", "@sum", "a,\"b\"")
	for page, columns := range map[string]string{
		"unanswered":         "question,asked,no,partly,up,down,pages,last,state,note,conversation",
		"unanswered?by=page": "page,asked,questions,last",
		"searches":           "query,searches,no_result,weak,tracked,clicked,click_rate,mean_position,top_page,last",
		"conversations":      "conversation,first,last,question,questions,page,source,answered_yes,answered_partly,answered_no,failed,up,down",
		"feedback":           "id,at,rating,reasons,comment,question,page,source,state,note,conversation",
		"feedback?by=page":   "page,up,down",
		"audit":              "at,who,what,target,site",
		"keys":               "id,name,state,fixed,sites,origins,created,last_used,expires,uses_30_days",
		"content":            "url,title,state,why,sections,language,version",
		"try?q=install":      "title,heading,url,score,snippet,language,version",
	} {
		sep := "?"
		if strings.Contains(page, "?") {
			sep = "&"
		}
		rows, err := csv.NewReader(strings.NewReader(get(t, s, page+sep+"format=csv", http.StatusOK))).ReadAll()
		if err != nil {
			t.Fatalf("%s: %v", page, err)
		}
		if got := strings.Join(rows[0], ","); got != columns {
			t.Errorf("%s has the columns %s", page, got)
		}
		if page != "feedback?by=page" && len(rows) < 2 {
			t.Errorf("%s has no row", page)
		}
		for _, row := range rows[1:] {
			for i, cell := range row {
				if strings.Contains(cell, "rival") {
					t.Errorf("%s shows %q of another organization", page, cell)
				}
				if cell != "" && strings.ContainsAny(cell[:1], "=+-@\t\r") {
					t.Errorf("%s: a spreadsheet calculates %s %q", page, rows[0][i], cell)
				}
			}
		}
		var objects []map[string]any
		if err := json.Unmarshal([]byte(get(t, s, page+sep+"format=json", http.StatusOK)), &objects); err != nil {
			t.Fatalf("%s: %v", page, err)
		}
		if len(objects) < len(rows)-1 { // reading them may add to the audit
			t.Errorf("%s has %d rows as CSV, %d as JSON", page, len(rows)-1, len(objects))
		}
		if page == "searches" {
			if v, ok := objects[0]["click_rate"]; v != nil || !ok {
				t.Errorf("a click rate without tracked searches is %v, not null", v)
			}
		}
		get(t, s, page+sep+"format=xml", http.StatusBadRequest)
	}
}

// A file has the rows of all pages of its table.
func TestListsHavePages(t *testing.T) {
	s := &twoOrganizations{store: recorded(t)}
	var queries []string
	for i := range 620 {
		queries = append(queries, fmt.Sprintf("query %03d", i))
	}
	addSearches(t, s.store, queries...)
	first := get(t, s, "searches?days=7&kind=top", http.StatusOK)
	if n := strings.Count(first, `<th scope="row"`); n != rowsAtOnce || !strings.Contains(first, "?days=7&amp;kind=top&amp;page=2") {
		t.Errorf("%d rows, or no link to the next page:\n%s", n, first)
	}
	if last := get(t, s, "searches?days=7&kind=top&page=13", http.StatusOK); strings.Count(last, `<th scope="row"`) != 21 || strings.Contains(last, "page=14") {
		t.Errorf("the last page:\n%s", last)
	}
	rows, err := csv.NewReader(strings.NewReader(get(t, s, "searches?kind=top&page=3&format=csv", http.StatusOK))).ReadAll()
	if err != nil || len(rows) != 622 {
		t.Errorf("%d lines (%v)", len(rows), err)
	}

	// The lists by time go on where they ended, also after newer entries.
	for i := range 120 {
		if err := s.store.AddAudit(t.Context(), insights.Audit{At: time.Unix(int64(1_790_000_000+i/3), 0), Scope: insights.Scope{Organization: "acme"}, Who: "mia", What: "key created", Target: fmt.Sprint("k", i)}); err != nil {
			t.Fatal(err)
		}
	}
	seen, page := 0, "audit"
	for range 5 {
		body := get(t, s, page, http.StatusOK)
		seen += strings.Count(body, `<th scope="row"`)
		_, rest, ok := strings.Cut(body, `?before=`)
		if !ok {
			break
		}
		next, _, _ := strings.Cut(rest, `"`)
		page = "audit?before=" + next
		_ = s.store.AddAudit(t.Context(), insights.Audit{Scope: insights.Scope{Organization: "acme"}, Who: "mia", What: "key created"})
	}
	if seen != 120 {
		t.Errorf("%d of 120 entries are seen", seen)
	}
}

func TestWrongParametersSayWhatToWrite(t *testing.T) {
	s := &twoOrganizations{store: recorded(t)}
	for path, says := range map[string]string{
		"searches?days=31":                       "days must be 7, 30 or 90",
		"searches?days=x":                        "days must be 7, 30 or 90",
		"searches?from=x&to=y":                   "from and to must be dates",
		"?from=2026-01-02":                       "from and to must be dates",
		"?from=2026-01-02&to=2026-01-01":         "the earlier first",
		"feedback?from=2024-01-01&to=2026-01-01": "spanning at most 366 days",
		"searches?kind=all":                      "kind must be one of: no_result, weak, low_clicks, top",
		"unanswered?state=old":                   "state must be one of: new, done, dismissed",
		"unanswered?by=day":                      "by must be one of: question, meaning, page",
		"conversations?answered=maybe":           "answered must be one of: yes, partly, no, failed",
		"conversations?feedback=x":               "feedback must be one of",
		"feedback?rating=5":                      "rating must be one of: up, down",
	} {
		if body := get(t, s, path, http.StatusBadRequest); !strings.Contains(body, says) {
			t.Errorf("%s says:\n%s", path, body)
		}
	}
	get(t, s, "conversations/nope", http.StatusNotFound)
	get(t, s, "unanswered/question?group=nope", http.StatusNotFound)
	get(t, s, "conversations/rival-1", http.StatusNotFound)
	get(t, s, "searches?page=-5", http.StatusOK)
	get(t, s, "audit?before=x.y", http.StatusOK)
}

func TestPagesSayWhenNothingIsRecorded(t *testing.T) {
	off := new(twoOrganizations)
	for _, page := range []string{"unanswered", "unanswered/question?group=x", "searches", "conversations", "conversations/x", "feedback", "audit"} {
		if body := get(t, off, page, http.StatusNotFound); !strings.Contains(body, "insights off") {
			t.Errorf("%s:\n%s", page, body)
		}
	}
	if body := get(t, off, "", http.StatusOK); !strings.Contains(body, "Insights are off") {
		t.Errorf("the overview:\n%s", body)
	}
	get(t, off, "keys", http.StatusOK)

	lost := &twoOrganizations{storeErr: errors.New("dial tcp 10.0.0.7:5432: refused")}
	for _, page := range []string{"unanswered", "searches", "conversations", "conversations/x", "feedback", "audit"} {
		if body := get(t, lost, page, http.StatusServiceUnavailable); !strings.Contains(body, "is not responding") || strings.Contains(body, "10.0.0.7") {
			t.Errorf("%s:\n%s", page, body)
		}
	}
	if body := get(t, lost, "", http.StatusOK); !strings.Contains(body, "is not responding") || strings.Contains(body, "10.0.0.7") {
		t.Errorf("the overview:\n%s", body)
	}
	if body := get(t, lost, "keys", http.StatusOK); !strings.Contains(body, "of Acme") {
		t.Errorf("the keys:\n%s", body)
	}
	w := submit(t, newDashboard(lost), "/acme/acme-docs/keys/k0001/revoke", visitors["a member"], nil)
	if w.Code != http.StatusSeeOther || len(lost.revoked) != 1 {
		t.Errorf("a key can't be revoked: %d", w.Code)
	}
}

func TestConversationsAreReadAndErasedWithAnEntryInTheAudit(t *testing.T) {
	s := &twoOrganizations{store: recorded(t), answers: []Answer{{At: time.Now(), Question: unansweredQuestion, Text: "Ask the support."}}}
	if body := get(t, s, "conversations/acme-1", http.StatusOK); !strings.Contains(body, "Ask the support.") || !strings.Contains(body, "of acme") {
		t.Errorf("the transcript:\n%s", body)
	}
	get(t, s, "unanswered/question?"+url.Values{"group": {insights.Stems(unansweredQuestion)}}.Encode(), http.StatusOK)
	get(t, s, "conversations?format=csv", http.StatusOK)
	if w := submit(t, newDashboard(s), "/acme/acme-docs/conversations/acme-1/erase", visitors["a member"], nil); w.Code != http.StatusSeeOther || len(s.erased) != 1 {
		t.Errorf("%d, erased %v", w.Code, s.erased)
	}
	for path, form := range map[string]url.Values{
		"keys":              {"expires": {"7d"}},
		"keys/k0001/revoke": nil,
	} {
		if w := submit(t, newDashboard(s), "/acme/acme-docs/"+path, visitors["a member"], form); w.Code >= 400 {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	got := audited(t, s.store)
	for _, want := range []string{
		"mia conversation read acme-1;mia conversation read acme-1;mia conversations exported ;mia conversation erased acme-1;", "mia key created k", "mia key revoked k0001;",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in %s", want, got)
		}
	}

	broken := &twoOrganizations{store: recorded(t), answers: s.answers}
	broken.store.Present = func() error { return errors.New("disk full") } // nothing is written down
	for _, page := range []string{"conversations/acme-1", "conversations?format=json"} {
		if body := get(t, broken, page, http.StatusServiceUnavailable); strings.Contains(body, "Ask the support") {
			t.Errorf("%s is read without an entry", page)
		}
	}
	if w := submit(t, newDashboard(broken), "/acme/acme-docs/conversations/acme-1/erase", visitors["a member"], nil); w.Code != http.StatusServiceUnavailable || len(broken.erased) != 0 {
		t.Errorf("erased without an entry: %d %v", w.Code, broken.erased)
	}
}

// What readers of locked pages were answered is not for members who can't open
// them, nor what they were answered after that.
func TestAnswersFromLockedPagesAreForAdministrators(t *testing.T) {
	now := time.Now()
	s := &twoOrganizations{store: recorded(t), answers: []Answer{
		{At: now.Add(-2 * time.Minute), Question: "First?", Text: "A public answer."},
		{At: now.Add(-time.Minute), Question: "Second?", Text: "The secret plan.", Locked: true, Sources: []string{"https://acme.example/secret"}},
		{At: now, Question: unansweredQuestion, Text: "As I said, the plan is secret."},
	}}
	group := "unanswered/question?" + url.Values{"group": {insights.Stems(unansweredQuestion)}}.Encode()
	for name, sees := range map[string]bool{"a viewer": false, "a member": false, "an admin": true} {
		for _, page := range []string{"conversations/acme-1", group} {
			w := ask(t, newDashboard(s), http.MethodGet, "/acme/acme-docs/"+page, visitors[name])
			body := w.Body.String()
			if w.Code != http.StatusOK || strings.Contains(body, "plan is secret") != sees || strings.Contains(body, "The secret plan") && !sees || strings.Contains(body, "acme.example/secret") && !sees {
				t.Errorf("%s: %s is %d:\n%s", name, page, w.Code, body)
			}
		}
		w := ask(t, newDashboard(s), http.MethodGet, "/acme/acme-docs/conversations/acme-1", visitors[name])
		if !strings.Contains(w.Body.String(), "A public answer.") {
			t.Errorf("%s does not see the public answer", name)
		}
	}
}

// Marking a question or a vote leads back to the list with its filters, and
// only there.
func TestEntriesAreMarked(t *testing.T) {
	s := &twoOrganizations{store: recorded(t)}
	group := insights.Stems(unansweredQuestion)
	for name, c := range map[string]struct {
		path string
		form url.Values
		code int
		to   string
	}{
		"a question in the list":   {"unanswered/question", url.Values{"group": {group}, "state": {"done"}, "list": {"1"}, "back": {"days=7&state=new"}}, http.StatusSeeOther, "/acme/acme-docs/unanswered?days=7&did=" + url.QueryEscape(group) + "&state=new"},
		"a question on its page":   {"unanswered/question", url.Values{"group": {group}, "state": {"dismissed"}, "note": {"x"}}, http.StatusSeeOther, "/acme/acme-docs/unanswered/question?group=" + url.QueryEscape(group)},
		"an unknown question":      {"unanswered/question", url.Values{"group": {"nope"}, "state": {"done"}}, http.StatusNotFound, ""},
		"an unknown state":         {"unanswered/question", url.Values{"group": {group}, "state": {"old"}}, http.StatusBadRequest, ""},
		"a vote":                   {"feedback/1", url.Values{"state": {"done"}, "back": {"https://evil.example/?x=1"}}, http.StatusSeeOther, "/acme/acme-docs/feedback?https%3A%2F%2Fevil.example%2F%3Fx=1"},
		"a vote of rival":          {"feedback/2", url.Values{"state": {"done"}}, http.StatusNotFound, ""},
		"a vote that is no number": {"feedback/x", url.Values{"state": {"done"}}, http.StatusNotFound, ""},
	} {
		w := submit(t, newDashboard(s), "/acme/acme-docs/"+c.path, visitors["a member"], c.form)
		if w.Code != c.code || w.Header().Get("Location") != c.to {
			t.Errorf("%s: %d, leads to %q\n%s", name, w.Code, w.Header().Get("Location"), w.Body)
		}
	}
	submit(t, newDashboard(s), "/acme/acme-docs/unanswered/question", visitors["a member"], url.Values{"group": {group}, "state": {"dismissed"}})
	shown := get(t, s, "unanswered?did="+url.QueryEscape(group), http.StatusOK)
	if strings.Contains(shown, "Done: “") {
		t.Error("a question that was dismissed is said to be done")
	}
	submit(t, newDashboard(s), "/acme/acme-docs/unanswered/question", visitors["a member"], url.Values{"group": {group}, "state": {"done"}})
	if shown = get(t, s, "unanswered?did="+url.QueryEscape(group), http.StatusOK); !strings.Contains(shown, unansweredQuestion+"</bdi>”") || !strings.Contains(shown, ">Undo<") {
		t.Errorf("that it is done is not said:\n%s", shown)
	}
	if body := get(t, s, "feedback", http.StatusOK); strings.Contains(body, "of acme") {
		t.Error("a vote that is done is listed as new")
	}
	if body := get(t, s, "feedback?state=", http.StatusOK); !strings.Contains(body, "of acme") || strings.Contains(body, "of rival") {
		t.Errorf("every state:\n%s", body)
	}
}

func TestNumbers(t *testing.T) {
	half, third := .5, 1./3
	for name, c := range map[string]struct {
		got           number
		value, change string
		mood          string
	}{
		"a rate that fell":        {rate("", &third, &half, more, ""), "33 %", "-16.7 points", "worse"},
		"a rate that should fall": {rate("", &third, &half, less, ""), "33 %", "-16.7 points", "better"},
		"a rate without a base":   {rate("", nil, &half, more, ""), "", "", ""},
		"a rate without a before": {rate("", &half, nil, more, ""), "50 %", "no value before", ""},
		"a count":                 {total("", 1500, 1000, neither, ""), "1,500", "+50 %", ""},
		"a count from nothing":    {total("", 5, 0, more, ""), "5", "none before", ""},
		"nothing, as before":      {total("", 0, 0, more, ""), "0", "unchanged", ""},
		"few votes":               {satisfactionNumber(insights.Counts{Up: 9}, insights.Counts{}), "", "", ""},
		"votes":                   {satisfactionNumber(insights.Counts{Up: 9, Down: 1}, insights.Counts{Up: 1}), "90 %", "no value before", ""},
		"a mean that should fall": {decimal("", &half, &third, less, ""), "0.5", "+0.2", "worse"},
	} {
		if c.got.Value != c.value || c.got.Change != c.change || c.got.Mood != c.mood {
			t.Errorf("%s: %q, %q, %q", name, c.got.Value, c.got.Change, c.got.Mood)
		}
	}
	for n, want := range map[int64]int64{1: 1, 3: 3, 5: 6, 7: 8, 11: 12, 99: 100, 101: 120, 4300: 6000} {
		if got := roundUp(n); got != want {
			t.Errorf("the axis for %d ends at %d, want %d", n, got, want)
		}
	}
}

// A reader's address and key are masked until a member asks for them, which is
// written down.
func TestConversationsAreMasked(t *testing.T) {
	s := &twoOrganizations{store: recorded(t), answers: []Answer{{
		At: time.Now(), Question: "I am jane@mail.example, why?", Text: "Use sk-proj-Xy12Zw34Ab56Cd78Ef90, Jane.",
	}}}
	const secret, address = "sk-proj-Xy12Zw34Ab56Cd78Ef90", "jane@mail.example"
	body := get(t, s, "conversations/acme-1", http.StatusOK)
	if strings.Contains(body, secret) || strings.Contains(body, address) || !strings.Contains(body, "[email]") || !strings.Contains(body, "show=1") {
		t.Errorf("masked:\n%s", body)
	}
	if body = get(t, s, "conversations/acme-1?show=1", http.StatusOK); !strings.Contains(body, secret) || !strings.Contains(body, address) || strings.Contains(body, "show=1") {
		t.Errorf("shown:\n%s", body)
	}
	if body = get(t, s, "audit", http.StatusOK); !strings.Contains(body, "conversation shown unmasked") || !strings.Contains(body, "conversation read") {
		t.Errorf("the audit:\n%s", body)
	}
	d := newDashboard(s)
	if w := ask(t, d, http.MethodGet, "/acme/acme-docs/conversations/acme-1?show=1", visitors["a viewer"]); w.Code != http.StatusForbidden || strings.Contains(w.Body.String(), secret) {
		t.Errorf("a viewer gets %d\n%s", w.Code, w.Body)
	}
	if w := ask(t, d, http.MethodGet, "/acme/acme-docs/conversations/acme-1", visitors["a viewer"]); strings.Contains(w.Body.String(), "show=1") || strings.Contains(w.Body.String(), secret) {
		t.Errorf("a viewer sees\n%s", w.Body)
	}
}

// The period is any days, and is compared with as many before them.
func TestAnyDaysAreShownAndCompared(t *testing.T) {
	s := &twoOrganizations{store: recorded(t)}
	now := time.Now()
	var events []insights.Event
	for ago, searches := range map[int]int{40: 3, 41: 1} {
		for range searches {
			events = append(events, insights.Event{
				At: now.AddDate(0, 0, -ago), Scope: insights.Scope{Organization: "acme", Site: "acme-docs"}, Source: insights.API, Search: &insights.Search{Query: "old"},
			})
		}
	}
	if err := s.store.Append(t.Context(), "", events); err != nil {
		t.Fatal(err)
	}
	day := insights.DateOf(now.AddDate(0, 0, -40)).String()
	body := get(t, s, "?from="+day+"&to="+day, http.StatusOK)
	if !strings.Contains(body, `<p class="value">3</p>`) || !strings.Contains(body, "&#43;200 %") || !strings.Contains(body, "the day before") {
		t.Errorf("one day:\n%s", body)
	}
	if link := "searches?from=" + day + "&amp;kind=top&amp;to=" + day; !strings.Contains(body, link) {
		t.Errorf("the day is lost on the way to %s:\n%s", link, body)
	}
	body = get(t, s, "unanswered?from="+day+"&to="+day, http.StatusOK)
	if !strings.Contains(body, `name="from" value="`+day+`"`) || !strings.Contains(body, "None from "+day) || !strings.Contains(body, `class="steps"`) {
		t.Errorf("a list of one day:\n%s", body)
	}
}

// manySites is a server with many sites.
type manySites struct {
	twoOrganizations
	sites []Site
}

func (s *manySites) Sites() []Site { return slices.Clone(s.sites) }

// Without a model, "Answered 0 %" says nothing about the pages.
func TestTheNumbersSayThatNoModelAnswers(t *testing.T) {
	s := &manySites{twoOrganizations: twoOrganizations{store: recorded(t)}}
	for _, model := range []string{"", "a-model"} {
		s.sites = []Site{{Name: "acme-docs", Organization: "acme", Model: model}}
		for _, page := range []string{"/acme/acme-docs", "/acme/acme-docs/unanswered"} {
			w := ask(t, newDashboard(s), http.MethodGet, page, visitors["a member"])
			if got := strings.Contains(w.Body.String(), "No model writes answers"); w.Code != http.StatusOK || got != (model == "") {
				t.Errorf("%s with the model %q is %d:\n%s", page, model, w.Code, w.Body)
			}
		}
	}
}

// Of a thousand sites, the first page has those that need someone, and each
// visitor sees their own.
func TestTheFirstPageBeginsWithWhatNeedsSomeone(t *testing.T) {
	if testing.Short() {
		t.Skip("much work of one goroutine")
	}
	s := &manySites{twoOrganizations: twoOrganizations{store: recorded(t)}}
	var events []insights.Event
	for i := range 1000 {
		name := fmt.Sprintf("site-%03d", i)
		site := Site{Name: name, Organization: "acme", Title: "Title of " + name}
		if i == 700 {
			site.Problems = []Problem{{What: "It is broken."}}
		}
		s.sites = append(s.sites, site)
		for day := range 3 {
			events = append(events, insights.Event{
				At: time.Now().AddDate(0, 0, -20*day), Scope: insights.Scope{Organization: "acme", Site: name}, Source: insights.API,
				Reply: &insights.Reply{Thread: name, Message: name + fmt.Sprint(day), Outcome: "answered", Answered: map[bool]string{true: "no", false: "yes"}[i%500 == 499]},
			})
		}
	}
	s.sites = append(s.sites, Site{Name: "rival-docs", Organization: "rival"})
	if err := s.store.Append(t.Context(), "", events); err != nil {
		t.Fatal(err)
	}
	w := ask(t, newDashboard(s), http.MethodGet, "/", visitors["a member"])
	rows := regexp.MustCompile(`href="/acme/(site-\d+)"`).FindAllStringSubmatch(w.Body.String(), -1)
	if w.Code != http.StatusOK || len(rows) != 50 || rows[0][1] != "site-700" || rows[1][1] != "site-499" || rows[2][1] != "site-999" {
		t.Errorf("%d: %d rows, the first are %v", w.Code, len(rows), rows[:min(len(rows), 3)])
	}
	// Two of 30 days, one of the 30 days before; rival's are not counted.
	if !strings.Contains(w.Body.String(), `<p class="value">4</p>`) || !strings.Contains(w.Body.String(), "&#43;100 %") || strings.Contains(w.Body.String(), "rival") {
		t.Errorf("the numbers of all:\n%s", w.Body)
	}
	if w = ask(t, newDashboard(s), http.MethodGet, "/?page=20", visitors["a member"]); strings.Count(w.Body.String(), `href="/acme/site-`) != 50 {
		t.Errorf("the last page:\n%s", w.Body)
	}
	if w = ask(t, newDashboard(s), http.MethodGet, "/?page=21", visitors["a member"]); w.Code != http.StatusOK {
		t.Errorf("the page after the last is %d", w.Code)
	}
}

// The first page over a thousand sites with 90 days each.
func BenchmarkTheFirstPage(b *testing.B) {
	store, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "insights.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	s := &manySites{twoOrganizations: twoOrganizations{store: store}}
	for i := range 1000 {
		s.sites = append(s.sites, Site{Name: fmt.Sprint("site-", i), Organization: "acme"})
		var events []insights.Event
		for day := range 90 {
			for _, source := range []string{insights.Widget, insights.API} {
				events = append(events, insights.Event{
					At: time.Now().AddDate(0, 0, -day), Scope: insights.Scope{Organization: "acme", Site: fmt.Sprint("site-", i)}, Source: source, Search: &insights.Search{Query: "x"},
				})
			}
		}
		if err := store.Append(b.Context(), "", events); err != nil {
			b.Fatal(err)
		}
	}
	d := newDashboard(s)
	for b.Loop() {
		w := httptest.NewRecorder()
		d.Serve(w, httptest.NewRequest(http.MethodGet, "/", nil), "", &Visitor{Name: "ada", Admin: true})
		if w.Code != http.StatusOK {
			b.Fatal(w.Code)
		}
	}
}

// thousandSites has many sites.
type thousandSites struct{ *twoOrganizations }

func (thousandSites) Sites() (sites []Site) {
	for i := range 1000 {
		sites = append(sites, Site{Name: fmt.Sprintf("site-%d", i), Organization: "acme", Index: retrieval.Status{Ready: true, Pages: 20}})
	}
	return sites
}

// The target is 200 ms, with 60 days of each site in the store.
func BenchmarkTheFirstPageOfAThousandSites(b *testing.B) {
	s, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "insights.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	for i := range 1000 {
		var events []insights.Event
		for day := range 60 {
			events = append(events, insights.Event{
				At: time.Now().AddDate(0, 0, -day), Scope: insights.Scope{Organization: "acme", Site: fmt.Sprintf("site-%d", i)}, Source: insights.Widget,
				Search: &insights.Search{Query: "install"},
			})
		}
		if err := s.Append(b.Context(), "", events); err != nil {
			b.Fatal(err)
		}
	}
	d := newDashboard(thousandSites{&twoOrganizations{store: s}})
	var took []time.Duration
	for b.Loop() {
		w, began := httptest.NewRecorder(), time.Now()
		if d.Serve(w, httptest.NewRequest(http.MethodGet, "/", nil), "", visitors["an admin"]); w.Code != http.StatusOK {
			b.Fatal(w.Code)
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "p95-ms")
}
