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
	file, err := q.exports()
	if err != nil {
		return err
	}
	store, err := q.insights()
	if err != nil {
		return err
	}
	list := func(limit int, before insights.Cursor) ([]insights.Audit, error) {
		rows, err := store.Audit(q.Context(), insights.Scope{Organization: q.site.Organization}, before, limit)
		return rows, q.stored(err)
	}
	if file {
		return export(q, "audit", auditColumns, func(got []insights.Audit) ([]insights.Audit, error) {
			if len(got) == 0 {
				return list(exportAtOnce, insights.Cursor{})
			}
			return list(exportAtOnce, got[len(got)-1].Cursor)
		})
	}
	before, place := q.cursor()
	rows, err := list(rowsAtOnce+1, before)
	if err != nil {
		return err
	}
	data := auditData{Rows: cursorRows(&place, rows, func(a *insights.Audit) insights.Cursor { return a.Cursor })}
	data.Pager = place
	return q.render(http.StatusOK, "audit", "Audit", data)
}

// audit writes down what the visitor does with a conversation of the site.
// Nothing is read or erased that can't be written down.
func (q *request) audit(store insights.Store, what, target string) error {
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
