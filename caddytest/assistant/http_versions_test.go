package assistant

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/caddytest"
)

// The widget's tag is put into pages alike in all versions of HTTP.
func TestTheTagStandsInPagesOfEveryHTTPVersion(t *testing.T) {
	const tag = `<script src="/v1/widget/acme.js" defer></script>`
	s := newSecure(t)
	caddytest.Write(t, s.root, map[string]string{"plain.html": "<!doctype html><html><head><title>Plain</title></head><body><h1>Plain</h1></body></html>\n"})
	s.loaded(s.TryLoad(s.caddyfile("", "", "root * "+s.root+"\n\tfile_server", "\t\twidget inject")))
	for name, client := range clientsOfEveryHTTP(t) {
		do := func(method string, header ...string) (*http.Response, string) {
			t.Helper()
			r, err := http.NewRequestWithContext(t.Context(), method, s.Base+"/plain.html", nil)
			if err != nil {
				t.Fatal(err)
			}
			for i := 0; i < len(header); i += 2 {
				r.Header.Set(header[i], header[i+1])
			}
			res, err := client.Do(r)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			defer res.Body.Close()
			body, err := io.ReadAll(res.Body)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			return res, string(body)
		}
		// The page's links for agents change its text and ETag: they are there
		// once the page is indexed.
		caddytest.Until(t, "the page is indexed", func() bool {
			_, body := do("GET")
			return strings.Contains(body, `rel="llms-txt"`)
		})
		got, body := do("GET")
		length := strconv.Itoa(len(body))
		if got.StatusCode != 200 || "h"+strconv.Itoa(got.ProtoMajor) != name || strings.Count(body, tag) != 1 || got.Header.Get("Content-Length") != length {
			t.Errorf("%s: %s %s %v\n%s", name, got.Proto, got.Status, got.Header, body)
		}
		if head, _ := do("HEAD"); head.StatusCode != 200 || head.Header.Get("ETag") != got.Header.Get("ETag") || head.Header.Get("Content-Length") != "" {
			t.Errorf("%s, HEAD: %s %v", name, head.Status, head.Header)
		}
		if part, all := do("GET", "Range", "bytes=0-9"); part.StatusCode != 200 || all != body {
			t.Errorf("%s, a part: %s\n%s", name, part.Status, all)
		}
		if same, none := do("GET", "If-None-Match", got.Header.Get("ETag")); same.StatusCode != 304 || none != "" {
			t.Errorf("%s, the same: %s", name, same.Status)
		}
	}
}
