package manual

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/caddytest"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/caddy-docs/caddy-docs/caddytest/stream"
	"github.com/caddy-docs/caddy-docs/handlers"
	"github.com/caddy-docs/caddy-docs/handlers/options"
	"github.com/caddy-docs/caddy-docs/handlers/ui"
)

// The manual matches the code: it describes everything that exists, and
// everything that it describes exists.

const (
	manualDir = "../../docs"
	manualKey = "svc_dsc_example_key_of_the_manual"
)

// startManual runs Caddyfile.example with another port, another storage, and the
// manual's folder relative to this package.
func startManual(t *testing.T) *caddytest.Server {
	t.Helper()
	example, err := os.ReadFile("../../Caddyfile.example")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	options := fmt.Sprintf("{\n\tadmin off\n\tpersist_config off\n\tstorage file_system %q\n\tlog {\n\t\toutput file %q\n\t}\n\tdocs {\n\t\tdata_dir %q\n\t}\n",
		filepath.Join(dir, "storage"), filepath.Join(dir, "log"), filepath.Join(dir, "data"))
	for _, change := range [][2]string{
		{"\n{\n", "\n" + options},
		{"http://:8080 {", "http://:0 {"},
		{"\t\turl http://localhost:8080 # of the links in results and answers\n", ""},
		{"http://localhost:8081, http://127.0.0.1:8081, http://[::1]:8081 {", "http://127.0.0.1:0 {"},
		{"root * docs", "root * " + manualDir},
	} {
		if strings.Count(string(example), change[0]) != 1 {
			t.Fatalf("Caddyfile.example has %q not once", change[0])
		}
		example = []byte(strings.Replace(string(example), change[0], change[1], 1))
	}
	s := caddytest.NewIn(t, dir)
	if err := s.TryLoad(string(example)); err != nil {
		t.Fatal(err)
	}
	caddytest.AllAsked(t, "manual")
	return s
}

// One Caddy serves the manual for all that only read it.
func TestTheManual(t *testing.T) {
	s := startManual(t)
	for _, test := range []struct {
		name string
		run  func(*testing.T, *caddytest.Server)
	}{
		{"Every address that search and answers give is served with its anchor", everyAddressThatSearchAndAnswersGiveIsServedWithItsAnchor},
		{"Every link of the manual leads somewhere", everyLinkOfTheManualLeadsSomewhere},
		{"Every curl of the manual works as pasted", everyCurlOfTheManualWorksAsPasted},
		{"The manual's pages load nothing from elsewhere", theManualsPagesLoadNothingFromElsewhere},
		{"No page of the manual has an ID twice", noPageOfTheManualHasAnIDTwice},
		{"Templates in the manual's examples are shown", templatesInTheManualsExamplesAreShown},
		{"The manual has a page for addresses that are not there", theManualHasAPageForAddressesThatAreNotThere},
		{"The manual answers on every host", theManualAnswersOnEveryHost},
		{"The manual's widget finds pages in a browser", theManualsWidgetFindsPagesInABrowser},
		{"The manual's widget answers in a browser", theManualsWidgetAnswersInABrowser},
		{"The manual on a phone begins with the text", theManualOnAPhoneBeginsWithTheText},
		{"The front page has a box to try", theFrontPageHasABoxToTry},
		{"The manual leads from page to page", theManualLeadsFromPageToPage},
		{"The manual is accessible", theManualIsAccessible},
		{"One search of an agent reaches the text", oneSearchOfAnAgentReachesTheText},
		{"A keystroke is small", aKeystrokeIsSmall},
		{"The manual's search finds what its readers ask for", theManualsSearchFindsWhatItsReadersAskFor},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, s.For(t)) })
	}
}

// visit fetches an address of a site, and checks that it is there with its
// anchor. Pages are fetched once.
type visitor struct {
	s     *caddytest.Server
	pages map[string]string
}

