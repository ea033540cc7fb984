package site

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"github.com/caddy-docs/caddy-docs/caddytest"
	"github.com/caddy-docs/caddy-docs/caddytest/modelserver"
	"github.com/caddy-docs/caddy-docs/insights"
	"github.com/caddy-docs/caddy-docs/retrieval"
)

// twoSites are sites at separate hosts, with lines in the block of the first,
// and a block with the API of the group acme.
func twoSites(docs, blog, lines string) string {
	return fmt.Sprintf(`http://docs.acme.test:0 {
	root * %q
	docs docs {
		url http://docs.acme.test
		name "Acme Docs"
	}
	%s
	file_server
}
http://blog.acme.test:0 {
	root * %q
	docs blog {
		url http://blog.acme.test
	}
	file_server
}
http://localhost:0 {
	search acme docs blog
	assistant acme docs blog
	docs_mcp acme
	docs_llms acme
}
`, docs, lines, blog)
}

// acmeGroup has both sites, and a key that opens the group alone.
const acmeGroup = "group acme {\nsites docs blog\n}\nkey " + caddytest.Key + " {\nsites acme\n}\n"

var (
	docsPages = map[string]string{
		"index.html":         "<!doctype html><html lang=en><title>Docs</title><main><h1>Docs</h1><p>The manual of the rocket, page by page.</p></main></html>",
		"guide/fuel.html":    "<!doctype html><html lang=en><title>Fuel</title><main><h1>Fuel</h1><p>Fill the tank with kerosene before each launch of the rocket.</p></main></html>",
		"staff/payload.html": "<!doctype html><html lang=en><title>Payload</title><main><h1>Payload</h1><p>The zirconium payload is known to the staff alone, and to nobody else.</p></main></html>",
	}
	blogPages = map[string]string{
		"index.html":  "<!doctype html><html lang=en><title>Blog</title><main><h1>Blog</h1><p>News of the rocket, week by week.</p></main></html>",
		"launch.html": "<!doctype html><html lang=en><title>Our first launch</title><main><h1>Our first launch</h1><p>We burned kerosene for nine minutes, and it worked.</p></main></html>",
	}
)

