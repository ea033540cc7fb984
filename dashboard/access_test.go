package dashboard

import (
	"context"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/caddy-docs/caddy-docs/access"
	"github.com/caddy-docs/caddy-docs/assistant"
	"github.com/caddy-docs/caddy-docs/encoding"
	"github.com/caddy-docs/caddy-docs/insights"
	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/links"
	"github.com/caddy-docs/caddy-docs/retrieval/moved"
)

// twoOrganizations is a server with a site of acme and one of rival.
type twoOrganizations struct {
	refreshed, added, revoked []string
	pages                     []Page
	links                     *links.Report
	former                    map[string]*moved.Former
	store                     *insights.Store
	storeErr                  error
	answers                   []Answer
	erased                    []insights.Erasure
	url, editURL              string
	embedded                  [][]string           // texts of each call
	vectors                   map[string][]float32 // nil for an embedder that fails
}

func (s *twoOrganizations) Vectors(_ context.Context, _ string, texts []string) (vectors [][]float32, err error) {
	s.embedded = append(s.embedded, texts)
	if s.vectors == nil {
		return nil, io.ErrUnexpectedEOF
	}
	for _, text := range texts {
		vectors = append(vectors, s.vectors[text])
	}
	return vectors, nil
}

func (s *twoOrganizations) Insights(context.Context) (*insights.Store, error) {
	if s.store == nil && s.storeErr == nil {
		return nil, ErrOff
	}
	return s.store, s.storeErr
}

func (s *twoOrganizations) Conversation(_ *http.Request, _, _ string) ([]Answer, error) {
	return slices.Clone(s.answers), nil
}

func (s *twoOrganizations) Erase(ctx context.Context, site string, e insights.Erasure) (insights.Erased, error) {
	s.erased = append(s.erased, e)
	return s.store.Erase(ctx, insights.Scope{Organization: "acme", Site: site}, e)
}

func (*twoOrganizations) Ask(context.Context, string, string) (*assistant.Result, error) {
	return &assistant.Result{Answer: "Unpack it."}, nil
}

func (s *twoOrganizations) Sites() []Site {
	ready := retrieval.Status{Ready: true, Pages: 3, Sections: 9}
	embeds := ready
	if s.vectors != nil {
		embeds.Embeddings = new(retrieval.EmbeddingStatus)
	}
	return []Site{
		{Name: "acme-docs", Organization: "acme", Title: "Acme", URL: s.url, Index: embeds, EditURL: s.editURL},
		{Name: "rival-docs", Organization: "rival", Title: "Rival", Index: ready},
	}
}

func (s *twoOrganizations) Pages(context.Context, string) ([]Page, error) { return s.pages, nil }

func (s *twoOrganizations) Links(string) *links.Report { return s.links }

func (*twoOrganizations) PageAt(_, path string) string { return strings.Trim(path, "/") }

func (s *twoOrganizations) Former(_, path string) *moved.Former { return s.former[path] }

func (*twoOrganizations) Search(context.Context, string, string) ([]encoding.Result, int, error) {
	return []encoding.Result{{Metadata: encoding.Metadata{Title: "Install", Heading: "On Linux", URL: "/install#linux", Score: 0.8}}}, 1, nil
}

func (*twoOrganizations) Explain(context.Context, string, string) (*assistant.Explanation, error) {
	return &assistant.Explanation{Query: "install", Answered: "yes"}, nil
}

func (*twoOrganizations) Keys(context.Context) ([]*access.Key, error) {
	return []*access.Key{
		{ID: "k0001", Name: "of Acme", Organization: "acme"},
		{ID: "k0002", Name: "of rival", Organization: "rival"},
		{ID: "fixed-1", Organization: "acme", Fixed: true},
	}, nil
}

func (s *twoOrganizations) AddKey(_ context.Context, record []byte) error {
	s.added = append(s.added, string(record))
	return nil
}

