package caddytest

import (
	"strconv"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
)

// validate does what `caddy validate` does.
func validate(t *testing.T, caddyfile string) error {
	t.Helper()
	cfg, err := Adapt(caddyfile)
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
	root := acmeFolder(t)
	for _, c := range []struct{ name, docs, site, says string }{
		{"an unknown option", "site acme {\n\troot " + root + "\n\tfoo bar\n}", "", "foo"},
		{"a missing root", "site acme {\n\turl https://docs.acme.test\n}", "", "root"},
		{"a bad key", "key abc", "", "svc_dsc_"},
		{"two sites of a name", "site acme {\n\troot " + root + "\n}\nsite acme {\n\troot " + root + "\n}", "", "acme"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := validate(t, Global(t.TempDir(), c.docs)+"http://:0 {\n\tsearch\n}\n")
			if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "Caddyfile:") {
				t.Errorf("error is %v, want one that names %q, file and line", err, c.says)
			}
		})
	}
	if err := validate(t, Global(t.TempDir(), "")+"http://:0 {\n\tdocs acme "+root+"\n}\n"); err != nil {
		t.Errorf("a good one: %v", err)
	}
}

func TestANamedSiteThatIsNotThereIsAnError(t *testing.T) {
	root := acmeFolder(t)
	for name, c := range map[string]struct{ docs, site, says string }{
		"in a directive": {"site acme {\n\troot " + root + "\n}", "search acmee", "Caddyfile:LINE: search names the site acmee, which is not there; there are: acme"},
		"in a key":       {"site acme {\n\troot " + root + "\n}\nkey svc_dsc_0123456789abcdef {\n\tsites akme\n}", "search acme", "key 1 names the site akme"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &Server{Dir: t.TempDir(), t: t}
			before := Global(s.Dir, c.docs) + "http://:0 {\n"
			says := strings.Replace(c.says, "LINE", strconv.Itoa(strings.Count(before, "\n")+1), 1)
			err := s.TryLoad(before + "\t" + c.site + "\n}\n")
			if err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("error is %v, want one that says %q", err, says)
			}
		})
	}
}

// A model that can't be reached keeps nobody from anything.
func TestAnUnreachableModelIsAWarning(t *testing.T) {
	s := Start(t, "llm http://127.0.0.1:9/v1 nobody", "http://:0 {\n\tdocs acme "+acmeFolder(t)+"\n}\n")
	s.Ready("acme")
	r := s.ask(Question("How do I install Acme on Linux?", nil))
	if !strings.Contains(r.Text, "sudo acme-install") || !r.Finished {
		t.Errorf("the reply is not extractive: %+v", r)
	}
	Until(t, "a warning tells of it", func() bool { return strings.Contains(s.Log(), "the model does not answer") })
}

func TestTheStartLogTellsOfEachSite(t *testing.T) {
	s := Start(t, "key svc_dsc_key_of_somebody_else {\n\torganization other\n}", "http://:0 {\n\tdocs acme "+acmeFolder(t)+"\n}\n")
	Until(t, "the start log is written", func() bool { return strings.Contains(s.Log(), "site acme is served") })
	log := s.Log()
	for _, want := range []string{`"pages":4`, "replies are extractive", "search is by keywords", "kept for 30 days", "caddy docs key create --site acme"} {
		if !strings.Contains(log, want) {
			t.Errorf("the start log lacks %q:\n%s", want, log)
		}
	}
}
