package site

import (
	"bytes"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/caddytest"

	"github.com/caddyserver/caddy/v2"
)

// validate does what `caddy validate` does.
func validate(t *testing.T, caddyfile string) error {
	t.Helper()
	cfg, err := caddytest.Adapt(caddyfile)
	if err != nil {
		return err
	}
	var c caddy.Config
	if err := caddy.StrictUnmarshalJSON(cfg, &c); err != nil {
		return err
	}
	return caddy.Validate(&c)
}

func TestBadConfigurationsSayFileLineAndWhatToWrite(t *testing.T) {
	root := caddytest.AcmeFolder(t)
	for _, c := range []struct{ name, docs, site, says string }{
		{"an unknown option", "site acme {\n\troot " + root + "\n\tfoo bar\n}", "", "foo"},
		{"a missing root", "site acme {\n\turl https://docs.acme.test\n}", "", "root"},
		{"a bad key", "key abc", "", "svc_dsc_"},
		{"two sites of a name", "site acme {\n\troot " + root + "\n}\nsite acme {\n\troot " + root + "\n}", "", "acme"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := validate(t, caddytest.Global(t.TempDir(), c.docs)+"http://:0 {\n\tsearch\n}\n")
			if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "Caddyfile:") {
				t.Errorf("error is %v, want one that names %q, file and line", err, c.says)
			}
		})
	}
	if err := validate(t, caddytest.Global(t.TempDir(), "")+caddytest.Site(root)); err != nil {
		t.Errorf("a good one: %v", err)
	}
}

func TestANamedSiteThatIsNotThereIsAnError(t *testing.T) {
	root := caddytest.AcmeFolder(t)
	for name, c := range map[string]struct{ docs, site, says string }{
		"in a directive": {"site acme {\n\troot " + root + "\n}", "search acmee", "a route of localhost names the site acmee, which is not defined; the defined sites are: acme"},
		"in a key":       {"site acme {\n\troot " + root + "\n}\nkey svc_dsc_0123456789abcdef {\n\tsites akme\n}", "search acme", "key 1 names the site akme, which is not defined"},
	} {
		t.Run(name, func(t *testing.T) {
			s := caddytest.New(t)
			err := s.TryLoad(caddytest.Global(s.Dir, c.docs) + "http://localhost:0 {\n\t" + c.site + "\n}\n")
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error is %v, want one that says %q", err, c.says)
			}
		})
	}
}

// Errors that only a start finds name the site or the block, and what to write.
func TestMistakesFoundAtTheStartSayWhatToWrite(t *testing.T) {
	one, two := caddytest.AcmeFolder(t), t.TempDir()
	const global = "in the global option docs: site NAME { root /path/to/docs }"
	for name, c := range map[string]struct {
		docs, sites string
		says        []string
	}{
		"search without any site":    {"", "http://one.test:0 {\n\tsearch\n}", []string{"a route of one.test serves all sites, but none is defined", "docs NAME", global}},
		"assistant without any site": {"", "http://one.test:0 {\n\tassistant\n}", []string{"a route of one.test serves all sites, but none is defined", global}},
		"two blocks of one site": {"", "http://one.test:0 {\n\troot * " + one + "\n\tdocs acme\n}\nhttp://two.test:0 {\n\troot * " + two + "\n\tdocs acme\n}", []string{
			"docs acme: is in several blocks with different roots", "a route of one.test has " + one, "a route of two.test has " + two, "different names", "docs acme /path/to/docs",
		}},
		"one key for the sites of two organizations": {"key svc_dsc_0123456789abcdef", "http://:0 {\n\tdocs acme " + one + "\n\tdocs blog " + two + "\n}", []string{
			"key 1", "acme, blog", "write organization NAME in its block", "in the sites' blocks",
		}},
		"a key without a value":      {"key {env.CADDYDOCS_UNSET}", "http://:0 {\n\tdocs acme " + one + "\n}", []string{"key 1", "{env.CADDYDOCS_UNSET} is empty", "set the environment variable CADDYDOCS_UNSET"}},
		"a root without a value":     {"", "http://:0 {\n\tdocs acme {env.CADDYDOCS_UNSET}\n}", []string{"site acme: root: {env.CADDYDOCS_UNSET} is empty", "set the environment variable CADDYDOCS_UNSET"}},
		"a data_dir without a value": {"data_dir {env.CADDYDOCS_UNSET}", "http://:0 {\n\tdocs acme " + one + "\n}", []string{"data_dir: {env.CADDYDOCS_UNSET} is empty"}},
		"a model's key without a value": {"llm http://127.0.0.1:9/v1 nobody {\n\tapi_key {env.CADDYDOCS_UNSET}\n}", "http://:0 {\n\tdocs acme " + one + "\n}", []string{
			"llm", "api_key: {env.CADDYDOCS_UNSET} is empty", "set the environment variable CADDYDOCS_UNSET",
		}},
		"an embedder's key without a value": {"embedder http://127.0.0.1:9/v1 nobody {\n\tapi_key {env.CADDYDOCS_UNSET}\n}", "http://:0 {\n\tdocs acme " + one + "\n}", []string{
			"embedder", "api_key: {env.CADDYDOCS_UNSET} is empty",
		}},
		"two semantic ratios": {"embedder http://127.0.0.1:9/v1 nobody {\n\tsemantic_ratio 0.3\n}\nindex meilisearch http://127.0.0.1:9 {\n\tsemantic_ratio 0.4\n}", "http://:0 {\n\tdocs acme " + one + "\n}", []string{
			"semantic_ratio is in embedder (0.3) and in index meilisearch (0.4)", "keep one",
		}},
		"Meilisearch's key without a value": {"index meilisearch http://127.0.0.1:9 {\n\tapi_key {env.CADDYDOCS_UNSET}\n}", "http://:0 {\n\tdocs acme " + one + "\n}", []string{
			"index", "api_key: {env.CADDYDOCS_UNSET} is empty",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := caddytest.New(t)
			config := caddytest.Global(s.Dir, c.docs)
			if strings.Contains(c.docs, "data_dir") {
				config = strings.Replace(config, "\t\tdata_dir "+strconv.Quote(filepath.Join(s.Dir, "data"))+"\n", "", 1)
			}
			err := s.TryLoad(config + c.sites + "\n")
			for _, says := range c.says {
				if err == nil || !strings.Contains(err.Error(), says) {
					t.Errorf("the error lacks %q: %v", says, err)
				}
			}
		})
	}
}