func (s *twoOrganizations) RevokeKey(_ context.Context, id string) error {
	s.revoked = append(s.revoked, id)
	return nil
}

func (s *twoOrganizations) RefreshSoon(site string) error {
	s.refreshed = append(s.refreshed, site)
	return nil
}

func newDashboard(s Server) *Dashboard {
	log := slog.New(slog.DiscardHandler)
	return New(s, NewLogins(memory{}, log), log)
}

// memory is a store.
type memory map[string][]byte

func (m memory) Get(_ context.Context, key string) ([]byte, error) {
	if v, ok := m[key]; ok {
		return v, nil
	}
	return nil, fs.ErrNotExist
}

func (m memory) Put(_ context.Context, key string, value []byte) error {
	m[key] = value
	return nil
}

func (m memory) Delete(_ context.Context, key string) error {
	delete(m, key)
	return nil
}

func (m memory) List(_ context.Context, prefix string) (keys []string, err error) {
	for k := range m {
		if strings.HasPrefix(k, prefix+"/") {
			keys = append(keys, k)
		}
	}
	return keys, nil
}

// visitors of all kinds.
var visitors = map[string]*Visitor{
	"a stranger":            nil,
	"someone without roles": {Name: "nobody"},
	"a viewer":              {Name: "vic", Roles: map[string]Role{"acme": Viewer}},
	"a member":              {Name: "mia", Roles: map[string]Role{"acme": Member}},
	"an admin":              {Name: "ada", Admin: true},
	"a member of another":   {Name: "rob", Roles: map[string]Role{"rival": Member}},
}

// samples are requests that succeed, by the path of their route: the path, and
// a query or form.
var samples = map[string][2]string{
	"keys/{id}/revoke":             {"keys/k0001/revoke"},
	"unanswered/question":          {"unanswered/question", url.Values{"group": {insights.Stems(unansweredQuestion)}, "state": {"done"}}.Encode()},
	"conversations/{thread}":       {"conversations/acme-1"},
	"conversations/{thread}/erase": {"conversations/acme-2/erase"},
	"feedback/{id}":                {"feedback/1", "state=done"},
	"missing":                      {"missing", "group=/old&state=done"},
}

// ask sends a request as a browser does from a page of the dashboard.
func ask(t *testing.T, d *Dashboard, method, path string, v *Visitor, change ...func(*http.Request)) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(url.Values{}.Encode()))
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	for _, c := range change {
		c(r)
	}
	w := httptest.NewRecorder()
	d.Serve(w, r, "", v)
	return w
}

// Every route of a site, asked for by everyone.
func TestRolesOpenRoutesAndNothingElse(t *testing.T) {
	server := &twoOrganizations{store: recorded(t)}
	d := newDashboard(server)
	notFound := ask(t, d, http.MethodGet, "/acme/no-such-site", visitors["a member of another"]).Body.String()
	if len(routes) < 2 {
		t.Fatalf("only these routes are known: %v", routes)
	}
	for _, route := range routes {
		if route.role != Viewer && route.role != Member && route.role != Admin {
			t.Errorf("%s %s is open to the role %v", route.method, route.path, route.role)
		}
		if route.method != http.MethodGet && route.role < Member {
			t.Errorf("%s %s changes something, but is open to viewers", route.method, route.path)
		}
		sample, ok := samples[route.path]
		if !ok {
			sample[0] = route.path
		}
		path := strings.TrimSuffix("/acme/acme-docs/"+sample[0], "/")
		if strings.Contains(path, "{") {
			t.Fatalf("%s has a parameter without a sample", route.path)
		}
		for name, v := range visitors {
			if strings.HasSuffix(path, "/erase") { // the one before has erased it
				recordConversation(t, server.store, "acme-2")
			}
			got := ask(t, d, route.method, path, v, func(r *http.Request) {
				r.URL.RawQuery = sample[1]
				if r.Method == http.MethodPost {
					r.URL.RawQuery, r.Body = "", io.NopCloser(strings.NewReader(sample[1]))
				}
			})
			role := Nobody
			if v != nil {
				role = v.In("acme")
			}
			switch {
			case v == nil:
				if got.Code != http.StatusUnauthorized || strings.Contains(got.Body.String(), "Acme") {
					t.Errorf("%s: %s %s is %d:\n%s", name, route.method, path, got.Code, got.Body)
				}
			case role == Nobody:
				if got.Code != http.StatusNotFound || v.Name == "rob" && got.Body.String() != notFound {
					t.Errorf("%s: %s %s is %d, or differs from a site that does not exist:\n%s", name, route.method, path, got.Code, got.Body)
				}
			case role < route.role:
				if got.Code != http.StatusForbidden {
					t.Errorf("%s: %s %s is %d, want 403", name, route.method, path, got.Code)
				}
			default:
				if c := got.Code; c == http.StatusUnauthorized || c == http.StatusForbidden || c == http.StatusNotFound || c >= 500 {
					t.Errorf("%s: %s %s is %d:\n%s", name, route.method, path, c, got.Body)
				}
			}
			if strings.Contains(got.Body.String(), "rival") && v != nil && v.In("rival") == Nobody {
				t.Errorf("%s: %s %s shows another organization:\n%s", name, route.method, path, got.Body)
			}
		}
	}
}

