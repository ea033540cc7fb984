package dashboard

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

// clocked are logins with a clock that the test moves.
func clocked() (*Logins, memory, *time.Time) {
	stored, now := memory{}, time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	l := NewLogins(stored, slog.New(slog.DiscardHandler))
	l.now = func() time.Time { return now }
	return l, stored, &now
}

func TestACodeSignsInOnce(t *testing.T) {
	l, stored, now := clocked()
	ctx := t.Context()
	code, err := l.Code(ctx, "acme", "Mia")
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range stored {
		if plain := strings.ReplaceAll(code, "-", ""); strings.Contains(key+string(value), plain) {
			t.Errorf("the code is stored: %s %s", key, value)
		}
	}
	for name, wrong := range map[string]string{"empty": "", "short": "ABC", "unknown": "AAAA-BBBB-CCCC", "a path": "../../../etc/pa", "long": strings.Repeat("A", 1000)} {
		if _, _, err := l.Redeem(ctx, wrong); !errors.Is(err, errCode) {
			t.Errorf("%s: %v", name, err)
		}
	}
	secret, s, err := l.Redeem(ctx, " "+strings.ToLower(strings.ReplaceAll(code, "-", " ")))
	if err != nil || s.Name != "Mia" || s.Organization != "acme" {
		t.Fatalf("%v %v", s, err)
	}
	if v := s.visitor(); v.Admin || v.In("acme") != Member || v.In("rival") != Nobody {
		t.Errorf("the visitor is %+v", v)
	}
	for _, value := range stored {
		if strings.Contains(string(value), secret) {
			t.Errorf("the cookie's secret is stored: %s", value)
		}
	}
	if _, _, err := l.Redeem(ctx, code); !errors.Is(err, errCode) {
		t.Errorf("a second time: %v", err)
	}
	late, err := l.Code(ctx, "", "")
	if err != nil {
		t.Fatal(err)
	}
	*now = now.Add(CodeTTL)
	if _, _, err := l.Redeem(ctx, late); !errors.Is(err, errCode) {
		t.Errorf("after 10 minutes: %v", err)
	}
}