func (v *visitor) visit(t *testing.T, where, address string) {
	t.Helper()
	page, anchor, _ := strings.Cut(address, "#")
	html, ok := v.pages[page]
	if !ok {
		r := v.s.Do(caddytest.Request{Method: http.MethodGet, Path: page, Key: "-"})
		if r.Status != http.StatusOK {
			t.Errorf("%s: %s is %d", where, address, r.Status)
		}
		html = string(r.Body)
		v.pages[page] = html
	}
	if anchor != "" && !strings.Contains(html, `id="`+anchor+`"`) {
		t.Errorf("%s: %s has no element with this id", where, address)
	}
}

// manualPages are the files of the manual by name, without extension.
func manualPages(t *testing.T) map[string]string {
	t.Helper()
	pages := map[string]string{}
	for _, pattern := range []string{"*.md", "*/*.md"} {
		files, err := filepath.Glob(filepath.Join(manualDir, pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("no pages of the manual: %v", err)
		}
		for _, f := range files {
			name, err := filepath.Rel(manualDir, strings.TrimSuffix(f, ".md"))
			if err != nil {
				t.Fatal(err)
			}
			pages[strings.TrimSuffix(filepath.ToSlash(name), "/index")] = caddytest.ReadFile(t, f)
		}
	}
	return pages
}

// fence is a fenced block of code.
type fence struct{ info, code string }

var (
	fenceForm = regexp.MustCompile("(?ms)^```(\\w+[^\n]*)\n(.*?)^```$")
	// outputForm is what a program printed, in which there may be fences.
	outputForm = regexp.MustCompile("(?ms)^~~~text\n.*?^~~~$")
)

func fences(page string) (found []fence) {
	for _, m := range fenceForm.FindAllStringSubmatch(outputForm.ReplaceAllString(page, ""), -1) {
		found = append(found, fence{m[1], m[2]})
	}
	return found
}

// section returns the text below a heading, up to the next of its level.
func section(t *testing.T, page, heading string) string {
	t.Helper()
	_, rest, ok := strings.Cut("\n"+page, "\n"+heading+"\n")
	if !ok {
		t.Errorf("there is no heading %q", heading)
		return ""
	}
	level := heading[:strings.IndexByte(heading, ' ')]
	for {
		i := strings.Index(rest, "\n#")
		if i < 0 {
			return rest
		}
		if hashes, _, ok := strings.Cut(rest[i+1:], " "); ok && len(hashes) <= len(level) && strings.Trim(hashes, "#") == "" {
			return rest[:i]
		}
		rest = rest[:i] + " " + rest[i+2:] // a lower one: part of the section
	}
}

var firstCell = regexp.MustCompile("(?m)^\\| ([^|]*) \\|")

// namesInTables returns the code in the first cells of a page's tables.
func namesInTables(page string) map[string]bool {
	names := map[string]bool{}
	for _, m := range firstCell.FindAllStringSubmatch(page, -1) {
		for _, c := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(m[1], -1) {
			names[c[1]] = true
		}
	}
	return names
}

func everyAddressThatSearchAndAnswersGiveIsServedWithItsAnchor(t *testing.T, s *caddytest.Server) {
	v := &visitor{s, map[string]string{}}
	queries := []string{
		"install", "xcaddy", "sitemap", "how do I create a key", "rate limit", "origin", "thread", "strict releases", "threadId",
		"anchors goldmark", "systemd", "metrics", "grace_period", "embedding model", "Ollama", "prompt injection", "basic_auth",
		"synonyms", "version of a page", "Mintlify", "docs_client_limit", "finish event", "extractive", "reload", "docsonly",
	}
	for _, q := range queries {
		body, _ := json.Marshal(map[string]any{"query": q, "pageSize": 50})
		r := s.Do(caddytest.Request{Path: "/v1/search/manual", Key: manualKey, Body: string(body)})
		var results []caddytest.Result
		if err := json.Unmarshal(r.Body, &results); err != nil || len(results) == 0 {
			t.Errorf("%s: %d results, %v: %s", q, len(results), err, r.Body)
			continue
		}
		for _, result := range results {
			v.visit(t, "search for "+q, result.Metadata.URL)
			if !strings.HasSuffix(strings.Replace(result.Metadata.URL, "/#", "#", 1), result.Path) { // a folder's page
				t.Errorf("path %q and url %q differ", result.Path, result.Metadata.URL)
			}
		}
		answer := s.Do(caddytest.Request{Path: "/v2/assistant/manual/message", Key: manualKey, Body: caddytest.Question(q, nil)})
		reply, err := stream.ReadV2(string(answer.Body))
		if err != nil {
			t.Errorf("asking %q: %v", q, err)
			continue
		}
		for _, source := range reply.Sources {
			v.visit(t, "sources of "+q, source.URL)
		}
		for _, m := range regexp.MustCompile(`\]\((/[^)\s]*)\)`).FindAllStringSubmatch(reply.Text, -1) {
			v.visit(t, "answer to "+q, m[1])
		}
	}
	if len(v.pages) < 10 {
		t.Errorf("only %d pages were ever found", len(v.pages))
	}
}

func everyLinkOfTheManualLeadsSomewhere(t *testing.T, s *caddytest.Server) {
	v := &visitor{s, map[string]string{}}
	pages := manualPages(t)
	pages["nav"] = caddytest.ReadFile(t, filepath.Join(manualDir, "_site/nav.html"))
	link := regexp.MustCompile(`(?:\]\(|href=")(/[^)"\s]*)`)
	output := regexp.MustCompile(`(?ms)^~~~.*?^~~~$`)
	for name, page := range pages {
		for _, m := range link.FindAllStringSubmatch(output.ReplaceAllString(page, ""), -1) {
			v.visit(t, name, m[1])
		}
		if name != "nav" && name != "index" && !strings.Contains(pages["nav"], `href="/`+name+`"`) && !strings.Contains(pages["nav"], `href="/`+name+`/"`) {
			t.Errorf("the page %s is not in the menu", name)
		}
	}
	for _, file := range []string{"README.md", "xcaddy.md"} {
		for _, m := range regexp.MustCompile(`\]\(([\w./-]+)(#[\w-]+)?\)`).FindAllStringSubmatch(caddytest.ReadFile(t, "../../"+file), -1) {
			if _, err := os.Stat("../../" + m[1]); err != nil {
				t.Errorf("%s links to %s: %v", file, m[1], err)
			}
			if m[2] != "" {
				v.visit(t, file, strings.TrimSuffix(strings.TrimPrefix(m[1], "docs"), ".md")+m[2])
			}
		}
	}
}

func TestEveryCaddyfileOfTheManualAdapts(t *testing.T) {
	pages := manualPages(t)
	pages["README"], pages["xcaddy"] = caddytest.ReadFile(t, "../../README.md"), caddytest.ReadFile(t, "../../xcaddy.md")
	adapter := caddyconfig.GetAdapter("caddyfile")
	count := 0
	for name, page := range pages {
		for _, f := range fences(page) {
			kind, ok := strings.CutPrefix(f.info, "caddyfile")
			if !ok {
				continue
			}
			count++
			text := f.code
			indented := "\t" + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n\t") + "\n"
			switch strings.TrimSpace(kind) {
			case "":
			case "site":
				text = "docs.acme.com {\n" + indented + "}\n"
			case "global":
				text = "{\n" + indented + "}\n"
			default:
				t.Errorf("%s: a block is marked %q, which this test does not know", name, f.info)
			}
			_, warnings, err := adapter.Adapt([]byte(text), map[string]any{"filename": "Caddyfile"})
			if err != nil {
				t.Errorf("%s: %v\n%s", name, err, text)
			}
			for _, w := range warnings {
				t.Errorf("%s: %v\n%s", name, w, text)
			}
		}
	}
	if count < 15 {
		t.Errorf("only %d Caddyfiles were found", count)
	}
}

// The commands of the manual are run as they are, except for the port. A block
// marked with a status has that status.
func everyCurlOfTheManualWorksAsPasted(t *testing.T, s *caddytest.Server) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not installed")
	}
	pages := manualPages(t)
	pages["README"] = caddytest.ReadFile(t, "../../README.md")
	byPage := map[string]int{}
	for name, page := range pages {
		for _, f := range fences(page) {
			if !strings.HasPrefix(f.code, "curl") || !strings.Contains(f.code, "localhost:8080/") {
				continue
			}
			want := "200"
			if _, status, ok := strings.Cut(f.info, " "); ok {
				want = status
			}
			command := strings.ReplaceAll(strings.TrimSpace(f.code), "http://localhost:8080", s.Base) + ` -w '\n%{http_code}'`
			out, err := exec.Command("sh", "-c", command).CombinedOutput()
			body, status, _ := strings.Cut(string(out), "\n"+want)
			if err != nil || !strings.HasSuffix(string(out), "\n"+want) || status != "" && len(body) == 0 {
				t.Errorf("%s: %v\n%s\nanswered\n%s", name, err, f.code, out)
			}
			byPage[name]++
		}
	}
	for name, least := range map[string]int{"README": 3, "search": 3, "assistant": 2} {
		if byPage[name] < least {
			t.Errorf("%s has %d requests to paste, %d are expected", name, byPage[name], least)
		}
	}
}