// A folder that is missing or has no pages keeps the server from nothing. The
// log and doctor say what to do.
func TestAFolderWithoutPagesIsReported(t *testing.T) {
	missing, empty := filepath.Join(t.TempDir(), "missing"), t.TempDir()
	s := caddytest.Start(t, "site blog {\n\troot "+missing+"\n}\nkey "+caddytest.Key+" {\n\torganization acme\n}",
		"http://:0 {\n\tsearch blog\n\tdocs acme "+missing+"\n\tdocs bare "+empty+"\n}\n")
	create := "create the folder " + missing + ", or name another one: "
	fill := "write pages (.html, .htm, .md or .mdx files) into " + empty + ", or name another folder: docs bare /path/to/docs"
	wants := map[string]string{
		"acme": create + "docs acme /path/to/docs",
		"blog": create + "root /path/to/docs, in the block of site blog",
		"bare": fill,
	}
	for site, want := range wants {
		caddytest.Until(t, "the log says what to do about "+site, func() bool {
			for line := range strings.Lines(s.Log()) {
				if strings.Contains(line, `"site":"`+site+`"`) && strings.Contains(line, `"level":"warn"`) && strings.Contains(line, want) {
					return true
				}
			}
			return false
		})
	}
	for _, check := range caddytest.App(t).Doctor(t.Context()) {
		for site, want := range wants {
			if check.What == "site "+site+" index" && (check.OK || !strings.HasPrefix(check.Do, want)) {
				t.Errorf("doctor: %+v, want: %s", check, want)
			}
		}
	}
}

// A model that can't be reached keeps nobody from anything.
func TestAnUnreachableModelIsAWarning(t *testing.T) {
	s := caddytest.Start(t, "llm http://127.0.0.1:9/v1 nobody", caddytest.Site(caddytest.AcmeFolder(t)))
	s.Ready("acme")
	r := s.AskBody(caddytest.Question("How do I install Acme on Linux?", nil))
	if !strings.Contains(r.Text, "sudo acme-install") || !r.Finished {
		t.Errorf("the reply is not extractive: %+v", r)
	}
	caddytest.Until(t, "a warning is logged", func() bool { return strings.Contains(s.Log(), "the model is not responding") })
}

