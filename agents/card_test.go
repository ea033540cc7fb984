package agents

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// The server.json keeps the bounds of the registry's schema of 2025-12-11.
func TestTheCardIsWhatTheRegistryTakes(t *testing.T) {
	for _, about := range []About{
		{Name: "acme", Title: "Acme", URL: "https://docs.acme.com", Release: "v0.2.0"},
		{Name: "acme", Title: strings.Repeat("文", 200), Description: strings.Repeat("ü ", 200), URL: "https://docs.acme.com/docs"},
	} {
		text, err := Card(about, about.URL+"/mcp")
		if err != nil {
			t.Fatal(err)
		}
		var card struct {
			Schema      string `json:"$schema"`
			Name        string
			Title       string
			Description string
			Version     string
			WebsiteURL  string `json:"websiteUrl"`
			Remotes     []struct{ Type, URL string }
		}
		d := json.NewDecoder(strings.NewReader(string(text)))
		d.DisallowUnknownFields()
		if err := d.Decode(&card); err != nil {
			t.Fatal(err)
		}
		within := func(s string, most int) bool { n := utf8.RuneCountInString(s); return n >= 1 && n <= most }
		if card.Schema != cardSchema || !regexp.MustCompile(`^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$`).MatchString(card.Name) || !within(card.Name, 200) || len(card.Name) < 3 ||
			!within(card.Title, 100) || !within(card.Description, 100) || !within(card.Version, 255) || strings.ContainsAny(card.Version, "^~<>=* ") ||
			card.WebsiteURL != about.URL || len(card.Remotes) != 1 || card.Remotes[0].Type != "streamable-http" || !strings.HasPrefix(card.Remotes[0].URL, about.URL+"/mcp") {
			t.Errorf("%s", text)
		}
	}
}
