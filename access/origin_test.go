package access

import (
	"strings"
	"testing"
)

// matches is what AllowsOrigin asks of each pattern of a key.
func (o Origin) matches(origin string) bool {
	got, err := ParseOrigin(origin)
	return err == nil && o.covers(got)
}

func TestOriginMatches(t *testing.T) {
	for name, tt := range map[string]struct {
		pattern, origin string
		want            bool
	}{
		"the same":                              {"https://acme.com", "https://acme.com", true},
		"a slash at the end of the pattern":     {"https://acme.com/", "https://acme.com", true},
		"upper case in the pattern":             {"HTTPS://Acme.COM", "https://acme.com", true},
		"the default port written":              {"https://acme.com:443", "https://acme.com", true},
		"the default port of http written":      {"http://acme.com:80", "http://acme.com", true},
		"another scheme":                        {"https://acme.com", "http://acme.com", false},
		"another port":                          {"https://acme.com", "https://acme.com:8443", false},
		"a subdomain":                           {"https://acme.com", "https://evil.acme.com", false},
		"a host that ends the same":             {"https://acme.com", "https://evilacme.com", false},
		"a host that begins the same":           {"https://acme.com", "https://acme.com.evil.net", false},
		"a user that looks like the host":       {"https://acme.com", "https://acme.com@evil.net", false},
		"a path behind":                         {"https://acme.com", "https://acme.com/x", false},
		"a name in Unicode as browsers send it": {"https://bücher.example", "https://xn--bcher-kva.example", true},
		"any port of localhost":                 {"http://localhost:*", "http://localhost:5173", true},
		"no port of localhost":                  {"http://localhost:*", "http://localhost", true},
		"localhost by another scheme":           {"http://localhost:*", "https://localhost:5173", false},
		"a host that begins with localhost":     {"http://localhost:*", "http://localhost.evil.net:80", false},
		"localhost's address is not its name":   {"http://localhost:*", "http://127.0.0.1:5173", false},
		"any port of 127.0.0.1":                 {"http://127.0.0.1:*", "http://127.0.0.1:3000", true},
		"any port of ::1":                       {"http://[::1]:*", "http://[::1]:3000", true},
		"the star itself":                       {"http://localhost:*", "http://localhost:*", false},
		"an IPv6 address written otherwise":     {"http://[2001:db8:0::1]:3000", "http://[2001:db8::1]:3000", true},
		"null":                                  {"https://acme.com", "null", false},
		"nothing":                               {"https://acme.com", "", false},
		"an app's own scheme":                   {"capacitor://localhost", "capacitor://localhost", true},
		"an extension":                          {"chrome-extension://abcdef", "chrome-extension://abcdef", true},
		"a name with an underscore":             {"https://my_docs.acme.com", "https://my_docs.acme.com", true},
		"a dot at the end":                      {"https://acme.com.", "https://acme.com", true},
	} {
		t.Run(name, func(t *testing.T) {
			o, err := ParseOrigin(tt.pattern)
			if err != nil {
				t.Fatal(err)
			}
			if got := o.matches(tt.origin); got != tt.want {
				t.Errorf("%s matches %s: %v", o, tt.origin, got)
			}
			again, err := ParseOrigin(o.String())
			if err != nil || again != o {
				t.Errorf("%q reads as %v, %v", o.String(), again, err)
			}
		})
	}
}

func TestParseOriginSaysWhatToWrite(t *testing.T) {
	for in, want := range map[string]string{
		"acme.com":                            "write scheme, host",
		"":                                    "write scheme, host",
		"https://":                            "write scheme, host",
		"https://acme.com/docs":               "more than an origin",
		"https://acme.com?x":                  "more than an origin",
		"https://a b.com":                     "more than an origin",
		"https://*.acme.com":                  "name each host",
		"https://acme.com:*":                  "name the port",
		"http://localhost:80:*":               "write scheme, host",
		"https://acme.com:":                   "colon without a port",
		"https://acme.com:0":                  "1 to 65535",
		"https://acme.com:99999":              "1 to 65535",
		"https://acme.com:http":               "write scheme, host",
		"*":                                   "omit origins",
		"null":                                "sandboxed",
		"1http://acme.com":                    "write scheme, host",
		"https://[fe80::1%25eth0]":            "neither a name nor an IP address",
		"https://a(b).com":                    "neither a name nor an IP address",
		"https://" + strings.Repeat("a", 300): "longer than 300",
	} {
		if _, err := ParseOrigin(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", in, err, want)
		}
	}
}

func TestOriginOf(t *testing.T) {
	for in, want := range map[string]string{
		"https://Acme.com/docs/?a=b#c": "https://acme.com",
		"http://acme.com:8080/":        "http://acme.com:8080",
		"https://acme.com:443":         "https://acme.com",
		"/docs":                        "",
		"http://localhost:*":           "",
		"://":                          "",
		"mailto:a@b":                   "",
		"https://a(b)/":                "",
	} {
		if got := OriginOf(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestClient(t *testing.T) {
	for in, want := range map[string]string{
		"192.0.2.7":                   "192.0.2.7",
		"::ffff:192.0.2.7":            "192.0.2.7",
		"2001:db8:1:2:3:4:5:6":        "2001:db8:1:2::/64",
		"2001:db8:1:2:ffff::1":        "2001:db8:1:2::/64",
		"2001:db8:1:3::1":             "2001:db8:1:3::/64",
		"[2001:db8::1]":               "2001:db8::/64",
		"fe80::1%eth0":                "fe80::/64",
		"":                            "",
		"@":                           "@",
		strings.Repeat("x", 100):      strings.Repeat("x", 64),
		strings.Repeat("x", 63) + "é": strings.Repeat("x", 63),
	} {
		if got := Client(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func FuzzParseOrigin(f *testing.F) {
	for _, s := range []string{"https://acme.com", "http://localhost:*", "http://[::1]:3000", "https://bücher.example", "x://y:1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		o, err := ParseOrigin(s)
		if err != nil {
			return
		}
		again, err := ParseOrigin(o.String())
		if err != nil || again != o {
			t.Fatalf("%q prints as %q, which reads as %v, %v", s, o, again, err)
		}
		if o.port != "*" && !o.matches(o.String()) {
			t.Fatalf("%q does not match itself", s)
		}
	})
}
