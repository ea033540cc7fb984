package dashboard

import (
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/caddy-docs/caddy-docs/insights"
)

const editOnGitHub = "https://github.com/acme/docs/edit/main/docs/{source}"

func TestPagesAreEditedWhereEditURLSays(t *testing.T) {
	page := Page{Name: "guide/a b", File: "guide/a b.md"}
	for name, c := range map[string]struct {
		url  string
		page Page
		want string
	}{
		"the file":                {editOnGitHub, page, "https://github.com/acme/docs/edit/main/docs/guide/a%20b.md"},
		"the path":                {"https://git.acme.com/docs/-/edit/main/{page}.mdx", page, "https://git.acme.com/docs/-/edit/main/guide/a%20b.mdx"},
		"the front page":          {"https://git.acme.com/docs/-/edit/main/{page}.md", Page{File: "index.html"}, "https://git.acme.com/docs/-/edit/main/index.md"},
		"a page of a sitemap":     {editOnGitHub, Page{Name: "a", File: "https://acme.com/a"}, ""},
		"a page without its file": {editOnGitHub, Page{Name: "a"}, ""},
		"no edit_url":             {"", page, ""},
	} {
		if got := (&Site{EditURL: c.url}).edit(&c.page); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestIssuesAreFilledIn(t *testing.T) {
	answer := strings.Repeat("界", 5000)
	questions := slices.Repeat([]string{"Ping @octocat\n\n# " + answer}, 20)
	for at, want := range map[string]struct{ form, title, body string }{
		editOnGitHub: {"https://github.com/acme/docs/issues/new", "title", "body"},
		"https://gitlab.com/acme/group/docs/-/edit/main/{page}.md": {"https://gitlab.com/acme/group/docs/-/issues/new", "issue[title]", "issue[description]"},
		"https://codeberg.org/acme/docs/_edit/main/{source}":       {"https://codeberg.org/acme/docs/issues/new", "title", "body"},
		"https://bitbucket.org/acme/docs/src/main/{source}":        {},
		"https://acme.com/{source}":                                {},
		"":                                                         {},
	} {
		got := (&Site{URL: "https://acme.com", EditURL: at}).issue(questions, 3, []string{"gone", "guide/a b"}, map[string]string{"guide/a b": "https://acme.com/guide/a%20b.html"}, "Ask\r@octocat\n# or\n\n@mona "+answer)
		if len(got) > 8000 {
			t.Errorf("%s: an address of %d bytes", at, len(got))
		}
		u, err := url.Parse(got)
		if err != nil {
			t.Fatal(err)
		}
		values := u.Query()
		u.RawQuery = ""
		if u.String() != want.form {
			t.Errorf("%s: the form is at %q, want %q", at, u, want.form)
		}
		if want.form == "" {
			continue
		}
		body := values.Get(want.body)
		if !strings.HasPrefix(values.Get(want.title), "Docs: Ping @octocat # 界") || strings.Contains(values.Get(want.title), "\n") {
			t.Errorf("%s: the title is %q", at, values.Get(want.title))
		}
		if !strings.Contains(body, "\n    Ping @octocat # 界") || strings.Contains(body, "\n# ") || !strings.Contains(body, "pages:\n\n- https://acme.com/guide/a%20b.html\n") || !strings.Contains(body, "answer:\n\n    Ask\n    @octocat\n    # or\n    \n    @mona 界") {
			t.Errorf("%s: the text is %.300q", at, body)
		}
	}
}

// A question's page leads to the editor of the nearest page, and to an issue.
func TestAQuestionLeadsToItsPageAndToAnIssue(t *testing.T) {
	s := &twoOrganizations{store: recorded(t), url: "https://acme.com", pages: []Page{{Name: "guide/acme", URL: "https://acme.com/guide/acme", File: "guide/acme.md"}}}
	s.answers = []Answer{{At: time.Now(), Question: unansweredQuestion, Text: "Ask the sales team."}}
	path := "unanswered/question?group=" + url.QueryEscape(insights.Stems(unansweredQuestion))
	if body := get(t, s, path, http.StatusOK); strings.Contains(body, ">Edit<") || strings.Contains(body, ">Create issue<") || !strings.Contains(body, "<code>edit_url</code>") {
		t.Errorf("without edit_url:\n%s", body)
	}
	s.editURL = editOnGitHub
	body := get(t, s, path, http.StatusOK)
	if !strings.Contains(body, `href="https://github.com/acme/docs/edit/main/docs/guide/acme.md"`) {
		t.Errorf("the page can't be edited:\n%s", body)
	}
	found := regexp.MustCompile(`href="([^"]*)"[^>]*>Create issue<`).FindStringSubmatch(body)
	if found == nil {
		t.Fatalf("no issue:\n%s", body)
	}
	u, err := url.Parse(html.UnescapeString(found[1]))
	if err != nil {
		t.Fatal(err)
	}
	issue := u.Query().Get("body")
	for _, want := range []string{"1 time", unansweredQuestion, "https://acme.com/guide/acme", "    Ask the sales team."} {
		if !strings.Contains(issue, want) {
			t.Errorf("the issue lacks %q:\n%s", want, issue)
		}
	}
	s.answers[0].Locked = true
	if body := get(t, s, path, http.StatusOK); strings.Contains(body, "sales") {
		t.Error("an answer from locked pages is in an issue")
	}
	if body := get(t, s, "content", http.StatusOK); !strings.Contains(body, "docs/guide/acme.md") {
		t.Errorf("the list of pages has no links to edit them:\n%s", body)
	}
}

func TestQuestionsAreGroupedByMeaning(t *testing.T) {
	s := &twoOrganizations{store: recorded(t)}
	var events []insights.Event
	vectors := map[string][]float32{unansweredQuestion: {1, 0, 0, 0}}
	ask := func(question string, times int, vector ...float32) {
		vectors[question] = vector
		for i := range times {
			id := fmt.Sprint(question, i)
			events = append(events, insights.Event{
				At: time.Now(), Scope: insights.Scope{Organization: "acme", Site: "acme-docs"}, Source: insights.Widget,
				Reply: &insights.Reply{Thread: id, Message: id, Question: question, Outcome: "answered", Answered: "no", Nearest: "guide/proxy"},
			})
			if !(insights.Privacy{}).Clean(&events[len(events)-1]) {
				t.Fatal("not stored")
			}
		}
	}
	ask("Can requests pass through an upstream?", 2, .9, .1, 0, 0)
	ask("Forwarding to backends", 3, .95, 0, .1, 0)
	ask("What does it cost?", 4, 0, 1, 0, 0)
	ask("Is there a dark theme?", 1, 0, 0, 1, 0)
	ask("Who wrote this?", 1, 0, 0, 0, 1)
	if err := s.store.Append(t.Context(), "", events); err != nil {
		t.Fatal(err)
	}
	if body := get(t, s, "unanswered", http.StatusOK); strings.Contains(body, "By meaning") {
		t.Error("without an embedder, there is a list by meaning")
	}
	if body := get(t, s, "unanswered?by=meaning", http.StatusNotFound); !strings.Contains(body, "This site has no embedder") {
		t.Errorf("without an embedder, by meaning: %s", body)
	}
	s.vectors, s.editURL, s.embedded = vectors, editOnGitHub, nil
	d := newDashboard(s)
	for range 2 {
		w := submitGet(t, d, "/acme/acme-docs/unanswered?by=meaning&format=json")
		var rows []struct {
			Question  string
			Asked     int
			Questions []string
			Pages     []string
		}
		if err := json.Unmarshal(w, &rows); err != nil {
			t.Fatalf("%v: %s", err, w)
		}
		if len(rows) != 4 || rows[0].Question != "Forwarding to backends" || rows[0].Asked != 6 || len(rows[0].Questions) != 3 || len(rows[0].Pages) != 2 || rows[1].Asked != 4 {
			t.Errorf("grouped as %+v", rows)
		}
	}
	if len(s.embedded) != 1 || len(s.embedded[0]) != 6 {
		t.Errorf("questions were embedded as %q", s.embedded)
	}
	if body := string(submitGet(t, d, "/acme/acme-docs/unanswered?by=meaning")); strings.Count(body, ">Create issue<") != 4 || !strings.Contains(body, "Who wrote this?") {
		t.Errorf("the list:\n%s", body)
	}
}

func submitGet(t *testing.T, d *Dashboard, path string) []byte {
	t.Helper()
	w := ask(t, d, http.MethodGet, path, visitors["a member"])
	if w.Code != http.StatusOK {
		t.Fatalf("%s is %d: %s", path, w.Code, w.Body)
	}
	return w.Body.Bytes()
}
