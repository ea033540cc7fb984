package dashboard

import (
	"net/http"

	"github.com/caddy-docs/caddy-docs/insights"
)

type auditData struct {
	Rows  []insights.Audit
	Pager pager
}

var auditColumns = []column[insights.Audit]{
	{"at", func(a *insights.Audit) any { return when(a.At) }},
	{"who", func(a *insights.Audit) any { return a.Who }},
	{"what", func(a *insights.Audit) any { return a.What }},
	{"target", func(a *insights.Audit) any { return a.Target }},
	{"site", func(a *insights.Audit) any { return a.Site }},
}

// auditTrail lists who did what in the organization.
func auditTrail(q *request) error {
	store, file, err := q.table()
	if err != nil {
		return err
	}
	list := newestFirst[insights.Audit]{
		read: func(limit int, before insights.Cursor) ([]insights.Audit, error) {
			return store.Audit(q.Context(), insights.Scope{Organization: q.site.Organization}, before, limit)
		},
		at: func(a *insights.Audit) insights.Cursor { return a.Cursor },
	}
	if file {
		return list.export(q, "audit", auditColumns)
	}
	var data auditData
	if data.Rows, data.Pager, err = list.page(q); err != nil {
		return err
	}
	return q.render(http.StatusOK, "audit", "Audit", data)
}

// audit writes down what the visitor does with a conversation of the site.
// Nothing is read or erased that can't be written down.
func (q *request) audit(store *insights.Store, what, target string) error {
	return q.stored(store.AddAudit(q.Context(), insights.Audit{Scope: q.scope(), Who: q.visitor.Name, What: what, Target: target}))
}

// auditKey writes down what the visitor does with a key. Keys are made and
// revoked also while nothing can be written down; the log has it in any case.
func (q *request) auditKey(what, id string) {
	q.d.log.Info(what, "key", id, "organization", q.site.Organization, "by", q.visitor.Name)
	store, err := q.d.server.Insights(q.Context())
	if err == nil {
		err = store.AddAudit(q.Context(), insights.Audit{Scope: insights.Scope{Organization: q.site.Organization}, Who: q.visitor.Name, What: what, Target: id})
	}
	if err != nil {
		q.d.log.Warn("the audit trail lacks an entry", "what", what, "key", id, "error", err)
	}
}
