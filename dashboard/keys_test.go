package dashboard

import (
	"encoding/json"
	"github.com/caddy-docs/caddy-docs/retrieval/links"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/caddy-docs/caddy-docs/access"
)

func submit(t *testing.T, d *Dashboard, path string, v *Visitor, form url.Values) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	w := httptest.NewRecorder()
	d.Serve(w, r, "", v)
	return w
}

func TestAKeyIsCreatedAndItsSecretShownOnce(t *testing.T) {
	s := new(twoOrganizations)
	d := newDashboard(s)
	w := submit(t, d, "/acme/acme-docs/keys", visitors["a member"], url.Values{
		"name": {"Front end"}, "expires": {"90d"}, "sites": {"acme-docs"}, "origins": {"https://a.example\nhttp://localhost:*"},
	})
	if w.Code != http.StatusOK || len(s.added) != 1 {
		t.Fatalf("%d, added %v\n%s", w.Code, s.added, w.Body)
	}
	var k struct {
		access.Key
		SHA256 string
	}
	if err := json.Unmarshal([]byte(s.added[0]), &k); err != nil {
		t.Fatal(err)
	}
	days := time.Until(k.Expires).Hours() / 24
	if k.Name != "Front end" || k.Organization != "acme" || !slices.Equal(k.Sites, []string{"acme-docs"}) || len(k.Origins) != 2 || days < 89.9 || days > 90.1 {
		t.Errorf("the key is %+v, expires in %v days", k.Key, days)
	}
	_, secret, _ := strings.Cut(w.Body.String(), `aria-labelledby="secret-label">`)
	secret, _, _ = strings.Cut(secret, "<")
	if access.Hash(secret) != k.SHA256 || strings.Contains(s.added[0], secret) {
		t.Errorf("%q is shown, stored is %s", secret, s.added[0])
	}
	if strings.Count(w.Body.String(), secret) != 2 || !strings.Contains(w.Body.String(), "/v1/widget/acme-docs.js") {
		t.Errorf("the command or the tag is missing:\n%s", w.Body)
	}
	if w := ask(t, d, http.MethodGet, "/acme/acme-docs/keys", visitors["a member"]); strings.Contains(w.Body.String(), secret) || strings.Contains(w.Body.String(), "of rival") {
		t.Errorf("the page shows too much:\n%s", w.Body)
	}
}

func TestAWrongKeyIsRefusedWithWhatToWrite(t *testing.T) {
	for name, c := range map[string]struct {
		form url.Values
		says string
	}{
		"an origin without scheme":     {url.Values{"expires": {"7d"}, "origins": {"a.example"}}, "a.example"},
		"a site of another":            {url.Values{"expires": {"7d"}, "sites": {"rival-docs"}}, "choose sites of the organization"},
		"an expiry that is no choice":  {url.Values{"expires": {"1000y"}}, "choose one of the listed expiry times"},
		"no expiry":                    {url.Values{}, "choose one of the listed expiry times"},
		"a name with a line break":     {url.Values{"expires": {"7d"}, "name": {"a\nb"}}, "control characters"},
		"a name of too many letters":   {url.Values{"expires": {"7d"}, "name": {strings.Repeat("x", 101)}}, "at most 100 characters"},
		"more origins than a key has":  {url.Values{"expires": {"7d"}, "origins": {strings.Repeat("https://a.example ", 101)}}, "at most"},
		"a script instead of a origin": {url.Values{"expires": {"7d"}, "origins": {"<script>alert(1)</script>"}}, "&lt;script&gt;"},
	} {
		s := new(twoOrganizations)
		w := submit(t, newDashboard(s), "/acme/acme-docs/keys", visitors["a member"], c.form)
		if w.Code != http.StatusBadRequest || len(s.added) > 0 || !strings.Contains(w.Body.String(), c.says) || strings.Contains(w.Body.String(), "<script>alert") {
			t.Errorf("%s: %d, added %v\n%s", name, w.Code, s.added, w.Body)
		}
	}
	s := new(twoOrganizations)
	if w := submit(t, newDashboard(s), "/acme/acme-docs/keys", visitors["a member"], url.Values{"name": {strings.Repeat("x", maxForm)}}); w.Code != http.StatusBadRequest || len(s.added) > 0 {
		t.Errorf("a form of %d bytes: %d", maxForm, w.Code)
	}
}