func TestCodesAndSessionsAreBounded(t *testing.T) {
	l, stored, now := clocked()
	var codes []string
	for i := range 200 {
		code, err := l.Code(t.Context(), "", "")
		if i < maxCodes && err != nil || i >= maxCodes && !errors.Is(err, ErrCodes) {
			t.Fatalf("code %d: %v", i, err)
		}
		codes = append(codes, code)
	}
	if _, _, err := l.Redeem(t.Context(), codes[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Code(t.Context(), "", ""); err != nil {
		t.Errorf("after one was used: %v", err)
	}
	*now = now.Add(CodeTTL)
	for range maxSessions + 10 {
		*now = now.Add(time.Second)
		code, err := l.Code(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := l.Redeem(t.Context(), code); err != nil {
			t.Fatal(err)
		}
	}
	all, err := l.Sessions(t.Context())
	if err != nil || len(all) != maxSessions || all[len(all)-1].Created.Before(now.Add(-maxSessions*time.Second)) {
		t.Errorf("%d sessions, the oldest of %v, %v", len(all), all[len(all)-1].Created, err)
	}
	if len(stored) > 2*maxSessions {
		t.Errorf("%d values are stored", len(stored))
	}
}

func TestSessionsEnd(t *testing.T) {
	begin := func(l *Logins) string {
		code, err := l.Code(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		secret, _, err := l.Redeem(t.Context(), code)
		if err != nil {
			t.Fatal(err)
		}
		return secret
	}
	valid := func(l *Logins, secret string) bool {
		s, err := l.Session(t.Context(), secret)
		if err != nil {
			t.Fatal(err)
		}
		return s != nil
	}
	t.Run("after 12 hours without use", func(t *testing.T) {
		l, stored, now := clocked()
		secret := begin(l)
		*now = now.Add(11 * time.Hour)
		if !valid(l, secret) {
			t.Error("11 hours are too many")
		}
		*now = now.Add(11 * time.Hour)
		if !valid(l, secret) {
			t.Error("its use is not noted")
		}
		*now = now.Add(12 * time.Hour)
		if valid(l, secret) || len(stored) != 0 {
			t.Errorf("it goes on; stored is %v", stored)
		}
	})
	t.Run("after 7 days", func(t *testing.T) {
		l, _, now := clocked()
		secret := begin(l)
		for range 15 {
			*now = now.Add(11 * time.Hour)
			if !valid(l, secret) {
				t.Fatalf("it ends at %v", now)
			}
		}
		*now = now.Add(11 * time.Hour)
		if valid(l, secret) {
			t.Error("it goes on")
		}
	})
	t.Run("when they are revoked", func(t *testing.T) {
		l, stored, _ := clocked()
		one, other := begin(l), begin(l)
		all, err := l.Sessions(t.Context())
		if err != nil || len(all) != 2 {
			t.Fatalf("%v %v", all, err)
		}
		if _, err := l.End(t.Context(), hash(one)[:12]); err != nil || valid(l, one) || !valid(l, other) {
			t.Errorf("the wrong one ended (%v)", err)
		}
		if _, err := l.End(t.Context(), "nope"); !errors.Is(err, ErrSession) {
			t.Errorf("an unknown one: %v", err)
		}
		if ended, err := l.End(t.Context(), "all"); err != nil || len(ended) != 1 || valid(l, other) || len(stored) != 0 {
			t.Errorf("%v %v, stored is %v", ended, err, stored)
		}
	})
	t.Run("and cookies of other forms are not looked for", func(t *testing.T) {
		l, _, _ := clocked()
		for _, bad := range []string{"", "x", "../" + begin(l), strings.Repeat("A", 5000)} {
			if valid(l, bad) {
				t.Errorf("%q is valid", bad)
			}
		}
	})
}

// Signing in over HTTP: the cookie, where it leads, and signing out.
func TestSigningIn(t *testing.T) {
	d := newDashboard(new(twoOrganizations))
	code, err := d.logins.Code(t.Context(), "acme", "Mia")
	if err != nil {
		t.Fatal(err)
	}
	post := func(path string, form url.Values, cookie *http.Cookie) *http.Response {
		r := httptest.NewRequest(http.MethodPost, "https://docs-admin.acme.com"+path, strings.NewReader(form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		if cookie != nil {
			r.AddCookie(cookie)
		}
		w := httptest.NewRecorder()
		d.Serve(w, r, "", nil)
		return w.Result()
	}
	if r := post(LoginPath, url.Values{"code": {"AAAA-BBBB-CCCC"}}, nil); r.StatusCode != http.StatusUnauthorized || len(r.Cookies()) > 0 {
		t.Errorf("a wrong code: %d, cookies %v", r.StatusCode, r.Cookies())
	}
	r := post(LoginPath, url.Values{"code": {code}, "next": {"//evil.example"}}, nil)
	if r.StatusCode != http.StatusSeeOther || r.Header.Get("Location") != "/" || len(r.Cookies()) != 1 {
		t.Fatalf("%d, leads to %s, cookies %v", r.StatusCode, r.Header.Get("Location"), r.Cookies())
	}
	cookie := r.Cookies()[0]
	if !cookie.Secure || !cookie.HttpOnly || cookie.SameSite != http.SameSiteLaxMode || cookie.Path != "/" || cookie.Domain != "" || !strings.HasPrefix(cookie.Name, "__Host-") {
		t.Errorf("the cookie is %v", cookie)
	}
	get := func(path string) *httptest.ResponseRecorder {
		return ask(t, d, http.MethodGet, path, nil, func(r *http.Request) { r.AddCookie(cookie) })
	}
	if w := get("/acme/acme-docs"); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "Mia") {
		t.Errorf("with the cookie: %d\n%s", w.Code, w.Body)
	}
	if w := get("/rival/rival-docs"); w.Code != http.StatusNotFound {
		t.Errorf("another organization: %d", w.Code)
	}
	if r := post(logoutPath, nil, cookie); r.StatusCode != http.StatusSeeOther || len(r.Cookies()) != 1 || r.Cookies()[0].MaxAge >= 0 {
		t.Errorf("signing out: %d, cookies %v", r.StatusCode, r.Cookies())
	}
	if w := get("/acme/acme-docs"); w.Code != http.StatusUnauthorized {
		t.Errorf("after signing out: %d", w.Code)
	}
}
