package dashboard

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/caddy-docs/caddy-docs/access"
	"github.com/caddy-docs/caddy-docs/insights"
)

// keysData is what the page of the keys shows.
type keysData struct {
	Keys []keyRow
	// Form is what was sent, if it was refused.
	Form    keyForm
	Problem string
	// Created is a key that was just made, Secret is shown once, and Widget and
	// Curl are what is pasted next.
	Created              *access.Key
	Secret, Widget, Curl string
	// Used is set if the use of keys is counted.
	Used bool
}

// keyForm is the form for a new key.
type keyForm struct {
	Name, Origins, Expires string
	Sites                  []string
}

// Has reports whether a site is ticked.
func (f keyForm) Has(site string) bool { return slices.Contains(f.Sites, site) }

// expiries are the choices, as access.ParseExpiry reads them.
var expiries = []string{"7d", "30d", "60d", "90d", "never"}

const defaultExpiry = "90d"

// keyRow is a key in the table.
type keyRow struct {
	*access.Key
	// Badge and Mood say in which state the key is.
	Badge, Mood string
	// Use is the use a day, nil if that is not known.
	Use *chart
}

// useDays is the period of the use of keys.
const useDays = 30

// expiresSoon is when a key gets a badge.
const expiresSoon = 7 * 24 * time.Hour

func keys(q *request) error {
	return keysPage(q, http.StatusOK, keysData{Form: keyForm{Expires: defaultExpiry}})
}

func keysPage(q *request, status int, data keysData) error {
	if q.invalid != nil {
		return q.invalid
	}
	organization, err := organizationKeys(q)
	if err != nil {
		return err
	}
	now := time.Now()
	use := keyUse(q, now)
	data.Used = use != nil
	for _, k := range organization {
		row := describeKey(k, now)
		if data.Used {
			days := use[k.ID]
			if days == nil {
				days = make([]int64, useDays)
			}
			row.Use = sparkOf(days)
		}
		data.Keys = append(data.Keys, row)
	}
	if q.format != "" {
		return table[keyRow]{
			columns: "id name state fixed sites origins created last_used expires uses_30_days",
			cells: func(k *keyRow) []any {
				var uses any
				if k.Use != nil {
					uses = k.Use.Total
				}
				return []any{k.ID, k.Name, k.Badge, k.Fixed, k.Sites, k.Origins, when(k.Created), when(k.LastUsed), when(k.Expires), uses}
			},
		}.export(q, "keys", insights.Query{}, listed(data.Keys))
	}
	return q.show(status, data)
}

// organizationKeys returns the keys of the site's organization, the newest
// first.
func organizationKeys(q *request) ([]*access.Key, error) {
	all, err := q.d.server.Keys(q.Context())
	if err != nil {
		return nil, fmt.Errorf("listing the keys: %w", err)
	}
	all = slices.DeleteFunc(slices.Clone(all), func(k *access.Key) bool { return k.Organization != q.Site.Organization })
	slices.SortStableFunc(all, func(a, b *access.Key) int { return b.Created.Compare(a.Created) })
	return all, nil
}

// keyUse returns the requests of each key of the organization by day, nil if
// that is not known.
func keyUse(q *request, now time.Time) map[string][]int64 {
	store, err := q.d.server.Insights(q.Context())
	if err != nil {
		return nil
	}
	p, use := insights.LastDays(useDays, now), map[string][]int64{}
	for _, s := range q.Sites {
		if s.Organization != q.Site.Organization {
			continue
		}
		days, err := store.KeyUse(q.Context(), insights.Scope{Organization: s.Organization, Site: s.Name}, p)
		if err != nil {
			_ = q.stored(err) // the keys are shown without it
			return nil
		}
		for _, d := range days {
			if use[d.Key] == nil {
				use[d.Key] = make([]int64, useDays)
			}
			use[d.Key][d.Date-p.From] += d.Searches + d.Replies
		}
	}
	return use
}

