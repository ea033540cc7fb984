package agents

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/caddy-docs/caddy-docs/short"
)

// cardSchema is the form of server.json that the registry of MCP servers takes.
const cardSchema = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"

// Card returns what registries and crawlers read about the MCP server of a site:
// a server.json with the URL of the server. Its name is in the namespace of the site's host, com.acme.docs/acme.
func Card(about About, server string) ([]byte, error) {
	u, err := url.Parse(about.URL)
	if err != nil {
		return nil, err
	}
	host := strings.Split(u.Hostname(), ".")
	slices.Reverse(host)
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err = e.Encode(struct {
		Schema      string              `json:"$schema"`
		Name        string              `json:"name"`
		Title       string              `json:"title"`
		Description string              `json:"description"`
		Version     string              `json:"version"`
		Website     string              `json:"websiteUrl"`
		Remotes     []map[string]string `json:"remotes"`
	}{
		// The registry takes 100 characters.
		cardSchema, strings.Join(host, ".") + "/" + about.Name, short.Runes(about.Title, 100),
		short.Runes(cmp.Or(short.Line(about.Description), "Search and read the documentation of "+about.Title), 100),
		cmp.Or(strings.TrimPrefix(about.Release, "v"), "0.0.0"), about.URL,
		[]map[string]string{{"type": "streamable-http", "url": server}},
	})
	return b.Bytes(), err
}
