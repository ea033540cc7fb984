package manual

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/caddytest"
)

// The manual's Python client, and one that leaves the decoding to the library,
// get the text that the server sent.
func TestPythonClientsReadAnswersInUTF8(t *testing.T) {
	if testing.Short() {
		t.Skip("Python takes seconds to start")
	}
	if out, err := exec.Command("python3", "-c", "import requests").CombinedOutput(); err != nil {
		t.Skipf("python3 with requests is not installed: pip install requests (%s)", out)
	}
	const sentence = "Чтобы установить Acme, распакуйте архив › запустите «мастер»."
	root := caddytest.Folder(t, map[string]string{"install.md": "---\nlanguage: ru\n---\n# Установка Acme\n\n" + sentence + "\n"})
	s := caddytest.Start(t, "", caddytest.Site(root))
	s.Ready("acme")

	var code string
	for _, f := range fences(manualPages(t)["ai-sdk"]) {
		if f.info == "python" {
			code = f.code
		}
	}
	code = strings.NewReplacer("https://docs.acme.com", s.Base, "svc_dsc_…", caddytest.Key).Replace(code) +
		"\nimport sys\nprint(json.dumps(ask('Как установить Acme?')))\n" +
		"try:\n    ask('')\nexcept RuntimeError as e:\n    print(json.dumps(str(e)))\n"
	decoding := strings.NewReplacer("iter_lines()", "iter_lines(decode_unicode=True)", "b'data: ", "'data: ").Replace(code)
	if decoding == code || !strings.Contains(code, s.Base) {
		t.Fatalf("the manual's Python client is not as expected:\n%s", code)
	}
	for name, code := range map[string]string{"as in the manual": code, "decoding by the library": decoding} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "ask.py")
			if err := os.WriteFile(file, []byte(code), 0o600); err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command("python3", file).CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			reply, refusal, _ := strings.Cut(string(out), "\n")
			var answer, thread string
			var sources []string
			if err := json.Unmarshal([]byte(reply), &[]any{&answer, &sources, &thread}); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if !strings.Contains(answer, sentence) || len(sources) == 0 || !strings.HasPrefix(thread, "thr_") {
				t.Errorf("%q %q %q", answer, sources, thread)
			}
			if !strings.Contains(refusal, "must have text") || strings.Contains(refusal, "{") {
				t.Errorf("an error is %s", refusal)
			}
		})
	}
}
