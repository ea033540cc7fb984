package handlers

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// Behind forward_auth, a connection that is no longer needed may still be
// reading the request's vars.
func TestTheRequestIDWritesNoVars(t *testing.T) {
	request := func() (*http.Request, *caddy.Replacer) {
		repl := caddy.NewReplacer()
		return caddyhttp.PrepareRequest(httptest.NewRequest(http.MethodGet, "/", nil), repl, httptest.NewRecorder(), &caddyhttp.Server{}), repl
	}
	r, repl := request()
	vars := r.Context().Value(caddyhttp.VarsCtxKey).(map[string]any)
	before := maps.Clone(vars)
	id := RequestID(r)
	if len(id) != 36 || RequestID(r) != id {
		t.Errorf("the id is %q, then %q", id, RequestID(r))
	}
	if len(vars) != len(before) {
		t.Errorf("the vars are %v, were %v", vars, before)
	}
	if later, _ := repl.GetString("http.request.uuid"); later != id {
		t.Errorf("later, the configuration gets %q, want %q", later, id)
	}
	r, repl = request()
	if earlier, _ := repl.GetString("http.request.uuid"); RequestID(r) != earlier {
		t.Errorf("the id is %q, the configuration had %q", RequestID(r), earlier)
	}
}