func TestTheManualHasEveryFieldOfTheJSON(t *testing.T) {
	page := manualPages(t)["json"]
	for heading, types := range map[string][]any{
		"## The app docs":                    {options.App{}, options.Site{}, options.Scope{}, options.FixedKey{}, options.Threads{}, options.SiteFolders{}, options.Group{}, options.Insights{}},
		"### Sites":                          {options.Site{}, options.Scope{}},
		"#### Scopes":                        {options.Scope{}},
		"### Keys":                           {options.FixedKey{}},
		"### Threads":                        {options.Threads{}},
		"### Insights":                       {options.Insights{}},
		"## docs.insights.sqlite":            {options.SQLiteInsights{}},
		"## docs.insights.postgres":          {options.PostgresInsights{}},
		"## http.handlers.docs_feedback":     {handlers.Feedback{}},
		"## http.handlers.docs_events":       {handlers.Events{}},
		"## docs.index.meilisearch":          {options.MeilisearchIndex{}},
		"## docs.embedder.openai":            {options.OpenAIEmbedder{}},
		"## docs.llm.openai":                 {options.OpenAIModel{}},
		"## http.handlers.docs_api":          {handlers.Guard{}},
		"## http.handlers.docs_client_limit": {handlers.ClientLimit{}},
		"## http.handlers.docs_search":       {handlers.Search{}},
		"## http.handlers.docs_assistant":    {handlers.Assistant{}},
		"## http.handlers.docs_ask":          {ui.Ask{}},
		"## http.handlers.docs_token":        {handlers.Token{}},
		"## http.handlers.docs_widget":       {ui.Widget{}},
		"## http.handlers.docs_dashboard":    {ui.Dashboard{}},
		"## http.matchers.docs_api":          {handlers.MatchAPI{}},
	} {
		fields := map[string]bool{}
		for _, v := range types {
			addFields(fields, reflect.TypeOf(v))
		}
		inManual := namesInTables(section(t, page, heading))
		for f := range fields {
			if !inManual[f] {
				t.Errorf("%s: the field %s is not in json.md", heading, f)
			}
		}
		for f := range inManual {
			if !fields[f] {
				t.Errorf("%s: json.md has a field %s that does not exist", heading, f)
			}
		}
	}
	llm := section(t, page, "## docs.llm.openai")
	for _, f := range []string{"tokens", "requests", "per"} {
		if !strings.Contains(llm, "`"+f+"`") {
			t.Errorf("the field %s of a budget is not in json.md", f)
		}
	}
	install := manualPages(t)["install"]
	for _, id := range caddy.Modules() {
		info, err := caddy.GetModule(id)
		if err != nil {
			t.Fatal(err)
		}
		kind := reflect.TypeOf(info.New())
		if kind.Kind() == reflect.Pointer {
			kind = kind.Elem()
		}
		pkg := kind.PkgPath() // modules of tests are none of the manual's
		if strings.HasPrefix(pkg, "github.com/caddy-docs/caddy-docs/handlers") && id != "docs" && !strings.Contains(page, "\n## "+id+"\n") {
			t.Errorf("the module %s is not in json.md", id)
		}
		if strings.HasPrefix(pkg, "github.com/caddy-docs/caddy-docs/handlers") && !strings.Contains(install, "\n"+id+"\n") {
			t.Errorf("the module %s is not in install.md", id)
		}
	}
}

