package command

import (
	"strings"
	"testing"
)

func TestAServerWhoseClientsChooseTheirIPIsAProblem(t *testing.T) {
	const (
		proxies = `"trusted_proxies":{"source":"static","ranges":["10.0.0.0/8"]}`
		strict  = `,"trusted_proxies_strict":1`
		lock    = `,"routes":[{"handle":[{"handler":"subroute","routes":[{"match":[{"not":[{"client_ip":{"ranges":["10.0.0.0/8"]}}]}],"handle":[{"handler":"static_response","status_code":403}]}]}]}]`
		cel     = `,"routes":[{"match":[{"expression":{"expr":"!client_ip('10.0.0.0/8')"}}]}]`
		limit   = `,"routes":[{"handle":[{"handler":"docs_client_limit","zone":"z"}]}]`
		mcp     = `,"routes":[{"handle":[{"handler":"docs_mcp"}]}]`
		remote  = `,"routes":[{"match":[{"remote_ip":{"ranges":["10.0.0.0/8"]}}]}]`
		listen  = `"listen":[":443"],`
	)
	for name, tt := range map[string]struct{ server, found string }{
		"a lock":                    {listen + proxies + lock, "client_ip matchers"},
		"an expression":             {listen + proxies + cel, "client_ip matchers"},
		"a limit":                   {listen + proxies + limit, "limits per IP"},
		"the MCP server":            {listen + proxies + mcp, "the MCP server's limit"},
		"a lock in a named route":   {listen + proxies + strings.Replace(lock, "routes", "named_routes", 1), "client_ip matchers"},
		"strict":                    {listen + proxies + strict + lock, "ok"},
		"no proxies":                {listen[:len(listen)-1] + lock, ""},
		"locks that don't use them": {listen + proxies + remote, ""},
		"headers alone":             {listen + `"client_ip_headers":["X-Forwarded-For"],` + proxies + remote, ""},
		"broken":                    {`"listen":4`, "cannot unmarshal"},
	} {
		c := checkServerClientIPs("srv0", []byte("{"+tt.server+"}"))
		switch {
		case tt.found == "":
			if c != nil {
				t.Errorf("%s: %+v", name, c)
			}
		case c == nil || c.OK != (tt.found == "ok") || !c.OK && (!strings.Contains(c.Found, tt.found) || c.Do == ""):
			t.Errorf("%s: %+v", name, c)
		}
	}
}