func describeKey(k *access.Key, now time.Time) keyRow {
	row := keyRow{Key: k, Badge: "active", Mood: "good"}
	left := k.Expires.Sub(now)
	switch {
	case k.Expired(now):
		row.Badge, row.Mood = "expired", "bad"
	case !k.Expires.IsZero() && left < 24*time.Hour:
		row.Badge, row.Mood = "expires today", "warn"
	case !k.Expires.IsZero() && left < expiresSoon:
		row.Badge, row.Mood = fmt.Sprintf("expires in %d days", int(left/(24*time.Hour))), "warn"
	}
	return row
}

func createKey(q *request) error {
	form := keyForm{
		Name: strings.TrimSpace(q.PostFormValue("name")), Origins: q.PostFormValue("origins"),
		Expires: q.PostFormValue("expires"), Sites: q.PostForm["sites"],
	}
	refuse := func(err error) error {
		return keysPage(q, http.StatusBadRequest, keysData{Form: form, Problem: err.Error()})
	}
	if !slices.Contains(expiries, form.Expires) {
		return refuse(errors.New("choose one of the listed expiry times"))
	}
	for _, name := range form.Sites {
		if !slices.ContainsFunc(q.Sites, func(s Site) bool { return s.Organization == q.Site.Organization && s.Name == name }) {
			return refuse(errors.New("choose sites of the organization"))
		}
	}
	now := time.Now()
	expires, err := access.ParseExpiry(form.Expires, now)
	if err != nil {
		return refuse(err)
	}
	secret, made, err := access.Make(access.Key{
		Name: form.Name, Organization: q.Site.Organization, Sites: form.Sites, Expires: expires,
		Origins: strings.FieldsFunc(form.Origins, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' || r == '\r' || r == '\t' }),
	}, now)
	if err != nil {
		return refuse(err)
	}
	record, err := access.Record(made)
	if err != nil {
		return err
	}
	if err := q.d.server.AddKey(q.Context(), record); err != nil {
		return fmt.Errorf("storing a key: %w", err)
	}
	q.auditKey("key created", made.ID)
	data := keysData{Form: keyForm{Expires: defaultExpiry}, Created: made, Secret: secret}
	describe(q, &data)
	return keysPage(q, http.StatusOK, data)
}

// describe sets what is pasted next for a new key.
func describe(q *request, data *keysData) {
	site, k := q.Site, data.Created
	if len(k.Sites) > 0 && !slices.Contains(k.Sites, site.Name) {
		i := slices.IndexFunc(q.Sites, func(s Site) bool { return s.Organization == site.Organization && s.Name == k.Sites[0] })
		site = &q.Sites[i]
	}
	base := site.API
	if u, err := url.Parse(base); err != nil || u.Host == "" {
		base = "https://YOUR-SITE" + base
	}
	data.Widget = fmt.Sprintf(`<script src="%s/v1/widget/%s.js" defer></script>`, base, site.Name)
	data.Curl = fmt.Sprintf("curl %[1]s/v1/search/%[2]s \\\n  -H 'Authorization: Bearer %[3]s' \\\n  -H 'Content-Type: application/json' \\\n  -d '{\"query\":\"install\"}'",
		base, site.Name, data.Secret)
}

func revokeKey(q *request) error {
	all, err := organizationKeys(q)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(k *access.Key) bool { return k.ID == q.params["id"] })
	if i < 0 {
		return errNotFound
	}
	if all[i].Fixed {
		return fail(http.StatusConflict, "This key is part of the configuration. Remove it there and reload.")
	}
	if err := q.d.server.RevokeKey(q.Context(), all[i].ID); err != nil && !errors.Is(err, access.ErrUnknownKey) {
		return fmt.Errorf("revoking a key: %w", err)
	}
	q.auditKey("key revoked", all[i].ID)
	return q.redirect(q.at("keys"), nil)
}