// A form that another site sends is refused before it has an effect.
func TestFormsOfOtherSitesAreRefused(t *testing.T) {
	for name, header := range map[string][2]string{
		"another site":      {"Sec-Fetch-Site", "cross-site"},
		"another subdomain": {"Sec-Fetch-Site", "same-site"},
		"an old browser":    {"Origin", "https://evil.example"},
	} {
		s := new(twoOrganizations)
		d := newDashboard(s)
		got := ask(t, d, http.MethodPost, "/acme/acme-docs/refresh", visitors["an admin"], func(r *http.Request) {
			r.Header.Del("Sec-Fetch-Site")
			r.Header.Set(header[0], header[1])
		})
		if got.Code != http.StatusForbidden || len(s.refreshed) > 0 {
			t.Errorf("%s: %d, refreshed %v", name, got.Code, s.refreshed)
		}
	}
}

// GET changes nothing, also where a form of that name exists.
func TestFormsTakePostOnly(t *testing.T) {
	s := new(twoOrganizations)
	d := newDashboard(s)
	got := ask(t, d, http.MethodGet, "/acme/acme-docs/refresh", visitors["an admin"])
	if got.Code != http.StatusMethodNotAllowed || got.Header().Get("Allow") != "POST" || len(s.refreshed) > 0 {
		t.Errorf("%d, Allow %q, refreshed %v", got.Code, got.Header().Get("Allow"), s.refreshed)
	}
}

// Addresses stay below the path that the dashboard is served at.
func TestAddressesKeepThePathOfTheDashboard(t *testing.T) {
	d := newDashboard(new(twoOrganizations))
	w := httptest.NewRecorder()
	d.Serve(w, httptest.NewRequest(http.MethodGet, "/", nil), "/a b", visitors["a member"])
	if got := w.Header().Get("Location"); w.Code != http.StatusSeeOther || got != "/a%20b/acme/acme-docs" {
		t.Errorf("the front page is %d, leads to %s", w.Code, got)
	}
	w = httptest.NewRecorder()
	d.Serve(w, httptest.NewRequest(http.MethodGet, "/acme/acme-docs", nil), "/dash", visitors["a member"])
	for _, attribute := range []string{`href="`, `src="`, `action="`} {
		for _, rest := range strings.Split(w.Body.String(), attribute)[1:] {
			if address, _, _ := strings.Cut(rest, `"`); !strings.HasPrefix(address, "/dash/") && address != "#main" {
				t.Errorf("%s%s leaves the dashboard", attribute, address)
			}
		}
	}
}
