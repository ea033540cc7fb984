package assistant

import (
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/assistant/asked"
)

const (
	javaFrames = `
	at io.acme.sdk.Setup.load(Setup.java:41) ~[acme-sdk-1.40.jar:1.40]
	at java.base/java.lang.Thread.run(Thread.java:829)
	... 12 more`
	pythonTrace = `Traceback (most recent call last):
  File "/usr/lib/python3/dist-packages/acme/archiver.py", line 177, in wrapper
    return method(self, args, repository=repository, **kwargs)
  File "/usr/lib/python3/dist-packages/acme/locking.py", line 350, in acquire
    raise LockTimeout(self.path)
acme.locking.LockTimeout: Failed to create/acquire the lock /mnt/backup/lock.exclusive (timeout).
Platform: Linux host 5.10.0 #1 SMP x86_64`
	varnishLog = `*   << Request  >> 32770
-   Begin          req 32769 rxreq
-   Timestamp      Start: 1605600000.123456 0.000000 0.000000
-   ReqMethod      GET
-   ReqURL         /news/today.html
-   ReqHeader      Host: example.com
-   VCL_call       RECV
-   Hit            32771 86395.131 10.000 0.000
-   RespStatus     200
-   End`
	config = `module(load="imfile" PollingInterval="10")
input(type="imfile"
      File="/var/log/app.log"
      Tag="app")
action(type="omfwd" Target="10.0.0.7")`
	nginxLog = `2024/05/12 10:11:12 [notice] 7#7: start worker process 29
2024/05/12 10:11:13 [error] 29#29: *1 connect() failed (111: Connection refused) while connecting to upstream
2024/05/12 10:11:14 [notice] 7#7: signal 17 received
2024/05/12 10:11:15 [notice] 7#7: the worker process is to exit`
)

