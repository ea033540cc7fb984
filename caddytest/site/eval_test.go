package site

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/caddytest"
	"github.com/caddy-docs/caddy-docs/caddytest/modelserver"
)

func TestAnswersOfASiteAreEvaluated(t *testing.T) {
	dir, err := os.MkdirTemp("", "docs") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	writer, writerURL := caddytest.StartModel(t)
	writer.Answer(func(r *modelserver.Request) modelserver.Reply {
		if strings.Contains(r.Question(), "penguins") {
			return modelserver.Reply{Text: "[[no-answer]] The documentation doesn't say."}
		}
		return modelserver.Reply{Text: "Run the installer for Linux ([Install](https://docs.acme.test/guide/install), [more](https://evil.example/))."}
	})
	judge, judgeURL := caddytest.StartModel(t)
	judge.Always(modelserver.Reply{Text: `{"faithful": "yes", "complete": "partly", "why": "One step is missing."}`})

	caddyfile, address := commandConfig(t, dir)
	s := caddytest.NewIn(t, dir)
	if err := s.TryLoad(strings.Replace(caddyfile, "site acme {", caddytest.LLM(writerURL, "writer", "")+"\nsite acme {", 1)); err != nil {
		t.Fatal(err)
	}
	s.Ready("acme")
	questions, results, junit := filepath.Join(dir, "answers.jsonl"), filepath.Join(dir, "results.jsonl"), filepath.Join(dir, "junit.xml")
	if err := os.WriteFile(questions, []byte(`{"id":"install","question":"How do I install Acme on Linux?","facts":["installer"],"pages":["guide/install"]}
{"id":"penguins","question":"What do penguins eat on Mars?"}
{"id":"wrong","question":"How do I install Acme on Windows?","facts":["winget"],"group":"hard"}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	evaluate := func(args ...string) (string, error) {
		return run(t, append([]string{"--address", address, "eval", "acme", "--answers", questions, "--out", results}, args...)...)
	}

	// A bound ends the run, and the next one goes on.
	if out, err := evaluate("--max-tokens", "1"); err == nil || !strings.Contains(err.Error(), "--max-tokens") || !strings.Contains(out, "all          1   1.000") {
		t.Fatalf("%v\n%s", err, out)
	}
	asked := len(writer.Requests())
	out, err := evaluate("--judge", judgeURL, "judge", "--junit", junit, "--prices", "1,10", "--min-passed", "0.9")
	if err == nil || !strings.Contains(err.Error(), "0.667, below 0.900") {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"all          3   0.667     1.000     0.500      1.000", `wrong: How do I install Acme on Windows?`, `the fact "winget" is missing`} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	if n := len(writer.Requests()) - asked; n != 2 || len(judge.Requests()) != 6 {
		t.Errorf("the site's model was asked %d times, the judge %d times", n, len(judge.Requests()))
	}
	if prompt := judge.Last().Text("user"); !strings.Contains(prompt, "winget") || !strings.Contains(prompt, "Run the installer for Linux") || strings.Contains(prompt, "evil.example") {
		t.Errorf("the judge was asked\n%s", prompt)
	}
	if data, err := os.ReadFile(junit); err != nil || !strings.Contains(string(data), `tests="3" failures="1"`) {
		t.Errorf("%v\n%s", err, data)
	}
	// What is there is not asked for again, and is the baseline of another run.
	asked = len(writer.Requests())
	if out, err := evaluate("--judge", judgeURL, "judge", "--baseline", results); err != nil || !strings.Contains(out, "+0.000 passed") || len(writer.Requests()) != asked || len(judge.Requests()) != 6 {
		t.Errorf("%v\n%s", err, out)
	}
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--judge", judgeURL}, "--judge needs a URL and a model"},
		{[]string{"--prices", "1"}, "--prices"},
	} {
		if _, err := evaluate(c.args...); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v: %v", c.args, err)
		}
	}
}