func TestTheStartLogTellsOfEachSite(t *testing.T) {
	s := caddytest.Start(t, "key svc_dsc_key_of_somebody_else {\n\torganization other\n}", caddytest.Site(caddytest.AcmeFolder(t)))
	caddytest.Until(t, "the start log is written", func() bool { return strings.Contains(s.Log(), "the site is ready") })
	log := s.Log()
	for _, want := range []string{`"pages":4`, "replies are extractive", "keyword search", "kept for 30 days", "caddy docs key create --site acme"} {
		if !strings.Contains(log, want) {
			t.Errorf("the start log lacks %q:\n%s", want, log)
		}
	}
}

func TestTwoSitesOfOneNameInJSONAreAnErrorThatNamesBoth(t *testing.T) {
	root, other := caddytest.AcmeFolder(t), caddytest.AcmeFolder(t)
	for name, c := range map[string]struct{ docs, sites, says string }{
		"of the app and a route": {
			"site acme {\n\troot " + root + "\n}", "http://a.test:0 {\n\tdocs beta " + root + "\n}\n",
			"site acme is defined twice, by the app docs and by a route of a.test",
		},
		"of two routes": {
			"", "http://a.test:0 {\n\tdocs acme " + root + "\n}\nhttp://b.test:0 {\n\tdocs beta " + other + "\n}\n",
			"site acme is defined twice and differently, by a route of a.test and by a route of b.test",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := caddytest.New(t)
			cfg, err := caddytest.Adapt(caddytest.Global(s.Dir, c.docs) + c.sites)
			if err != nil {
				t.Fatal(err)
			}
			err = s.TryLoadJSON(bytes.ReplaceAll(cfg, []byte(`"beta"`), []byte(`"acme"`)))
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error is %v, want one that says %q", err, c.says)
			}
		})
	}
}

func TestACommentDoesNotChangeTheConfiguration(t *testing.T) {
	root, dir := caddytest.AcmeFolder(t), t.TempDir()
	const comment = "# a comment\n"
	global := caddytest.Global(dir, "site acme {\n\troot "+root+"\n}")
	sites := "http://a.test:0 {\n\tsearch acme\n}\nhttp://b.test:0 {\n\tdocs beta " + root + "\n}\n"
	without, err := caddytest.Adapt(global + sites)
	if err != nil {
		t.Fatal(err)
	}
	with, err := caddytest.Adapt(comment + global + comment + sites)
	if err != nil || !bytes.Equal(with, without) {
		t.Errorf("a comment changed the configuration (%v):\n%s\n%s", err, without, with)
	}
}

func TestADocsDirectiveInANamedRouteHasTheRootOfItsInvocation(t *testing.T) {
	s := caddytest.Start(t, "", "&(api) {\n\tdocs acme\n}\nhttp://localhost:0 {\n\troot * "+caddytest.AcmeFolder(t)+"\n\tinvoke api\n}\n")
	s.Ready("acme")
	if got := s.Search("acme", `{"query":"thrust limits"}`); len(got) == 0 {
		t.Error("no results")
	}
}

// Doctor says what clients get for Markdown that nothing renders.
func TestMarkdownThatNothingRendersIsReported(t *testing.T) {
	folder := caddytest.Folder(t, map[string]string{"index.md": "# Kite\n\nA kite flies.\n", "wind.md": "# Wind\n\nKites need wind.\n\n## Gusts\n\nToo much of it.\n"})
	for name, c := range map[string]struct {
		block, lines string
		ok           bool
		says         []string
	}{
		"served as files":        {"docs acme\nfile_server", "", true, []string{"all public; 2 of 2 are served as text, not rendered, for example /index.md; to render", "/docs/recipes/markdown.md"}},
		"not served":             {"docs acme", "", false, []string{"nothing in this Caddy serves the 2 pages; all count as public", "/docs/recipes/markdown.md", "url https://"}},
		"served at another host": {"docs acme {\nurl https://kite.example.com\n}", "", true, []string{"all count as public: this Caddy does not serve them, by its configuration"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := caddytest.Start(t, c.lines, "http://localhost:0 {\n\troot * "+folder+"\n\t"+c.block+"\n}\n")
			s.Ready("acme")
			caddytest.AllAsked(t, "acme")
			found := false
			for _, check := range caddytest.App(t).Doctor(t.Context()) {
				if check.What != "site acme pages" {
					continue
				}
				found = true
				if check.OK != c.ok {
					t.Errorf("ok is %v", check.OK)
				}
				for _, says := range c.says {
					if !strings.Contains(check.Found+" "+check.Do, says) {
						t.Errorf("%+v lacks %q", check, says)
					}
				}
			}
			if !found {
				t.Error("doctor says nothing of the pages")
			}
		})
	}
}