// addFields adds the names that a struct's fields have in JSON; those of
// embedded structs are its own.
func addFields(to map[string]bool, t reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && f.IsExported() && f.Type.Kind() == reflect.Struct && name == "":
			addFields(to, f.Type)
		case name != "" && name != "-":
			to[name] = true
		}
	}
}

func TestTheManualHasEveryCommandAndFlag(t *testing.T) {
	page := manualPages(t)["commands"]
	docs := &cobra.Command{Use: "docs"}
	caddycmd.Commands()["docs"].CobraFunc(docs)
	intro, _, _ := strings.Cut(page, "\n## ")
	docs.PersistentFlags().VisitAll(func(f *pflag.Flag) {
		if !strings.Contains(intro, "`--"+f.Name+"`") {
			t.Errorf("the flag --%s is not in commands.md", f.Name)
		}
	})
	known := map[string]bool{}
	var walk func(c *cobra.Command, path string)
	walk = func(c *cobra.Command, path string) {
		if c.HasSubCommands() {
			for _, sub := range c.Commands() {
				if sub.Name() != "help" && sub.Name() != "completion" {
					walk(sub, strings.TrimSpace(path+" "+sub.Name()))
				}
			}
			if !c.HasLocalFlags() || path == "" || !strings.Contains(c.Use, " ") {
				return
			}
		}
		known[path] = true
		text := section(t, page, "## "+path)
		flags := namesInTables(text)
		c.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
			if f.Name != "help" && !flags["--"+f.Name] {
				t.Errorf("the flag --%s of %s is not in commands.md", f.Name, path)
			}
			delete(flags, "--"+f.Name)
		})
		for f := range flags {
			t.Errorf("commands.md has a flag %s of %s that does not exist", f, path)
		}
		if !strings.Contains(text, "$ caddy docs "+path) {
			t.Errorf("commands.md shows no output of %s", path)
		}
	}
	walk(docs, "")
	for _, m := range regexp.MustCompile(`(?m)^## (.*)$`).FindAllStringSubmatch(page, -1) {
		if !known[m[1]] {
			t.Errorf("commands.md has a command %s that does not exist", m[1])
		}
	}
}