func TestWhatIsPastedIsNotTheQuestion(t *testing.T) {
	long := strings.Repeat("We run about 300 servers with Debian, and each of them sends its logs to a central machine. ", 7) + "How do I encrypt what they send?"
	for _, c := range []struct {
		name, message string
		holds, lacks  string // words of the query, separated by spaces
	}{
		{"a Java error with its frames", "java.lang.NoClassDefFoundError: io/acme/ComponentLoader" + javaFrames, "NoClassDefFoundError ComponentLoader", "Setup 829 more"},
		{"an error of several causes", "Exception in thread \"main\" io.acme.StartException: no exporter" + javaFrames + "\nCaused by: java.net.ConnectException: Connection refused" + javaFrames, "exporter refused", "Setup more"},
		{"a Python error", pythonTrace, "LockTimeout acquire", "archiver 177 kwargs Platform"},
		{"one with a question that says little", "I get this:\n```\n" + pythonTrace + "\n```\nWhat should I do?", "LockTimeout acquire", "archiver kwargs Platform ```"},
		{"one with a question", "Why does the nightly backup stop?\n\n" + pythonTrace, "nightly backup LockTimeout", "archiver kwargs Platform"},
		{"a panic in Go", "Caddy stops with this after the upgrade:\npanic: runtime error: invalid memory address\n[signal SIGSEGV: segmentation violation code=0x1]\n\ngoroutine 1 [running]:\nmain.(*Server).Start(0x0)\n\t/app/main.go:42 +0x1d\nmain.main()\n\t/app/main.go:12 +0x25\nexit status 2", "upgrade panic memory", "goroutine main.go SIGSEGV status"},
		{"an error of Node", "/app/index.js:3\nconst x = require('acme')\n          ^\n\nError: Cannot find module 'acme'\n    at Module._resolveFilename (node:internal/modules/cjs/loader:1144:15)\n    at node:internal/main/run_main_module:28:49 {\n  code: 'MODULE_NOT_FOUND',\n  requireStack: []\n}\n\nNode.js v20.1.0", "module acme", "_resolveFilename requireStack index.js"},
		{"a session of a shell", "How do I install the package on Debian?\n$ sudo apt install acme\nReading package lists... Done\nBuilding dependency tree... Done\nE: Unable to locate package acme", "install package Debian Unable locate", "sudo Reading dependency"},
		{"a log behind the question", "How do I purge an object?\n\n" + varnishLog, "purge object", "32770 ReqMethod Timestamp"},
		{"a log before the question", varnishLog + "\nHow do I purge an object?", "purge object", "32770 ReqMethod Timestamp"},
		{"a log in a fence", "How do I purge an object?\n```\n" + varnishLog + "\n```", "purge object", "32770 ReqMethod"},
		{"a log in a fence that nothing ends", "How do I purge an object?\n~~~\n" + varnishLog, "purge object", "32770 ReqMethod"},
		{"a log with an error", "Why do readers see a blank page?\n\n" + nginxLog, "readers blank refused", "signal notice worker"},
		{"a configuration before the question", config + "\n\nwhy does this not pick up new files with wildcards?", "files wildcards", "PollingInterval omfwd 10.0.0.7"},
		{"a configuration behind it", "How do I tag lines by their file?\n" + config, "tag lines file", "PollingInterval omfwd"},
		{"a configuration below a title", "imfile wildcard problem\n" + config + "\nHow do I watch new files?", "wildcard problem watch", "PollingInterval omfwd"},
		{"a question in another language than the log", nginxLog + "\nWie verschicke ich die Meldungen verschlüsselt?", "Meldungen verschlüsselt refused", "signal worker"},
		{"a question in Japanese", "証明書を更新するには\n" + config, "証明書を更新するには", "PollingInterval omfwd"},

		{"a short question in Arabic below a log", nginxLog + "\nكيف أثبت البرنامج؟", "أثبت البرنامج refused", "signal worker"},
		{"one in Greek", nginxLog + "\nΠώς κρυπτογραφώ τα αρχεία;", "κρυπτογραφώ αρχεία refused", "signal worker"},
		{"one in Hebrew without a sign", nginxLog + "\nהצפנת יומנים", "הצפנת יומנים refused", "signal worker"},
		{"one in Thai", nginxLog + "\nวิธีเข้ารหัสบันทึก", "วิธีเข้ารหัสบันทึก refused", "signal worker"},

		{"code in fences of one line", "How do I purge an object?\n```varnishadm``` is too slow.\nThere are many objects.\nThey change each minute.\nWildcards don't work.", "purge varnishadm objects minute Wildcards", ""},
		{"a configuration alone", config, "imfile PollingInterval omfwd", ""},
		{"a configuration with a question that says little", config + "\n\nwhat does this do?", "imfile PollingInterval omfwd", ""},
		{"an error of one line", "borg: Failed to create/acquire the lock (timeout).", "Failed acquire lock timeout", ""},
		{"a line of code in a fence", "What does this directive do?\n```\nreverse_proxy localhost:9000\n```", "directive reverse_proxy", ""},
		{"a long question", long, "300 servers encrypt", ""},
		{"a question of several lines", "I have three servers.\nEach of them runs Debian:\n\n- nginx\n- php-fpm\n- mysql\n\nHow do I send their logs to one place?", "servers Debian nginx php-fpm mysql logs", ""},
		{"a list of names", "How do I combine these directives?\nrewrite\nredir\nfile_server", "combine rewrite redir file_server", ""},
		{"lines that begin like frames", "At first it worked.\nat 10:30 it stopped (I don't know why)\nHow do I find the reason?", "10:30 stopped reason", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, err := acme(nil).Explain(t.Context(), ask(c.message))
			if err != nil {
				t.Fatal(err)
			}
			for w := range strings.FieldsSeq(c.holds) {
				if !strings.Contains(e.Query, w) {
					t.Errorf("%q is not searched for: %q", w, e.Query)
				}
			}
			for w := range strings.FieldsSeq(c.lacks) {
				if strings.Contains(e.Query, w) {
					t.Errorf("%q is searched for: %q", w, e.Query)
				}
			}
			if (e.Other != "") != (c.lacks != "") {
				t.Errorf("the whole message that is searched for, too: %q", e.Other)
			}
		})
	}
}

func TestAQuestionHasItsAnswerWhateverIsPasted(t *testing.T) {
	const question = "How do I install the Acme package on Debian Linux with sudo apt?"
	_, alone := mustReply(t, acme(nil), ask(question))
	quote := func(text string) string {
		_, text, _ = strings.Cut(text, "**[")
		text, _, _ = strings.Cut(text, "See also")
		return text
	}
	for _, c := range []struct{ message, answered string }{
		{question + "\n\n" + varnishLog, "yes"},
		{varnishLog + "\n" + question, "yes"},
		{"```\n" + pythonTrace + "\n```\n" + question, "partly"}, // the error has no answer
	} {
		if res, rec := mustReply(t, acme(nil), ask(c.message)); res.Answered != c.answered || quote(rec.text()) != quote(alone.text()) {
			t.Errorf("answered %s:\n%s", res.Answered, rec.text())
		}
	}
}

func TestALongMessageIsReadInTime(t *testing.T) {
	own, errors, _ := asked.Unpasted("How do I purge an object?\n" + strings.Repeat("a=1\nb=2\nc\n\n", 100_000) + "Error: no object")
	if own != "How do I purge an object?" || errors != "Error: no object" {
		t.Errorf("%.200q, %.200q", own, errors)
	}
}
