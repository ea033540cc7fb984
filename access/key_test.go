package access

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func TestMakeGivesAKeyOfTheDocumentedForm(t *testing.T) {
	form := regexp.MustCompile(`^svc_dsc_[A-Za-z0-9]{38}$`)
	seen := map[string]bool{}
	for range 200 {
		secret, k, err := Make(Key{ID: "mine", Name: "web", Organization: "acme", Sites: []string{"docs"}, Fixed: true}, noon)
		if err != nil {
			t.Fatal(err)
		}
		if !form.MatchString(secret) || !checkMade(secret) || CheckFixed(secret) != nil {
			t.Fatalf("secret %q", secret)
		}
		if seen[secret] || seen[k.ID] {
			t.Fatal("made twice")
		}
		seen[secret], seen[k.ID] = true, true
		if k.Name != "web" || k.Organization != "acme" || len(k.Sites) != 1 || !k.Created.Equal(noon) || k.Fixed {
			t.Fatalf("key %+v", k)
		}
		if _, ok := recordID(recordKey(k.ID)); !ok {
			t.Fatalf("id %q makes a record that is not read", k.ID)
		}
	}
}

// checkMade reports whether secret has the form of a generated key and a
// correct checksum.
func checkMade(secret string) bool {
	body, ok := strings.CutPrefix(secret, Prefix)
	return ok && len(body) == randomLength+checksumLength && checksum(body[:randomLength]) == body[randomLength:]
}

func TestTheChecksumFindsTypingErrors(t *testing.T) {
	secret, _, err := Make(Key{Organization: "acme"}, noon)
	if err != nil {
		t.Fatal(err)
	}
	for i := len(Prefix); i < len(secret); i++ {
		wrong := []byte(secret)
		wrong[i] = 'x'
		if secret[i] == 'x' {
			wrong[i] = 'y'
		}
		if checkMade(string(wrong)) {
			t.Errorf("character %d changed and not noticed", i)
		}
	}
	if checkMade(secret[:len(secret)-1]) || checkMade(secret+"a") || checkMade(strings.TrimPrefix(secret, Prefix)) {
		t.Error("a cut or longer key passes")
	}
}

func TestMakeRefuses(t *testing.T) {
	many := make([]string, maxNarrowed+1)
	for i := range many {
		many[i] = "site"
	}
	for name, tt := range map[string]struct {
		key  Key
		want string
	}{
		"no organization":           {Key{}, `organization "": must be 1 to 63`},
		"an organization by title":  {Key{Organization: "Acme Inc"}, `organization "Acme Inc"`},
		"an organization of a path": {Key{Organization: "../x"}, `organization "../x"`},
		"a site that is no label":   {Key{Organization: "acme", Sites: []string{"a.b"}}, `site "a.b"`},
		"too many sites":            {Key{Organization: "acme", Sites: many}, "at most 100 sites"},
		"an origin with a path":     {Key{Organization: "acme", Origins: []string{"https://acme.com/docs"}}, "more than an origin"},
		"a long name":               {Key{Organization: "acme", Name: strings.Repeat("ä", 101)}, "at most 100 characters, this one has 101"},
		"a name with an escape":     {Key{Organization: "acme", Name: "a\x1b[31m"}, "control characters"},
		"a name that is not UTF-8":  {Key{Organization: "acme", Name: "a\xff"}, "control characters"},
		"an expiry in the past":     {Key{Organization: "acme", Expires: noon}, "in the past"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := Make(tt.key, noon)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q in it", err, tt.want)
			}
		})
	}
}

func TestCheckFixed(t *testing.T) {
	for secret, want := range map[string]string{
		"svc_dsc_0123456789abcdef":            "",
		"svc_dsc_A-z_0123456789abcdef":        "",
		"svc_dsc_0123456789abcde":             "at least 16 characters after svc_dsc_, this one has 15",
		"svc_dsc_":                            "at least 16",
		"sk-0123456789abcdef":                 "starts with svc_dsc_",
		"":                                    "starts with svc_dsc_",
		"svc_dsc_0123456789abcdé f":           "character 15 after svc_dsc_ is not one of these",
		"svc_dsc_0123456789abcdef\n":          "character 17",
		"svc_dsc_" + strings.Repeat("a", 300): "at most 256",
	} {
		err := CheckFixed(secret)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: error %v, want %q", secret, err, want)
		}
		if body := strings.TrimPrefix(secret, Prefix); err != nil && len(body) > 4 && strings.Contains(err.Error(), body) {
			t.Errorf("the error holds the secret: %v", err)
		}
	}
}