// groupFinds returns the paths of the results of a search of the group, in order.
func groupFinds(s *caddytest.Server, query string) string {
	var all []string
	for _, r := range s.Search("acme", fmt.Sprintf("{\"query\":%q}", query)) {
		all = append(all, r.Path)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func TestAGroupIsSearchedAsOneSite(t *testing.T) {
	docs, blog := caddytest.Folder(t, docsPages), caddytest.Folder(t, blogPages)
	s := caddytest.Start(t, acmeGroup, twoSites(docs, blog, ""))
	groupReady(t, s)
	for _, r := range s.Search("acme", `{"query":"fuel"}`) {
		if r.Path == "docs/guide/fuel" && (r.Metadata.URL != "http://docs.acme.test/guide/fuel.html" || r.Metadata.Site != "docs" || r.Metadata.Breadcrumbs[0] != "Acme Docs") {
			t.Errorf("got %+v", r)
		}
	}
	if got := s.Search("acme", `{"query":"kerosene","filter":{"site":"Blog"}}`); len(got) != 1 || got[0].Metadata.Site != "blog" {
		t.Errorf("filtered by site: got %+v", got)
	}
	if r := s.Do(caddytest.Request{Path: "/v1/search/docs", Body: `{"query":"x"}`}); r.Status != 403 {
		t.Errorf("the key of the group opens a site: %d %s", r.Status, r.Body)
	}
}

// The assistant of a group links to the pages of its sites, reads them by their
// URLs, and knows which of them the reader is on.
func TestTheAssistantOfAGroupLinksToPagesOfItsSites(t *testing.T) {
	blog := maps.Clone(blogPages)
	blog["crew.html"] = "<!doctype html><html lang=en><title>Crew</title><main><h1>Crew</h1><p>Two walruses.</p></main></html>"
	m, url := caddytest.StartModel(t)
	m.Answer(func(r *modelserver.Request) modelserver.Reply {
		switch {
		case len(r.Tools) > 0 && r.Text("tool") == "":
			return modelserver.Reply{ToolCalls: []modelserver.ToolCall{modelserver.Call("a", "read_page", `{"page":"http://blog.acme.test/crew.html"}`)}}
		case strings.Contains(r.Text("tool"), "walruses"):
			return modelserver.Reply{Text: "With kerosene ([Fuel](http://docs.acme.test/guide/fuel)), says [the crew](http://blog.acme.test/crew) in [our launch](/launch), see [here](fuel), " +
				"not [payload](http://docs.acme.test/staff/payload.html), [none](http://docs.acme.test/none), [other](http://other.test/crew.html)."}
		}
		return modelserver.Reply{Text: "The page was not read."}
	})
	for model, text := range map[string]string{
		"": "(http://docs.acme.test/guide/fuel.html)",
		caddytest.LLM(url, "scripted", ""): "With kerosene ([Fuel](http://docs.acme.test/guide/fuel.html)), says [the crew](http://blog.acme.test/crew.html) in our launch, see [here](http://docs.acme.test/guide/fuel.html), " +
			"not payload, none, other.",
	} {
		s := caddytest.Start(t, acmeGroup+model, twoSites(caddytest.Folder(t, docsPages), caddytest.Folder(t, blog), "respond /staff/* 403"))
		groupReady(t, s)
		got := s.Ask(t, 2, "What fills the tank before each launch?", map[string]any{"currentPath": "http://docs.acme.test/guide/fuel.html"})
		if cited, _ := got.Metadata["cited"].([]any); !strings.Contains(got.Text, text) || len(cited) == 0 || model != "" && got.Metadata["answered"] != "yes" {
			t.Errorf("%q %v, want %q", got.Text, got.Metadata, text)
		}
	}
}

// groupReady waits until the pages of both sites are in the group.
func groupReady(t *testing.T, s *caddytest.Server) {
	t.Helper()
	s.Ready("acme")
	caddytest.Until(t, "both sites are in the group", func() bool { return groupFinds(s, "kerosene") == "blog/launch docs/guide/fuel" })
}

func TestTheLocksOfASiteHoldInItsGroup(t *testing.T) {
	docs, blog := caddytest.Folder(t, docsPages), caddytest.Folder(t, blogPages)
	hash, err := bcrypt.GenerateFromPassword([]byte("secret"), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	s := caddytest.Start(t, acmeGroup, twoSites(docs, blog, "basic_auth /staff/* {\n\t\treader "+string(hash)+"\n\t}\n\t@bad header X-Bad yes\n\trespond @bad 403"))
	groupReady(t, s)
	staff := http.Request{Header: http.Header{}}
	staff.SetBasicAuth("reader", "secret")
	// ask asks the group as a reader.
	ask := func(path, body string, header map[string]string) *caddytest.Response {
		header["X-API-Key"], header["Content-Type"] = caddytest.Key, "application/json"
		return s.Do(caddytest.Request{Path: path, Key: "-", Body: body, Header: header})
	}
	for name, header := range map[string]map[string]string{"a stranger": {}, "the staff": {"Authorization": staff.Header.Get("Authorization")}} {
		opens := name == "the staff"
		for _, c := range [][2]string{
			{"/v1/search/acme", `{"query":"zirconium payload"}`},
			{"/v1/page/acme", `{"path":"docs/staff/payload"}`},
			{"/v1/page/acme", `{"path":"http://docs.acme.test/staff/payload.html"}`},
			{"/v1/mcp/acme", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","arguments":{"query":"zirconium payload"}}}`},
			{"/v1/assistant/acme/message", `{"fp":"x","messages":[{"role":"user","content":"What is the zirconium payload known to?"}]}`},
		} {
			if r := ask(c[0], c[1], header); strings.Contains(string(r.Body), "nobody else") != opens {
				t.Errorf("%s asks %s %s: %d %s", name, c[0], c[1], r.Status, r.Body)
			}
		}
	}
	for _, path := range []string{"/v1/page/acme"} {
		locked, missing := ask(path, `{"path":"docs/staff/payload"}`, map[string]string{}), ask(path, `{"path":"docs/staff/nothing"}`, map[string]string{})
		if locked.Status != missing.Status || locked.Error(t).Error != missing.Error(t).Error {
			t.Errorf("a locked page differs from one that is missing: %s, %s", locked.Body, missing.Body)
		}
	}
	if r := ask("/v1/search/acme", `{"query":"kerosene"}`, map[string]string{"X-Bad": "yes"}); r.Status != http.StatusForbidden {
		t.Errorf("a client whom a site refuses its pages gets results of the group: %d %s", r.Status, r.Body)
	}
	if r := s.Do(caddytest.Request{Method: http.MethodGet, Path: "/llms-full.txt"}); r.Status != 200 || strings.Contains(string(r.Body), "zirconium") || !strings.Contains(string(r.Body), "nine minutes") {
		t.Errorf("llms-full.txt: %d %s", r.Status, r.Body)
	}
	// The lock of a page that was public holds in the group at once.
	s.Load(acmeGroup, twoSites(docs, blog, "basic_auth {\n\t\treader "+string(hash)+"\n\t}"))
	caddytest.Until(t, "the pages of the site are asked for again", func() bool { return caddytest.App(t).Site("docs").Reach.View().Complete })
	if got := groupFinds(s, "kerosene"); got != "blog/launch" {
		t.Errorf("got %s", got)
	}
}

func TestAGroupFollowsItsSites(t *testing.T) {
	docs, blog := caddytest.Folder(t, docsPages), caddytest.Folder(t, blogPages)
	s := caddytest.Start(t, acmeGroup, twoSites(docs, blog, ""))
	groupReady(t, s)
	status := func() retrieval.Status { return caddytest.App(t).Site("acme").Index.Refresher.Status() }

	caddytest.Write(t, blog, map[string]string{"landing.html": "<!doctype html><html lang=en><title>Landing</title><main><h1>Landing</h1><p>It came down in the tundra.</p></main></html>"})
	caddytest.Until(t, "the new page is found", func() bool { return groupFinds(s, "tundra") == "blog/landing" })
	caddytest.Until(t, "the update is reported, which follows its pages", func() bool { return status().Last.Added == 1 })
	if last := status().Last; last.Added != 1 || last.Read != 1 {
		t.Errorf("for one new page, the group has read %d: %+v", last.Read, last)
	}
	if err := os.Remove(filepath.Join(blog, "landing.html")); err != nil {
		t.Fatal(err)
	}
	caddytest.Until(t, "it is gone", func() bool { return groupFinds(s, "tundra") == "" })

	s.Load(strings.Replace(acmeGroup, "sites docs blog", "sites b*", 1), twoSites(docs, blog, ""))
	caddytest.Until(t, "a site that the group no longer has is gone", func() bool { return groupFinds(s, "kerosene") == "blog/launch" })
	s.Load(acmeGroup, twoSites(docs, blog, ""))
	groupReady(t, s)
}

func TestAGroupAnswersWithoutASiteThatCantBeRead(t *testing.T) {
	blog := caddytest.Folder(t, blogPages)
	docs := filepath.Join(blog, "none")
	s := caddytest.Start(t, acmeGroup, twoSites(docs, blog, ""))
	s.Ready("acme")
	if got := groupFinds(s, "kerosene"); got != "blog/launch" {
		t.Errorf("got %s", got)
	}
	if p := caddytest.App(t).Site("acme").Index.Refresher.Status().Problems; len(p) != 1 || p[0].File != "docs" || !strings.Contains(p[0].Do, "create the folder") {
		t.Errorf("the status of the group has the problems %+v", p)
	}
	checked := fmt.Sprintf("%+v", caddytest.App(t).Doctor(t.Context()))
	if !strings.Contains(checked, "{What:site acme docs OK:false Found:the site has no pages yet Do:create the folder ") || strings.Contains(checked, "fix the page") {
		t.Errorf("doctor says %s", checked)
	}
	caddytest.Write(t, docs, docsPages)
	groupReady(t, s)
}

func TestGroupsThatCantBe(t *testing.T) {
	root := caddytest.AcmeFolder(t)
	for _, c := range []struct{ docs, want string }{
		{"group all {\nsites acme none\n}", "group all: there is no site none; the defined sites are: acme"},
		{"group all {\nsites x-*\n}", "group all: there is no site x-*; the defined sites are: acme"},
		{"group all {\norganization other\n}", "group all: no site has organization other; the defined sites are: acme"},
		{"group all {\nsites acme\n}\ngroup more {\nsites all\n}", "group more: all is itself a group; a group can only contain sites"},
		{"group acme {\nsites acme\n}", "site acme is defined twice"},
		{"group all", "group all has no sites: write sites <site>..."},
		{"group all {\nsites acme acme\n}", "acme is named twice"},
		{"group all {\nsites acme\nroot /srv\n}", "root is a word of"},
		{"group all {\nsites acme\n}\ngroup all {\nsites acme\n}", "all is the name of a site or group already"},
	} {
		s := caddytest.New(t)
		if err := s.TryLoad(caddytest.Global(s.Dir, c.docs+"\nkey "+caddytest.Key+" {\norganization acme\n}") + caddytest.Site(root)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.docs, err, c.want)
		}
	}
}

func TestAGroupHasWhatASiteHas(t *testing.T) {
	docs, blog, jsonl := caddytest.Folder(t, docsPages), caddytest.Folder(t, blogPages), filepath.Join(t.TempDir(), "events")
	notice := "<!doctype html><html lang=en><title>Notice</title><main><h1>Notice</h1><p>" + strings.Repeat("The xylophone of the control room is played at each countdown, and never after it. ", 5) + "</p></main></html>"
	caddytest.Write(t, docs, map[string]string{"notice.html": notice})
	caddytest.Write(t, blog, map[string]string{"notice.html": notice})
	s := caddytest.Start(t, acmeGroup+"insights {\njsonl "+jsonl+"\n}", strings.Replace(twoSites(docs, blog, ""), "\tdocs_mcp acme", "\tdocs_widget acme docs\n\tdocs_mcp acme", 1))
	groupReady(t, s)
	if got := groupFinds(s, "xylophone"); got != "docs/notice" && got != "blog/notice" {
		t.Errorf("a page of both sites is found as %q", got)
	}
	get := func(path string) *caddytest.Response {
		return s.Do(caddytest.Request{Method: http.MethodGet, Path: path, Key: "-"})
	}
	if r := get("/v1/widget/acme.js"); r.Status != http.StatusOK {
		t.Errorf("the widget: %d", r.Status)
	}
	if r := get("/v1/ask/acme?q=kerosene"); r.Status != http.StatusOK || !strings.Contains(string(r.Body), `href="http://blog.acme.test/launch.html"`) {
		t.Errorf("the page without JavaScript: %d %s", r.Status, r.Body)
	}
	if r := get("/llms.txt"); r.Status != http.StatusOK || !strings.Contains(string(r.Body), "## Acme Docs") || !strings.Contains(string(r.Body), "http://docs.acme.test/guide/fuel.html.md") {
		t.Errorf("llms.txt: %d %s", r.Status, r.Body)
	}
	mcp := s.Do(caddytest.Request{Path: "/v1/mcp/acme", Key: "-", Body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"fetch","arguments":{"id":"http://blog.acme.test/launch.html"}}}`})
	if !strings.Contains(string(mcp.Body), "nine minutes") {
		t.Errorf("MCP: %s", mcp.Body)
	}

	origin := map[string]string{"Origin": s.Base}
	ask := func(site, token string) int {
		return s.Do(caddytest.Request{Path: "/v1/search/" + site, Key: token, Body: `{"query":"kerosene"}`, Header: origin}).Status
	}
	for own, other := range map[string]string{"acme": "docs", "docs": "acme"} {
		token, _ := requestToken(t, s, own, s.Base)
		if opens, not := ask(own, token), ask(other, token); opens != http.StatusOK || not != http.StatusUnauthorized {
			t.Errorf("a token for %s: %d, for %s: %d", own, opens, other, not)
		}
	}
	caddytest.Until(t, "the search is recorded for the group", func() bool {
		events, _ := os.ReadFile(jsonl)
		return strings.Contains(string(events), `"site":"acme"`) && strings.Contains(string(events), "xylophone")
	})
}

// A search of a group counts for the site of its first result, too, a click and
// a vote for the page's site, and the sites have no more of it.
func TestWhatIsDoneInAGroupCountsForItsSites(t *testing.T) {
	docs, blog, jsonl := caddytest.Folder(t, docsPages), caddytest.Folder(t, blogPages), filepath.Join(t.TempDir(), "events")
	s := caddytest.Start(t, acmeGroup+"insights {\njsonl "+jsonl+"\n}", strings.Replace(twoSites(docs, blog, ""), "\tdocs_mcp acme", "\tdocs_widget acme\n\tdocs_mcp acme", 1))
	groupReady(t, s)
	token, _ := requestToken(t, s, "acme", s.Base)
	for _, r := range []struct{ path, key, body string }{
		{"/v1/search/acme", "", `{"query":"nine minutes kerosene"}`},
		{"/v1/search/acme", token, `{"query":"fill the tank"}`},
		{"/v1/events/acme", token, `{"type":"search","query":"fill the tank","hits":1}`},
		{"/v1/events/acme", token, `{"type":"click","query":"fill the tank","path":"docs/guide/fuel","position":1}`},
		{"/v1/events/acme", token, `{"type":"click","query":"news","path":"blog#blog","position":2}`},
		{"/v1/events/acme", token, `{"type":"click","query":"news","path":"elsewhere/launch","position":1}`},
		{"/v1/feedback/acme", token, `{"path":"blog/launch","rating":"up"}`},
		{"/v1/feedback/acme", token, `{"path":"/docs/?x=1","rating":"down"}`},
		{"/v1/mcp/acme", "-", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","arguments":{"query":"week by week"}}}`},
		{"/v1/search/acme", "", `{"query":"qwertyuiop"}`},
		{"/v1/assistant/acme/message", "", `{"fp":"x","messages":[{"role":"user","content":"How long did kerosene burn?"}]}`},
	} {
		if got := s.Do(caddytest.Request{Path: r.path, Key: r.key, Body: r.body, Header: map[string]string{"Origin": s.Base}}); got.Status >= 300 {
			t.Fatalf("%s: %d %s", r.body, got.Status, got.Body)
		}
	}
	// of returns what was recorded for a site, a line for each event.
	of := func(site string) string {
		var all []string
		events, _ := os.ReadFile(jsonl) // it comes with the first event
		for line := range strings.Lines(string(events)) {
			var e struct {
				Kind string
				insights.Event
			}
			if json.Unmarshal([]byte(line), &e) != nil {
				return "" // it is being written
			}
			if e.Site != site || e.Search != nil && (e.Search.Query == "kerosene" || e.Search.Query == "x") { // of groupReady
				continue
			}
			what := e.Kind + " " + e.Source
			switch {
			case e.Search != nil:
				what += fmt.Sprintf(" %q %d %t", e.Search.Query, e.Search.Hits, e.Search.Tracked)
			case e.Click != nil:
				what += fmt.Sprintf(" %q %s", e.Click.Query, e.Click.Path)
			case e.Vote != nil:
				what += " " + e.Vote.Path
			}
			if e.Source == insights.Group && (e.Key != "" || e.Organization != site) {
				t.Errorf("of the group: %s", line)
			}
			all = append(all, what)
		}
		slices.Sort(all)
		return strings.Join(all, "\n")
	}
	caddytest.Until(t, "all is recorded", func() bool { return strings.Contains(of("acme"), "reply") })
	for site, want := range map[string]string{
		"docs": `click group "fill the tank" guide/fuel
search group "fill the tank" 1 false
vote group `,
		"blog": `click group "news" 
search group "nine minutes kerosene" 1 false
search group "week by week" 1 false
vote group launch`,
		"acme": `click widget "fill the tank" docs/guide/fuel
click widget "news" blog
click widget "news" elsewhere/launch
reply api
search api "nine minutes kerosene" 2 false
search api "qwertyuiop" 0 false
search mcp "week by week" 1 false
search widget "fill the tank" 1 true
vote widget blog/launch
vote widget docs`,
	} {
		if got := of(site); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", site, got, want)
		}
	}

	// What is erased in the group is erased in its sites.
	api := caddytest.App(t)
	store, done, err := api.Recorded().Store(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	searched := func() (in []string) {
		for _, site := range []string{"acme", "docs"} {
			top, err := store.Searches(t.Context(), insights.Scope{Organization: site, Site: site}, insights.Query{Period: insights.LastDays(1, time.Now()), Kind: insights.TopSearches})
			if err != nil {
				t.Fatal(err)
			}
			if slices.ContainsFunc(top, func(q insights.QueryStats) bool { return q.Query == "fill the tank" }) {
				in = append(in, site)
			}
		}
		return in
	}
	caddytest.Until(t, "the searches are stored", func() bool { return slices.Equal(searched(), []string{"acme", "docs"}) })
	votes, err := store.FeedbackPages(t.Context(), insights.Scope{Organization: "docs", Site: "docs"}, insights.Query{Period: insights.LastDays(1, time.Now())})
	if err != nil || !slices.Equal(votes, []insights.PageVotes{{Path: "/", Down: 1}}) {
		t.Errorf("votes for the first page: %v, %v", votes, err)
	}
	if _, err := api.Erase(t.Context(), "acme", insights.Erasure{Text: "the tank"}); err != nil || len(searched()) > 0 {
		t.Errorf("erased, %v, it is still in %v", err, searched())
	}
}

// Nobody learns from the insights of a site what readers of another one's locked
// pages type.
func TestAQueryThatFindsAnotherSiteForSomeReadersCountsForNone(t *testing.T) {
	docs, blog, jsonl := caddytest.Folder(t, docsPages), caddytest.Folder(t, blogPages), filepath.Join(t.TempDir(), "events")
	hash, err := bcrypt.GenerateFromPassword([]byte("secret"), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	s := caddytest.Start(t, acmeGroup+"insights {\njsonl "+jsonl+"\n}", strings.Replace(twoSites(docs, blog, "basic_auth /staff/* {\n\t\treader "+string(hash)+"\n\t}"), "\tdocs_mcp acme", "\tdocs_widget acme\n\tdocs_mcp acme", 1))
	groupReady(t, s)
	token, _ := requestToken(t, s, "acme", s.Base)
	staff := http.Request{Header: http.Header{}}
	staff.SetBasicAuth("reader", "secret")
	typed := func(query string, readers ...string) (first []string) {
		for _, login := range readers {
			header := map[string]string{"Origin": s.Base, "X-API-Key": token}
			if login != "" {
				header["Authorization"] = login
			}
			r := s.Do(caddytest.Request{Path: "/v1/search/acme", Key: "-", Body: fmt.Sprintf("{\"query\":%q}", query), Header: header})
			var found []caddytest.Result
			if err := json.Unmarshal(r.Body, &found); err != nil || len(found) == 0 {
				t.Fatalf("%q: %d %s", query, r.Status, r.Body)
			}
			first = append(first, found[0].Path)
		}
		if r := s.Do(caddytest.Request{Path: "/v1/events/acme", Key: token, Body: fmt.Sprintf("{\"type\":\"search\",\"query\":%q,\"hits\":1}", query), Header: map[string]string{"Origin": s.Base}}); r.Status != http.StatusNoContent {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		return first
	}
	login := staff.Header.Get("Authorization")
	if first := typed("payload week", login, "", login); first[0] != "docs/staff/payload" || !strings.HasPrefix(first[1], "blog") {
		t.Fatalf("found %q", first)
	}
	typed("launch news", "", login)
	var all string
	caddytest.Until(t, "both are recorded", func() bool {
		events, _ := os.ReadFile(jsonl)
		all = string(events)
		return strings.Count(all, "launch news") == 2 // for the group, and for the blog
	})
	if strings.Count(all, "payload week") != 1 {
		t.Errorf("recorded: %s", all)
	}
}

func TestAGroupHasSitesOfFoldersThatComeLater(t *testing.T) {
	parent := caddytest.Folder(t, map[string]string{"a-one/index.html": folderPage("one", "spanner"), "b-two/index.html": folderPage("two", "hammer")})
	s := caddytest.Start(t, "sites "+parent+"/* {\nurl http://{site}.docs.test\n}\ngroup acme {\nsites a-*\n}\nkey "+caddytest.Key+" {\nsites acme\n}",
		"http://*.docs.test:0 {\n\troot * "+parent+"/{labels.2}\n\tdocs\n\tfile_server\n}\nhttp://localhost:0 {\n\tsearch acme\n}\n")
	s.Ready("acme")
	found := func(want string) func() bool { return func() bool { return groupFinds(s, "install") == want } }
	caddytest.Until(t, "the site is found", found("a-one"))
	caddytest.Write(t, parent, map[string]string{"a-new/index.html": folderPage("new", "saw")})
	caddytest.Until(t, "the new site is found", found("a-new a-one"))
	if err := os.RemoveAll(filepath.Join(parent, "a-one")); err != nil {
		t.Fatal(err)
	}
	caddytest.Until(t, "the other is gone", found("a-new"))
}