func TestAKeyIsRevokedByItsOrganizationOnly(t *testing.T) {
	for id, want := range map[string]int{"k0001": http.StatusSeeOther, "k0002": http.StatusNotFound, "k00": http.StatusNotFound, "fixed-1": http.StatusConflict} {
		s := new(twoOrganizations)
		w := submit(t, newDashboard(s), "/acme/acme-docs/keys/"+id+"/revoke", visitors["a member"], nil)
		if w.Code != want || (len(s.revoked) == 1) != (want == http.StatusSeeOther) {
			t.Errorf("%s: %d, revoked %v", id, w.Code, s.revoked)
		}
	}
}

func TestKeysHaveBadges(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	for in, want := range map[time.Duration]string{0: "active", -time.Hour: "expired", time.Hour: "expires today", 50 * time.Hour: "expires in 2 days", 8 * 24 * time.Hour: "active"} {
		k := &access.Key{}
		if in != 0 {
			k.Expires = now.Add(in)
		}
		if got := describeKey(k, now).Badge; got != want {
			t.Errorf("a key that expires in %v: %s, want %s", in, got, want)
		}
	}
}

func TestTitlesOfLockedPagesAreForAdministrators(t *testing.T) {
	s := &twoOrganizations{pages: []Page{{URL: "/secret", Title: "The secret plan", State: "locked"}, {URL: "/", Title: "Start", State: "public"}}}
	d := newDashboard(s)
	for name, sees := range map[string]bool{"a viewer": false, "a member": false, "an admin": true} {
		for _, path := range []string{"/acme/acme-docs/content", "/acme/acme-docs/content?find=plan"} {
			w := ask(t, d, http.MethodGet, path, visitors[name])
			if got := strings.Contains(w.Body.String(), "secret plan"); got != sees {
				t.Errorf("%s: %s: sees it: %t", name, path, got)
			}
		}
	}
}

// A link on a locked page is text of that page, and whether a link to a section
// of one leads somewhere says what is on it.
func TestLinksOfLockedPagesAreForAdministrators(t *testing.T) {
	s := &twoOrganizations{
		pages: []Page{{Name: "secret", URL: "/secret", State: "locked"}, {Name: "", URL: "/", State: "public"}, {Name: "new", URL: "/new", State: "unknown"}},
		links: &links.Report{Broken: []links.Broken{
			{File: "index.html", Line: 7, Href: "/instal", Name: "", To: "instal"},
			{File: "secret.html", Href: "/codename", Name: "secret", To: "codename"},
			{File: "index.html", Href: "/secret#codename", Name: "", To: "secret", Section: true},
			{File: "new.html", Href: "/codename", Name: "new", To: "codename"},
			{File: "gone.html", Href: "/codename", Name: "gone", To: "codename"},
		}},
	}
	d := newDashboard(s)
	for name, sees := range map[string]int{"a viewer": 0, "a member": 0, "an admin": 3} {
		body := ask(t, d, http.MethodGet, "/acme/acme-docs/content", visitors[name]).Body.String()
		if got := strings.Count(body, "codename"); got != sees {
			t.Errorf("%s sees %d links of locked pages", name, got)
		}
		if want := map[bool]string{true: "4 links lead nowhere</h2></summary>", false: "1 link leads nowhere</h2></summary>"}[sees > 0]; !strings.Contains(body, want) {
			t.Errorf("%s doesn't see %q", name, want)
		}
		if !strings.Contains(body, "index.html:7") || !strings.Contains(body, "/instal") {
			t.Errorf("%s doesn't see the broken link of the public page", name)
		}
	}
}
