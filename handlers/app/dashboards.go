package app

import (
	"fmt"

	"go.uber.org/zap"
)

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
