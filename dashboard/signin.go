package dashboard

import (
	"errors"
	"net"
	"net/http"
	"strings"

	"github.com/caddy-docs/caddy-docs/access"
)

// cookieName is that of a session. Browsers take a cookie of this prefix only
// from the host itself, over HTTPS or from localhost.
const cookieName = "__Host-docs-dashboard"

// session returns the visitor of the request's cookie, nil without one.
func (q *request) session() (*Visitor, error) {
	c, err := q.Cookie(cookieName)
	if err != nil {
		return nil, nil
	}
	s, err := q.d.logins.Session(q.Context(), c.Value)
	if err != nil || s == nil {
		return nil, err
	}
	return s.visitor(), nil
}

// signIn shows a stranger the page to sign in.
func (q *request) signIn(status int, problem string) error {
	next := q.PostFormValue("next")
	if next == "" && q.URL.Path != LoginPath {
		next = q.URL.Path
	}
	return q.render(status, "signin", "Sign in", struct {
		Problem  string
		Next     string // where to go after it
		Insecure bool   // browsers would refuse the session's cookie
	}{problem, next, q.insecure()})
}

// insecure reports whether browsers refuse Secure cookies here.
func (q *request) insecure() bool {
	host := q.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return q.TLS == nil && q.Header.Get("X-Forwarded-Proto") != "https" && !access.IsLoopback(strings.Trim(host, "[]"))
}

func (q *request) login() error {
	if q.Method != http.MethodPost {
		if q.Visitor != nil {
			return q.redirect("/", nil)
		}
		return q.signIn(http.StatusOK, "")
	}
	secret, _, err := q.d.logins.Redeem(q.Context(), q.PostFormValue("code"))
	if errors.Is(err, errCode) {
		return q.signIn(http.StatusUnauthorized, "This code is not valid. It may have been used, or be older than 10 minutes.")
	}
	if err != nil {
		return err
	}
	q.setCookie(secret, int(sessionTTL.Seconds()))
	next := q.PostFormValue("next")
	if !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") || strings.Contains(next, `\`) {
		next = "/"
	}
	return q.redirect(next, nil)
}

func (q *request) logout() error {
	if q.Method != http.MethodPost {
		return notAllowed(http.MethodPost)
	}
	if c, err := q.Cookie(cookieName); err == nil {
		q.d.logins.endSecret(q.Context(), c.Value)
	}
	q.setCookie("", -1)
	return q.redirect(LoginPath, nil)
}

func (q *request) setCookie(secret string, age int) {
	http.SetCookie(q.w, &http.Cookie{
		Name: cookieName, Value: secret, Path: "/", MaxAge: age,
		Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode, // Strict would sign out visitors who follow a link from a mail
	})
}