func TestNewFixed(t *testing.T) {
	hash := Hash("svc_dsc_0123456789abcdef")
	k, err := NewFixed(hash, Key{Organization: "acme", Sites: []string{"docs"}, Origins: []string{"https://acme.com"}})
	if err != nil {
		t.Fatal(err)
	}
	again, _ := NewFixed(strings.ToUpper(hash), Key{Organization: "other"})
	if !k.Fixed || k.ID != again.ID || !strings.HasPrefix(k.ID, "fixed-") {
		t.Errorf("ids %q and %q", k.ID, again.ID)
	}
	if strings.Contains(hash, strings.TrimPrefix(k.ID, "fixed-")) {
		t.Error("the id is a part of the hash")
	}
	if !k.AllowsOrigin("https://acme.com") || k.AllowsOrigin("https://acme.org") {
		t.Error("origins are not heeded")
	}
	for _, bad := range []string{"", "zz", hash[:62], hash + "00", "svc_dsc_0123456789abcdef"} {
		if _, err := NewFixed(bad, Key{Organization: "acme"}); err == nil || !strings.Contains(err.Error(), "64 hex digits") {
			t.Errorf("hash %q: %v", bad, err)
		}
	}
	if _, err := NewFixed(hash, Key{}); err == nil {
		t.Error("a key without organization is accepted")
	}
}

