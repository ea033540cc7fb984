package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/caddy-docs/caddy-docs/access"
	"github.com/caddy-docs/caddy-docs/dashboard"
)

// Logins returns the codes and sessions of the dashboards.
func (a *App) Logins() *dashboard.Logins { return a.logins }

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
func (a *App) NewLogin(ctx context.Context, body []byte) (*Login, error) {
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
		for _, s := range a.all() {
			if !slices.Contains(names, s.Organization) {
				names = append(names, s.Organization)
			}
		}
		if !slices.Contains(names, r.Organization) {
			return nil, adminError(http.StatusNotFound, "there is no organization %q; there are: %s", r.Organization, FirstOf(names))
		}
	}
	if a.found == nil || len(a.found.dashboards) == 0 {
		return nil, adminError(http.StatusNotFound, "there is no dashboard; write docs_dashboard into a site block")
	}
	code, err := a.logins.Code(ctx, r.Organization, r.Name)
	if errors.Is(err, dashboard.ErrCodes) {
		return nil, adminError(http.StatusTooManyRequests, "%w", err)
	}
	if err != nil {
		return nil, err
	}
	urls := []string{}
	for _, at := range a.found.dashboards {
		if u := a.dashboardURL(at.place); u != "" {
			urls = append(urls, u+dashboard.LoginPath+"#"+code)
		}
	}
	return &Login{code, time.Now().Add(dashboard.CodeTTL).UTC(), urls}, nil
}

// EndLogins ends a session by its ID, or with "all" every one.
func (a *App) EndLogins(ctx context.Context, id string) ([]dashboard.Session, error) {
	ended, err := a.logins.End(ctx, id)
	if errors.Is(err, dashboard.ErrSession) {
		err = adminError(http.StatusNotFound, "there is no session %q; caddy docs login list shows them", id)
	}
	return ended, err
}

// dashboardPlace is a route of docs_dashboard, and to whom it is open.
type dashboardPlace struct {
	place
	openTo string
}

// dashboardURL is the address of a dashboard, "" if its host is not known.
func (a *App) dashboardURL(at place) string {
	u := at.url(a.found.http)
	if u == "" {
		return ""
	}
	return u + at.prefix
}

// announceDashboards writes where the dashboards are.
func (a *App) announceDashboards() {
	for _, at := range a.found.dashboards {
		where := a.dashboardURL(at.place)
		if where == "" {
			where = fmt.Sprint(at.place, at.prefix)
		}
		a.log.Info("the dashboard is ready", zap.String("url", where), zap.String("sign_in", "caddy docs login"), zap.String("open_to", at.openTo))
	}
}
