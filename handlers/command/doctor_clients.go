package command

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/caddy-docs/caddy-docs/handlers/admin"
)

// checkClientIPs checks where the client IPs of the configuration come from. It
// reads the configuration's JSON: a server that runs does not show its trusted
// proxies.
func (t *target) checkClientIPs(ctx context.Context) (checks []admin.Check) {
	var config struct {
		Apps struct {
			HTTP struct {
				Servers map[string]json.RawMessage `json:"servers"`
			} `json:"http"`
		} `json:"apps"`
	}
	var err error
	if t.app != nil {
		err = json.Unmarshal(t.loaded, &config)
	} else {
		err = t.call(ctx, http.MethodGet, "/config/", nil, &config)
	}
	if err != nil {
		return []admin.Check{{What: "client IPs", Found: err.Error(), Do: "make the configuration readable through the admin API"}}
	}
	servers := config.Apps.HTTP.Servers
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		if c := checkServerClientIPs(name, servers[name]); c != nil {
			checks = append(checks, *c)
		}
	}
	return checks
}

// checkServerClientIPs reports a server whose clients choose their own IP. By
// trusted_proxies alone, Caddy takes the leftmost address of X-Forwarded-For,
// which is the client's where the proxy appends. Nil: it trusts no proxy, or
// nothing depends on the client's IP.
func checkServerClientIPs(name string, config []byte) *admin.Check {
	var server struct {
		Listen []string        `json:"listen"`
		Routes json.RawMessage `json:"routes"`
		Named  json.RawMessage `json:"named_routes"`
		Errors json.RawMessage `json:"errors"`
		Proxy  json.RawMessage `json:"trusted_proxies"`
		Strict int             `json:"trusted_proxies_strict"`
	}
	check := admin.Check{What: "client IPs of " + name}
	if err := json.Unmarshal(config, &server); err != nil {
		check.Found, check.Do = err.Error(), "correct the configuration"
		return &check
	}
	check.What = "client IPs at " + strings.Join(server.Listen, ", ")
	routes := string(server.Routes) + string(server.Named) + string(server.Errors)
	var uses []string
	for _, use := range []struct{ text, name string }{
		{"client_ip", "client_ip matchers or placeholders"},
		{`"docs_client_limit"`, "limits per IP"},
		{`"docs_mcp"`, "the MCP server's limit per IP"},
	} {
		if strings.Contains(routes, use.text) {
			uses = append(uses, use.name)
		}
	}
	if len(server.Proxy) == 0 || string(server.Proxy) == "null" || len(uses) == 0 {
		return nil
	}
	if server.Strict > 0 {
		check.OK, check.Found = true, "those that trusted_proxies report; trusted_proxies_strict is on"
		return &check
	}
	check.Found = "clients choose their own IP by sending X-Forwarded-For, and so pass " + strings.Join(uses, ", ")
	check.Do = "write trusted_proxies_strict beside trusted_proxies, in servers of the global options"
	return &check
}
