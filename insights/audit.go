package insights

import (
	"context"
	"time"
)

// Audit is who did what in the dashboard or on the command line.
type Audit struct {
	At time.Time `json:"at"`
	Scope
	// Who did it, such as a user's name.
	Who string `json:"who"`
	// What was done, such as "key created" or "conversation read".
	What string `json:"what"`
	// Target is what it was done to, such as a key's id or a thread.
	Target string `json:"target,omitempty"`
	Cursor Cursor `json:"cursor"`
}

// AddAudit stores who did what. A scope without a site is the organization.
func (s *Store) AddAudit(ctx context.Context, a Audit) error {
	return s.transaction(ctx, func(t *session) error {
		if a.At.IsZero() {
			a.At = time.Now()
		}
		_, err := t.exec(`insert into docs_audit (at, organization, site, who, what, target) values (?, ?, ?, ?, ?, ?)`,
			a.At.Unix(), a.Organization, a.Site, cutNote(a.Who), cutNote(a.What), cutNote(a.Target))
		return err
	})
}

// Audit returns who did what, the newest first.
func (s *Store) Audit(ctx context.Context, in Scope, q Query) ([]Audit, error) {
	where, args := "", []any{in.Organization}
	if in.Site != "" {
		where, args = " and site = ?", append(args, in.Site)
	}
	args = append(args, q.Before.args()...)
	return rowsOf(s.reading(ctx), func(a *Audit) []any {
		return into(&a.Cursor.ID, &a.Cursor.At, &a.Organization, &a.Site, &a.Who, &a.What, &a.Target, as(&a.At, timeOf))
	}, `select id, at, organization, site, who, what, target, at from docs_audit
		where organization = ?`+where+` and (at < ? or at = ? and id < ?) order by at desc, id desc limit ?`, append(args, limited(q.Limit))...)
}
