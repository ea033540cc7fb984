package meilisearch

import (
	"reflect"
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/caddytest/meiliserver"
	"github.com/caddy-docs/caddy-docs/retrieval"
)

func FuzzNoValueChangesAFilter(f *testing.F) {
	for _, v := range []string{"", "2.x", `a"b`, `\`, `x\" OR lang = "secret`, `\\"`, `\"`, `"`, `\n`, `\u0041`, "é\n\x00", `" AND x = "y`, `\\\"`} {
		f.Add(v, "en", `t\`)
	}
	f.Fuzz(func(t *testing.T, version, language, tag string) {
		for _, s := range []*string{&version, &language, &tag} {
			*s = strings.ToValidUTF8(*s, "")
		}
		expression, ok := filterOf(retrieval.Filter{Version: version, Language: language, Tag: tag})
		if !ok {
			return
		}
		got, err := meiliserver.ParseFilter(expression)
		if err != nil {
			t.Fatalf("the server can't read %s", expression)
		}
		var want []meiliserver.Condition
		for _, c := range []meiliserver.Condition{{Attribute: "version", Value: normal(version)}, {Attribute: "language", Value: normalLanguage(language)}, {Attribute: "tags", Value: normal(tag)}} {
			if c.Value != "" {
				want = append(want, c)
			}
		}
		if len(got) != len(want) {
			t.Fatalf("%s has %d conditions, not %d", expression, len(got), len(want))
		}
		for i := range want {
			if !reflect.DeepEqual(got[i], want[i]) {
				t.Fatalf("%s is read as %+v", expression, got[i])
			}
		}
	})
}

func TestEscapingMarksAloneWouldNotDo(t *testing.T) {
	// Else the parser that the property above is held to would be too kind.
	naive := `tags = "` + strings.ReplaceAll(`x\" AND version = "secret`, `"`, `\"`) + `"`
	if got, err := meiliserver.ParseFilter(naive); err == nil && len(got) == 1 && got[0].Value == `x\" AND version = "secret` {
		t.Error("the parser round-trips a value whose backslashes are not escaped")
	}
}

func TestNamesOfIndexes(t *testing.T) {
	for _, tt := range []struct{ tag, want string }{{"", "und"}, {"en-US", "en"}, {"pt_BR", "pt"}, {"zh-Hans", "zh"}, {"../x", "und"}, {"a", "und"}, {"EN", "en"}} {
		if got := baseLanguage(tt.tag); got != tt.want {
			t.Errorf("%q gives %q, not %q", tt.tag, got, tt.want)
		}
	}
	if got := uidPrefix("docs", "Docs.Example/.."); got != "_docs-docs-example--" {
		t.Errorf("an unsafe name gives %q", got)
	}
}

func TestVersions(t *testing.T) {
	for v, old := range map[string]bool{"1.18.0": false, "1.17.9": true, "0.30.0": true, "2.0.0": false, "1.50.0": false, "v1.18": false, "1.50.0-rc.1": false, "1.17.9-rc.1": true, "": true, "x": true} {
		if older(v, minimumVersion) != old {
			t.Errorf("%q older: %v", v, !old)
		}
	}
}