// Only the numbers of stored formats are compared: releases have other versions.
func TestTheManualsSampleOfVersionIsWhatTheBinaryPrints(t *testing.T) {
	docs := &cobra.Command{Use: "docs"}
	caddycmd.Commands()["docs"].CobraFunc(docs)
	var out bytes.Buffer
	docs.SetOut(&out)
	docs.SetArgs([]string{"version"})
	if err := docs.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	sample := section(t, manualPages(t)["commands"], "## version")
	formats := regexp.MustCompile(`(?m)^\w+ +(format|schema) \d+$`).FindAllString(out.String(), -1)
	for _, line := range formats {
		if !strings.Contains(sample, "\n"+line+"\n") {
			t.Errorf("commands.md lacks the line %q", line)
		}
	}
	if len(formats) != 2 {
		t.Errorf("version prints\n%s", &out)
	}
}

func TestTheManualHasEveryErrorCode(t *testing.T) {
	files, err := filepath.Glob("../../handlers/*.go")
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob("../../handlers/ui/*.go")
	if err != nil {
		t.Fatal(err)
	}
	files = append(files, more...)
	codes := map[string]bool{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text := caddytest.ReadFile(t, file)
		for _, form := range []string{`Fail\(http\.Status\w+, "(\w+)"`, `(?m)return .*", "(\w+)"$`, `(?m)return fmt\.Sprintf\(.*\), "(\w+)"$`, `refuse\("(\w+)"`} {
			for _, m := range regexp.MustCompile(form).FindAllStringSubmatch(text, -1) {
				codes[m[1]] = true
			}
		}
	}
	if len(codes) < 12 {
		t.Fatalf("only these codes were found in the handlers: %v", slices.Sorted(maps.Keys(codes)))
	}
	inManual := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| [\\w ]+ \\| ((?:`\\w+`(?:, )?)+) \\|").FindAllStringSubmatch(manualPages(t)["errors"], -1) {
		for _, c := range strings.Split(m[1], ", ") {
			inManual[strings.Trim(c, "`")] = true
		}
	}
	for code := range codes {
		if !inManual[code] {
			t.Errorf("the code %s is not in errors.md", code)
		}
	}
	delete(inManual, "code") // the head of the table
	for code := range inManual {
		if !codes[code] {
			t.Errorf("errors.md has a code %s that no handler gives", code)
		}
	}
}

