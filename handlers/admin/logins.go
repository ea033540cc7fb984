package admin

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/caddy-docs/caddy-docs/access"
	"github.com/caddy-docs/caddy-docs/dashboard"
)

// Login is what POST /docs/logins on the admin API answers: a code that signs
// in to the dashboard, once.
type Login struct {
	Code    string    `json:"code"`
	Expires time.Time `json:"expires"`
	// URLs are the links with the code, one for each dashboard whose address is
	// known.
	URLs []string `json:"urls"`
}

// LoginRequest is the body of POST /docs/logins.
type LoginRequest struct {
	// Organization is that of a member; "" is for an administrator of all.
	Organization string `json:"organization"`
	// Name is shown in the dashboard.
	Name string `json:"name"`
}

// NewLogin makes a code for the dashboards.
func (a API) NewLogin(ctx context.Context, body []byte) (*Login, error) {
	var r LoginRequest
	if len(body) > 0 {
		if err := json.Unmarshal(body, &r); err != nil {
			return nil, adminError(http.StatusBadRequest, "reading the request: %w", err)
		}
	}
	if r.Organization != "" {
		if err := access.CheckName("organization", r.Organization); err != nil {
			return nil, adminError(http.StatusBadRequest, "%w", err)
		}
		var names []string
		for _, s := range a.All() {
			if !slices.Contains(names, s.Organization) {
				names = append(names, s.Organization)
			}
		}
		if !slices.Contains(names, r.Organization) {
			return nil, adminError(http.StatusNotFound, "there is no organization %q; the organizations are: %s", r.Organization, FirstOf(names))
		}
	}
	dashboards := a.Dashboards()
	if len(dashboards) == 0 {
		return nil, adminError(http.StatusNotFound, "there is no dashboard; write docs_dashboard into a site block")
	}
	code, err := a.Logins().Code(ctx, r.Organization, r.Name)
	if errors.Is(err, dashboard.ErrCodes) {
		return nil, adminError(http.StatusTooManyRequests, "%w", err)
	}
	if err != nil {
		return nil, err
	}
	urls := []string{}
	for _, u := range dashboards {
		if u != "" {
			urls = append(urls, u+dashboard.LoginPath+"#"+code)
		}
	}
	return &Login{code, time.Now().Add(dashboard.CodeTTL).UTC(), urls}, nil
}

// endLogins ends a session by its ID, or with "all" every one.
func (a API) endLogins(ctx context.Context, id string) ([]dashboard.Session, error) {
	ended, err := a.Logins().End(ctx, id)
	if errors.Is(err, dashboard.ErrSession) {
		err = adminError(http.StatusNotFound, "there is no session %q; caddy docs login list shows them", id)
	}
	return ended, err
}