func TestKeyOpens(t *testing.T) {
	for name, tt := range map[string]struct {
		key                Key
		organization, site string
		want               bool
	}{
		"any site of its organization":     {Key{Organization: "acme"}, "acme", "docs", true},
		"a site it is narrowed to":         {Key{Organization: "acme", Sites: []string{"a", "docs"}}, "acme", "docs", true},
		"not another site":                 {Key{Organization: "acme", Sites: []string{"a"}}, "acme", "docs", false},
		"not another organization":         {Key{Organization: "acme"}, "other", "docs", false},
		"not its site's name elsewhere":    {Key{Organization: "acme", Sites: []string{"docs"}}, "other", "docs", false},
		"nothing without an organization":  {Key{}, "", "docs", false},
		"not a site by the prefix of name": {Key{Organization: "acme", Sites: []string{"docs"}}, "acme", "docs2", false},
	} {
		if got := tt.key.Opens(tt.organization, tt.site); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestKeyJSONHasNoHash(t *testing.T) {
	secret, k, err := Make(Key{Organization: "acme", Name: "web"}, noon)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []any{k, *k} {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		printed := fmt.Sprintf("%s %v", data, k.Name)
		if strings.Contains(printed, Hash(secret)) || strings.Contains(printed, secret) || strings.Contains(printed, "sha256") {
			t.Errorf("JSON %s", data)
		}
		if strings.Contains(string(data), "expires") || strings.Contains(string(data), "lastUsed") {
			t.Errorf("zero times are shown: %s", data)
		}
	}
}

func TestRecordsAreReadAsWritten(t *testing.T) {
	secret, k, err := Make(Key{Organization: "acme", Name: "web", Sites: []string{"a"}, Origins: []string{"http://localhost:*"}, Expires: noon.Add(time.Hour)}, noon)
	if err != nil {
		t.Fatal(err)
	}
	data, err := Record(k)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(data), secret) {
		t.Fatal("the record holds the secret")
	}
	got, err := parseRecord(data)
	if err != nil {
		t.Fatal(err)
	}
	if got.hash != k.hash || got.Name != "web" || got.Sites[0] != "a" || !got.Expires.Equal(k.Expires) || !got.AllowsOrigin("http://localhost:5173") {
		t.Errorf("read %+v, wrote %+v", got, k)
	}
}

func TestRecordsThatAreWrongAreRefused(t *testing.T) {
	sum := Hash("svc_dsc_0123456789abcdef")
	for name, data := range map[string]string{
		"empty":                ``,
		"null":                 `null`,
		"cut":                  `{"id":"kabcde","orga`,
		"another form of id":   `{"id":"K/../x","organization":"acme","sha256":"` + sum + `"}`,
		"no hash":              `{"id":"kabcde","organization":"acme"}`,
		"bad hash":             `{"id":"kabcde","organization":"acme","sha256":"xyz"}`,
		"no organization":      `{"id":"kabcde","sha256":"` + sum + `"}`,
		"organization is path": `{"id":"kabcde","organization":"../..","sha256":"` + sum + `"}`,
		"bad origin":           `{"id":"kabcde","organization":"acme","origins":["*"],"sha256":"` + sum + `"}`,
		"huge":                 `{"id":"kabcde","organization":"acme","sha256":"` + sum + `","x":"` + strings.Repeat("a", maxRecord) + `"}`,
		"wrong type":           `{"id":7}`,
	} {
		if _, err := parseRecord([]byte(data)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if k, err := parseRecord([]byte(`{"id":"kabcde","organization":"acme","sha256":"` + sum + `","fixed":true,"unknown":1}`)); err != nil || k.Fixed {
		t.Errorf("unknown fields of a later release: %v", err)
	}
}

func TestParseExpiry(t *testing.T) {
	for in, want := range map[string]time.Time{
		"":                          {},
		"never":                     {},
		"12h":                       noon.Add(12 * time.Hour),
		" 90d ":                     noon.AddDate(0, 0, 90),
		"6w":                        noon.AddDate(0, 0, 42),
		"1y":                        noon.AddDate(1, 0, 0),
		"2027-01-31":                time.Date(2027, 2, 1, 0, 0, 0, 0, time.UTC),
		"2027-01-31T10:00:00+02:00": time.Date(2027, 1, 31, 8, 0, 0, 0, time.UTC),
		"2026-11-20":                time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC),
	} {
		got, err := ParseExpiry(in, noon)
		if err != nil || !got.Equal(want) {
			t.Errorf("%q: %v, %v; want %v", in, got, err, want)
		}
	}
	for in, want := range map[string]string{
		"0d": "not in the future", "2026-11-19": "not in the future", "101y": "more than 100 years",
		"d": "write a time", "90": "write a time", "-3d": "write a time", "90days": "write a time",
		"1.5d": "write a time", "99999d": "write a time", "soon": "write a time", "é": "write a time",
	} {
		if _, err := ParseExpiry(in, noon); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", in, err, want)
		}
	}
}

func FuzzRecord(f *testing.F) {
	_, k, err := Make(Key{Organization: "acme", Origins: []string{"https://acme.com"}}, noon)
	if err != nil {
		f.Fatal(err)
	}
	data, _ := Record(k)
	f.Add(data)
	f.Add([]byte(`{"id":"kabcde","organization":"acme","sha256":"00"}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, data []byte) {
		k, err := parseRecord(data)
		if err != nil {
			return
		}
		if !keyID.MatchString(k.ID) || CheckName("organization", k.Organization) != nil || k.used == nil {
			t.Fatalf("accepted %+v", k)
		}
		k.AllowsOrigin("https://acme.com")
		again, err := Record(k)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parseRecord(again); err != nil && len(again) <= maxRecord {
			t.Fatalf("wrote what can't be read: %v", err)
		}
	})
}

func FuzzSecret(f *testing.F) {
	f.Add("svc_dsc_0123456789abcdef")
	f.Add("svc_dsc_\xff\x00")
	f.Fuzz(func(t *testing.T, s string) {
		fixed := CheckFixed(s) == nil
		if checkMade(s) && !fixed {
			t.Fatalf("%q has a made key's form and no key's", s)
		}
		if fixed != regexp.MustCompile(`^svc_dsc_[A-Za-z0-9_-]{16,248}$`).MatchString(s) || fixed && strings.HasSuffix(s, "\n") {
			t.Fatalf("%q: fixed %v", s, fixed)
		}
		ks := NewKeys(nil, nil, quiet)
		if _, ok := ks.Authenticate(s); ok {
			t.Fatalf("%q opens", s)
		}
	})
}

func FuzzParseExpiry(f *testing.F) {
	for _, s := range []string{"90d", "2027-01-31", "", "1y"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		at, err := ParseExpiry(s, noon)
		if err == nil && !at.IsZero() && !at.After(noon) {
			t.Fatalf("%q: %v is over", s, at)
		}
	})
}
