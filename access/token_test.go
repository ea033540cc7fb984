package access

import (
	"encoding/base64"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/caddy-docs/caddy-docs/store"
)

func testTokens(s store.Store) *Tokens { return NewTokens(s, slog.New(slog.DiscardHandler)) }

var reader = Token{Site: "acme", Origin: "https://docs.acme.com", Address: "198.51.100.7"}

func TestATokenIsWorthNothingElsewhere(t *testing.T) {
	ts := testTokens(new(memory))
	token := ts.Issue(t.Context(), reader, noon)
	if !IsToken(token) || CheckFixed(token) == nil || !strings.HasPrefix(token, Prefix) {
		t.Fatalf("token %q", token)
	}
	other := testTokens(new(memory)).Issue(t.Context(), reader, noon)
	text, signature, _ := strings.Cut(strings.TrimPrefix(token, Prefix), ".")
	body, _ := base64.RawURLEncoding.DecodeString(text)
	forged := Prefix + base64.RawURLEncoding.EncodeToString([]byte(strings.Replace(string(body), "acme", "beta", 1))) + "." + signature
	for name, c := range map[string]struct {
		token string
		t     Token
		after time.Duration
		want  error
	}{
		"at once":                       {token, reader, 0, nil},
		"at its end":                    {token, reader, TokenLife - time.Second, nil},
		"from the same network":         {token, Token{"acme", reader.Origin, "198.51.100.200"}, 0, nil},
		"mapped to IPv6":                {token, Token{"acme", reader.Origin, "::ffff:198.51.100.7"}, 0, nil},
		"an origin in other letters":    {token, Token{"acme", "https://DOCS.acme.com", reader.Address}, 0, nil},
		"later":                         {token, reader, TokenLife, ErrTokenExpired},
		"another site":                  {token, Token{"beta", reader.Origin, reader.Address}, 0, ErrTokenSite},
		"another origin":                {token, Token{"acme", "https://evil.example", reader.Address}, 0, ErrTokenOrigin},
		"no origin":                     {token, Token{"acme", "", reader.Address}, 0, ErrTokenOrigin},
		"another scheme":                {token, Token{"acme", "http://docs.acme.com", reader.Address}, 0, ErrTokenOrigin},
		"another network":               {token, Token{"acme", reader.Origin, "198.51.101.7"}, 0, ErrTokenNetwork},
		"an address of IPv6":            {token, Token{"acme", reader.Origin, "2001:db8::1"}, 0, ErrTokenNetwork},
		"another server's":              {other, reader, 0, errTokenInvalid},
		"with another site written in":  {forged, Token{"beta", reader.Origin, reader.Address}, 0, errTokenInvalid},
		"with another signature":        {Prefix + text + "." + base64.RawURLEncoding.EncodeToString(make([]byte, 32)), reader, 0, errTokenInvalid},
		"without a signature":           {Prefix + text + ".", reader, 0, errTokenInvalid},
		"with something after":          {token + "A", reader, 0, errTokenInvalid},
		"empty":                         {Prefix + ".", reader, 0, errTokenInvalid},
		"JSON that is none":             {Prefix + "bnVsbA." + signature, reader, 0, errTokenInvalid},
		"longer than any":               {token + strings.Repeat("A", 2000), reader, 0, errTokenInvalid},
		"a key":                         {Prefix + "0123456789abcdef", reader, 0, errTokenInvalid},
		"expired and of another origin": {token, Token{"acme", "https://evil.example", reader.Address}, time.Hour, ErrTokenExpired},
	} {
		if err := ts.Check(t.Context(), c.token, c.t, noon.Add(c.after)); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	v6 := Token{"acme", reader.Origin, "2001:db8:1:2::3"}
	token = ts.Issue(t.Context(), v6, noon)
	for address, want := range map[string]error{"2001:db8:1:ffff::9": nil, "2001:db8:2::1": ErrTokenNetwork} {
		if err := ts.Check(t.Context(), token, Token{"acme", reader.Origin, address}, noon); !errors.Is(err, want) {
			t.Errorf("from %s: %v, want %v", address, err, want)
		}
	}
}

func TestServersShareTheSecretsOfTokens(t *testing.T) {
	kept := new(memory)
	a, b := testTokens(kept), testTokens(kept)
	first := a.Issue(t.Context(), reader, noon)
	if err := b.Check(t.Context(), first, reader, noon); err != nil {
		t.Errorf("another server refuses a token: %v", err)
	}
	// A day later the secret is another one, and tokens of the last one are
	// still valid.
	late := noon.Add(secretLife - time.Minute)
	last := a.Issue(t.Context(), reader, late)
	next := b.Issue(t.Context(), reader, noon.Add(secretLife+time.Minute))
	if first[:40] == next[:40] {
		t.Error("the secret was not replaced")
	}
	for name, token := range map[string]string{"the last secret's": last, "the new one's": next} {
		for who, ts := range map[string]*Tokens{"one server": a, "the other": b, "a new one": testTokens(kept)} {
			if err := ts.Check(t.Context(), token, reader, noon.Add(secretLife+2*time.Minute)); err != nil {
				t.Errorf("%s refuses %s token: %v", who, name, err)
			}
		}
	}
	// Old secrets are removed.
	a.Issue(t.Context(), reader, noon.Add(3*secretLife))
	names, _ := kept.List(t.Context(), secretsPrefix)
	if len(names) != 1 {
		t.Errorf("%d secrets are stored", len(names))
	}
}

func TestUnknownTokensReadTheStoreRarely(t *testing.T) {
	kept := new(memory)
	ts := testTokens(kept)
	foreign := testTokens(new(memory)).Issue(t.Context(), reader, noon)
	lists := 0
	kept.listed = func(names []string) []string { lists++; return names }
	for range 100 {
		_ = ts.Check(t.Context(), foreign, reader, noon)
	}
	if n := lists; n != 1 {
		t.Errorf("the store was read %d times", n)
	}
}

func FuzzToken(f *testing.F) {
	ts := testTokens(new(memory))
	f.Add(ts.Issue(f.Context(), reader, noon))
	f.Add("svc_dsc_e30.AA")
	f.Fuzz(func(t *testing.T, token string) {
		if err := ts.Check(t.Context(), token, Token{"beta", reader.Origin, reader.Address}, noon); err == nil {
			t.Errorf("%q is accepted", token)
		}
	})
}
