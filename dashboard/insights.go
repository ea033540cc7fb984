package dashboard

import (
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

// insights returns the store. The error is one that the visitor reads.
func (q *request) insights() (*insights.Store, error) {
	s, err := q.d.server.Insights(q.Context())
	if errors.Is(err, ErrOff) {
		return nil, fail(http.StatusNotFound, "Insights are off on this server, so nothing is recorded. Remove insights off from the global option docs to record what readers look for.")
	}
	return s, q.stored(err)
}

// stored makes an error of the store one that the visitor reads.
func (q *request) stored(err error) error {
	if err == nil || q.Context().Err() != nil {
		return err
	}
	q.d.log.Error("the insights can't be read", "path", q.URL.Path, "error", err)
	return fail(http.StatusServiceUnavailable, "The store of the insights does not respond. Search and answers go on. On the server, caddy docs doctor says why.")
}

// table begins a page with a table: it returns the store, and whether the
// visitor asks for the table as a file.
func (q *request) table() (store *insights.Store, file bool, err error) {
	if file, err = q.exports(); err != nil {
		return nil, false, err
	}
	store, err = q.insights()
	return store, file, err
}

// scope is the site, for queries.
func (q *request) scope() insights.Scope {
	return insights.Scope{Organization: q.site.Organization, Site: q.site.Name}
}

// period reads the days that the visitor chose: the last 7, 30 or 90, or those
// from one to another.
func (q *request) period() (p insights.Period, err error) {
	values := q.URL.Query()
	if from, to := values.Get("from"), values.Get("to"); from != "" || to != "" {
		var errTo error
		p.From, err = insights.ParseDate(from)
		p.To, errTo = insights.ParseDate(to)
		if err != nil || errTo != nil || p.Days() < 1 || p.Days() > maxPeriod {
			return p, fail(http.StatusBadRequest, "from and to must be days such as 2026-11-24, the first not after the last, and at most 366.")
		}
		q.shown, q.dated = p, true
		return p, nil
	}
	n := defaultPeriod
	if text := values.Get("days"); text != "" {
		if n, err = strconv.Atoi(text); err != nil || !slices.Contains(periods, n) {
			return p, fail(http.StatusBadRequest, "days must be 7, 30 or 90.")
		}
	}
	q.shown = insights.LastDays(n, time.Now())
	return q.shown, nil
}

// choice reads a parameter that has one of some values. The first is the
// default.
func (q *request) choice(name string, values ...string) (string, error) {
	got := q.URL.Query().Get(name)
	if !q.URL.Query().Has(name) {
		return values[0], nil
	}
	if slices.Contains(values, got) {
		return got, nil
	}
	named := strings.Join(values, ", ")
	return "", fail(http.StatusBadRequest, fmt.Sprintf("%s must be one of: %s.", name, strings.TrimPrefix(named, ", ")))
}

// state reads a parameter that selects entries by their state. "" is all.
func (q *request) state() (string, error) {
	state, err := q.choice("state", "new", "done", "dismissed", "")
	return state, err
}

// stateForm reads the state and the note of a form.
func (q *request) stateForm() (state string, note string, err error) {
	if state, err = insights.ParseState(q.PostFormValue("state")); err != nil {
		return "", "", fail(http.StatusBadRequest, "The state must be new, done or dismissed.")
	}
	return state, strings.TrimSpace(q.PostFormValue("note")), nil
}

// back leads to the page that a form was on, with its filters and
// the question that was marked as done.
func (q *request) back(page string) error {
	values, err := url.ParseQuery(q.PostFormValue("back"))
	if err != nil {
		values = url.Values{}
	}
	if values.Del("did"); q.PostFormValue("state") == insights.Done && q.PostForm.Has("group") {
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
func (v *view) With(pairs ...string) string { return link(v.q.base+v.q.URL.Path, v.Keep(), pairs...) }

// Query is the address of a page of the site with parameters.
func (v *view) Query(page string, pairs ...string) string {
	return link(v.At(page), url.Values{}, pairs...)
}

// Back are the parameters of this page, for forms that lead back to it.
func (v *view) Back() string { return v.q.URL.RawQuery }

// Keep are the parameters of this page but those of a place in its list.
func (v *view) Keep() url.Values {
	values := v.q.URL.Query()
	for _, name := range []string{"page", "before", "format", "did"} {
		values.Del(name)
	}
	return values
}
