package dashboard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/caddy-docs/caddy-docs/insights"
)

// ErrOff is returned by Server.Insights where nothing is recorded.
var ErrOff = errors.New("insights are off")

// periods are the lengths of time to choose from, in days.
var periods = []int{7, 30, 90}

const (
	defaultPeriod = 30
	maxPeriod     = 366
)

// insights returns the store. The error is one that the visitor reads: of a
// parameter that was read before, or of the store.
func (q *request) insights() (*insights.Store, error) {
	if q.invalid != nil {
		return nil, q.invalid
	}
	s, err := q.d.server.Insights(q.Context())
	if errors.Is(err, ErrOff) {
		return nil, fail(http.StatusNotFound, "Insights are off on this server, so nothing is recorded. Remove insights off from the global option docs to record what readers look for.")
	}
	return s, q.stored(err)
}

// stored turns an error of the store into one for the visitor.
func (q *request) stored(err error) error {
	if err == nil || q.Context().Err() != nil {
		return err
	}
	q.d.log.Error("the insights can't be read", "path", q.URL.Path, "error", err)
	return fail(http.StatusServiceUnavailable, "The insights store is not responding. Search and answers keep working. On the server, run caddy docs doctor to see why.")
}

// scope is the site, for queries.
func (q *request) scope() insights.Scope {
	if q.Site == nil {
		return insights.Scope{}
	}
	return insights.Scope{Organization: q.Site.Organization, Site: q.Site.Name}
}

// refuse keeps the first error of a parameter, for insights.
func (q *request) refuse(message string) {
	if q.invalid == nil {
		q.invalid = fail(http.StatusBadRequest, message)
	}
}

// period reads the days that the visitor chose: the last 7, 30 or 90, or those
// from one to another.
func (q *request) period() insights.Period {
	values := q.URL.Query()
	if from, to := values.Get("from"), values.Get("to"); from != "" || to != "" {
		first, err := insights.ParseDate(from)
		last, errTo := insights.ParseDate(to)
		q.Period, q.Dated = insights.Period{From: first, To: last}, true
		if n := q.Period.Days(); err != nil || errTo != nil || n < 1 || n > maxPeriod {
			q.refuse("from and to must be dates like 2026-11-24, the earlier first, spanning at most 366 days.")
		}
		return q.Period
	}
	n := defaultPeriod
	if text := values.Get("days"); text != "" {
		n, _ = strconv.Atoi(text)
		if !slices.Contains(periods, n) {
			q.refuse("days must be 7, 30 or 90.")
		}
	}
	q.Period = insights.LastDays(n, time.Now())
	return q.Period
}

// choice reads a parameter that has one of some values. The first is the
// default.
func (q *request) choice(name string, values ...string) string {
	got := q.URL.Query().Get(name)
	if !q.URL.Query().Has(name) {
		return values[0]
	}
	if !slices.Contains(values, got) {
		q.refuse(fmt.Sprintf("%s must be one of: %s.", name, strings.TrimPrefix(strings.Join(values, ", "), ", ")))
	}
	return got
}

// state reads a parameter that selects entries by their state. "" is all.
func (q *request) state() string { return q.choice("state", "new", "done", "dismissed", "") }

// saveState sets the state and the note of a form, by a method of the store, for
// an entry. unknown is what to say where there is no such entry.
func saveState[E any](
	q *request, set func(s *insights.Store, ctx context.Context, in insights.Scope, entry E, state, note string) error, entry E, unknown string,
) error {
	state, err := insights.ParseState(q.PostFormValue("state"))
	if err != nil {
		return fail(http.StatusBadRequest, "The state must be new, done or dismissed.")
	}
	store, err := q.insights()
	if err != nil {
		return err
	}
	err = set(store, q.Context(), q.scope(), entry, state, strings.TrimSpace(q.PostFormValue("note")))
	if errors.Is(err, insights.ErrUnknown) {
		return fail(http.StatusNotFound, unknown)
	}
	return q.stored(err)
}

// back redirects to the page that a form was on, with its filters and the
// question that was marked as done.
func (q *request) back(page string) error {
	values, err := url.ParseQuery(q.PostFormValue("back"))
	if err != nil {
		values = url.Values{}
	}
	if values.Del("did"); page == "unanswered" && q.PostFormValue("state") == insights.Done && q.PostForm.Has("group") {
		values.Set("did", q.PostFormValue("group"))
	}
	return q.redirect(q.at(page), values)
}

// link is an address with parameters, and others given as names and values; ""
// removes one.
func link(path string, values url.Values, pairs ...string) string {
	for i := 0; i+1 < len(pairs); i += 2 {
		if values.Set(pairs[i], pairs[i+1]); pairs[i+1] == "" {
			values.Del(pairs[i])
		}
	}
	return (&url.URL{Path: path, RawQuery: values.Encode()}).String()
}

// With is the address of this page with other parameters. A list begins again
// unless its place is given.
func (v *view) With(pairs ...string) string { return link(v.base+v.URL.Path, v.Keep(), pairs...) }

// Query is the address of a page of the site with parameters.
func (v *view) Query(page string, pairs ...string) string {
	return link(v.At(page), url.Values{}, pairs...)
}

// Back are the parameters of this page, for forms that lead back to it.
func (v *view) Back() string { return v.URL.RawQuery }

// Keep returns the parameters of this page, except those of a place in its
// list.
func (v *view) Keep() url.Values {
	values := v.URL.Query()
	for _, name := range []string{"page", "before", "format", "did"} {
		values.Del(name)
	}
	return values
}