func theManualsPagesLoadNothingFromElsewhere(t *testing.T, s *caddytest.Server) {
	foreign := regexp.MustCompile(`(?:src|<link[^>]*href)="(?:https?:)?//[^"]*"`)
	for name := range manualPages(t) {
		resp, err := http.Get(s.Base + "/" + strings.TrimPrefix(name, "index"))
		if err != nil {
			t.Fatal(err)
		}
		html, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %d, %v", name, resp.StatusCode, err)
		}
		if m := foreign.Find(bytes.ReplaceAll(html, []byte(`"`+s.Base+"/"), []byte(`"/`))); m != nil {
			t.Errorf("%s loads %s", name, m)
		}
		if strings.Contains(string(html), "<!-- raw HTML omitted -->") {
			t.Errorf("%s has HTML that is not rendered", name)
		}
	}
}

// The ids of headings come from the pages' words; those of the layout must not
// be among them: a heading "Search" once took the search box's style.
func noPageOfTheManualHasAnIDTwice(t *testing.T, s *caddytest.Server) {
	id := regexp.MustCompile(`\sid="([^"]*)"`)
	for name := range manualPages(t) {
		page := "/" + strings.TrimSuffix(strings.TrimSuffix(name, ".md"), "index")
		r := s.Do(caddytest.Request{Method: http.MethodGet, Path: page, Key: "-"})
		if r.Status != http.StatusOK {
			t.Errorf("%s: %d", page, r.Status)
			continue
		}
		seen := map[string]bool{}
		for _, m := range id.FindAllStringSubmatch(string(r.Body), -1) {
			if seen[m[1]] {
				t.Errorf("%s has two elements with the id %q", page, m[1])
			}
			seen[m[1]] = true
		}
		if len(seen) < 2 {
			t.Errorf("%s: only the ids %v were found", page, seen)
		}
	}
}

