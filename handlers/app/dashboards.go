package app

import (
	"cmp"
	"fmt"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"
)

// dashboardPlace is a route of docs_dashboard, and to whom it is open.
type dashboardPlace struct {
	place
	openTo string
}

// url is the URL of the dashboard, "" if its host is not known.
func (at dashboardPlace) url(h *caddyhttp.App) string {
	u := at.place.url(h)
	if u == "" {
		return ""
	}
	return u + at.prefix
}

// announceDashboards logs where the dashboards are.
func (f *routeSites) announceDashboards(log *zap.Logger) {
	for _, at := range f.dashboards {
		log.Info("the dashboard is ready",
			zap.String("url", cmp.Or(at.url(f.http), fmt.Sprint(at.place, at.prefix))), zap.String("sign_in", "caddy docs login"), zap.String("open_to", at.openTo))
	}
}
