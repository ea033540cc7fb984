package encoding_test

import (
	"encoding/json"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/caddy-docs/caddy-docs/encoding"
)

func TestFilesThatAreNotTextAreSkippedWhileABodyIsRead(t *testing.T) {
	long := strings.Repeat("QUJD", 100_000)
	for name, tt := range map[string]struct {
		value string
		kept  bool
	}{
		"an image":                      {`data:image/png;base64,` + long, false},
		"with an escaped slash":         {`DATA:image\/png;base64,` + long, false},
		"a PDF, percent-encoded":        {`data:application/pdf,` + long, false},
		"with escape sequences in it":   {`data:image/svg+xml,` + strings.Repeat(`\u003c\"\\`, 50_000), false},
		"with a quoted parameter":       {`data:image/png;name=\"a.png\";base64,` + long, false},
		"a text, with an escaped slash": {`data:text\/plain;base64,` + long, true},
		"a text":                        {`data:text/plain;base64,` + long, true},
		"no type":                       {`data:;base64,` + long, true},
		"a URL":                         {`https://acme.test/` + long, true},
		"words that begin like a file":  {`data:image/png is what, I think? ` + long, true},
		"a short image":                 {`data:image/png;base64,QUJD`, true},
	} {
		t.Run(name, func(t *testing.T) {
			body := `{"id":"c","trigger":"submit-message","fp":"a","messages":[{"id":"m","role":"user","parts":[{"type":"file","mediaType":"x/y","filename":"f","url":"` +
				tt.value + `"},{"type":"text","text":"What is \"this\"?"}]}]}`
			out, err := io.ReadAll(encoding.SkipFiles(iotest.HalfReader(strings.NewReader(body))))
			if err != nil || !json.Valid(out) {
				t.Fatalf("%v: %.700s", err, out)
			}
			if kept := string(out) == body; kept != tt.kept || !kept && len(out) > 1000 {
				t.Errorf("%d of %d bytes are kept: %.700s", len(out), len(body), out)
			}
			whole, err := decodeV2([]byte(body))
			if err != nil {
				t.Fatal(err)
			}
			if part, err := decodeV2(out); err != nil || !reflect.DeepEqual(part, whole) {
				t.Errorf("%v: %+v instead of %+v", err, part, whole)
			}
		})
	}
}

// What a body means does not depend on the skipping. Only an invalid escape in
// the skipped part of a file goes unnoticed.
func FuzzSkipFiles(f *testing.F) {
	f.Add(`{"a":"data:image/png;base64,`+strings.Repeat("A", 600)+`\"","b":"\\"}`, 7)
	f.Add(`["\u0022","data:a/b,`+strings.Repeat(`\u0041`, 200)+`"]`, 1)
	f.Fuzz(func(t *testing.T, body string, _ int) {
		out, err := io.ReadAll(encoding.SkipFiles(iotest.OneByteReader(strings.NewReader(body))))
		if err != nil {
			t.Fatal(err)
		}
		if json.Valid([]byte(body)) && !json.Valid(out) {
			t.Errorf("%q became %q", body, out)
		}
		if !strings.Contains(strings.ToLower(body), "data:") && string(out) != body {
			t.Errorf("%q became %q", body, out)
		}
	})
}
