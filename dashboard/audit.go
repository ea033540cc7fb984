package dashboard

import (
	"context"

	"github.com/caddy-docs/caddy-docs/insights"
)

// auditTrail lists who did what in the organization.
func auditTrail(q *request) error {
	store, err := q.insights()
	if err != nil {
		return err
	}
	return table[insights.Audit]{
		columns: "at who what target site",
		cells:   func(a *insights.Audit) []any { return []any{when(a.At), a.Who, a.What, a.Target, a.Site} },
		at:      func(a *insights.Audit) insights.Cursor { return a.Cursor },
	}.list(q, "audit", insights.Query{}, func(ctx context.Context, in insights.Scope, query insights.Query) ([]insights.Audit, error) {
		return store.Audit(ctx, insights.Scope{Organization: in.Organization}, query)
	}, nil)
}

// audit records what the visitor does with a conversation of the site. Nothing
// is read or erased unless it can be recorded.
func (q *request) audit(store *insights.Store, what, target string) error {
	return q.stored(store.AddAudit(q.Context(), insights.Audit{Scope: q.scope(), Who: q.Visitor.Name, What: what, Target: target}))
}

// auditKey records what the visitor does with a key. Keys can be created and
// revoked even while nothing can be recorded; the log has an entry in any case.
func (q *request) auditKey(what, id string) {
	q.d.log.Info(what, "key", id, "organization", q.Site.Organization, "by", q.Visitor.Name)
	store, err := q.d.server.Insights(q.Context())
	if err == nil {
		in := insights.Scope{Organization: q.Site.Organization}
		err = store.AddAudit(q.Context(), insights.Audit{Scope: in, Who: q.Visitor.Name, What: what, Target: id})
	}
	if err != nil {
		q.d.log.Warn("could not write an entry to the audit trail", "what", what, "key", id, "error", err)
	}
}