func TestTheReadmeNamesEveryDirectDependency(t *testing.T) {
	readme := caddytest.ReadFile(t, "../../README.md")
	direct := regexp.MustCompile(`(?m)^\t([^\s]+) v[^\s]+$`)
	for _, m := range direct.FindAllStringSubmatch(caddytest.ReadFile(t, "../../go.mod"), -1) {
		name := strings.TrimPrefix(regexp.MustCompile(`/v\d+$`).ReplaceAllString(m[1], ""), "github.com/")
		switch name { // known by their repositories
		case "go.uber.org/zap":
			name = "uber-go/zap"
		case "go.yaml.in/yaml":
			name = "yaml/go-yaml"
		}
		if strings.HasPrefix(name, "go.opentelemetry.io/otel/") {
			name = "go.opentelemetry.io/otel"
		}
		if !strings.Contains(readme, name) {
			t.Errorf("README does not say what %s is for", m[1])
		}
	}
}

// A page may show a template. It is not executed.
func templatesInTheManualsExamplesAreShown(t *testing.T, s *caddytest.Server) {
	r := s.Do(caddytest.Request{Method: http.MethodGet, Path: "/recipes/markdown"})
	if text := html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(string(r.Body), "")); !strings.Contains(text, "{{$page.Meta.title}}") || strings.Contains(text, "<title>Markdown</title>") {
		t.Errorf("the example is executed: %d %s", r.Status, text)
	}
}

func theManualHasAPageForAddressesThatAreNotThere(t *testing.T, s *caddytest.Server) {
	for path, want := range map[string][]string{
		"/nothing":             {"Page not found", `action="/v1/ask/manual"`, `value="nothing"`, `<nav id="ui-pages"`, "/v1/widget/manual.js"},
		"/dashbord/keyss.html": {`/dashboard">`, `/keys">`, `value="dashbord keyss"`},
		"/keyz":                {`/keys">`},
		"/%7B%7Benv%20%22X%22": {`value="env X"`},
		"/%3Cscript%3Ex/../a":  {`value="script x a"`},
	} {
		r := s.Do(caddytest.Request{Method: http.MethodGet, Path: path, Key: "-", Header: map[string]string{"Accept": "text/html"}})
		for _, text := range want {
			if r.Status != http.StatusNotFound || !strings.Contains(string(r.Body), text) {
				t.Errorf("%s is %d and lacks %s:\n%s", path, r.Status, text, r.Body)
			}
		}
	}
	r := s.Do(caddytest.Request{Path: "/v1/search/nothing", Key: manualKey, Body: `{"query":"x"}`})
	if r.Status != http.StatusNotFound || r.Error(t).Code != "unknown_site" {
		t.Errorf("an unknown site is %d:\n%s", r.Status, r.Body)
	}
}

func TestTheManualHasEveryAddressOfTheAdminAPI(t *testing.T) {
	text := section(t, manualPages(t)["operations"], "## Admin API")
	cases := regexp.MustCompile(`"(GET|POST|DELETE) (\w+)"`).FindAllStringSubmatch(caddytest.ReadFile(t, "../../handlers/admin/admin.go"), -1)
	if len(cases) < 9 {
		t.Fatalf("only these cases were found: %v", cases)
	}
	for _, c := range cases {
		if !strings.Contains(text, "`"+c[1]+" /docs/"+c[2]) {
			t.Errorf("%s /docs/%s is not in operations.md", c[1], c[2])
		}
	}
	if rows := strings.Count(text, "\n| `"); rows != len(cases) {
		t.Errorf("operations.md has %d addresses, there are %d", rows, len(cases))
	}
}

// A reader behind a forwarded port has another host.
func theManualAnswersOnEveryHost(t *testing.T, s *caddytest.Server) {
	for _, host := range []string{"localhost", "[::1]:8080", "8080-copy.preview.test"} {
		r := s.Do(caddytest.Request{Method: http.MethodGet, Path: "/install", Host: host, Key: "-"})
		if r.Status != http.StatusOK || !strings.Contains(string(r.Body), "<h1") {
			t.Errorf("at %s it is %d with %d bytes", host, r.Status, len(r.Body))
		}
	}
}
