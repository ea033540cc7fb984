package meilisearch

import (
	"encoding/json"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// result is what a server found for one request.
type result struct {
	hits     []hit
	semantic bool
}

// hit is a section that a server found. Most are only ranked: of their JSON,
// just what that needs is decoded.
type hit struct {
	raw               []byte
	page              string
	section           int
	counts, embedding []byte
	details           []byte // JSON
}

// answer is the body of an answer to a search of several queries: results of
// each, or the merged hits of all.
type answer struct {
	Results []struct {
		Hits []jsontext.Value `json:"hits"`
	} `json:"results"`
	Hits []jsontext.Value `json:"hits"`
}

// hitsOf reads hits. The section of one without a place is below 0.
func hitsOf(all []jsontext.Value) []hit {
	hits := make([]hit, len(all))
	for i, raw := range all {
		var h struct {
			Page      string         `json:"page"`
			Section   *int           `json:"section"`
			Counts    []byte         `json:"counts"`
			Embedding []byte         `json:"embedding"`
			Details   jsontext.Value `json:"_rankingScoreDetails"`
		}
		place := -1
		if jsonv2.Unmarshal(raw, &h, lenient) == nil && h.Section != nil {
			place = *h.Section
		}
		hits[i] = hit{raw, h.Page, place, h.Counts, h.Embedding, h.Details}
	}
	return hits
}

// lenient reads names twice and broken characters, which pages may have.
var lenient = jsonv2.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// record decodes all of a hit.
func (h *hit) record() (*record, error) {
	var r record
	err := json.Unmarshal(h.raw, &r)
	return &r, err
}

// textOf returns a string, "" for any other value.
func textOf(value []byte) (s string) {
	_ = json.Unmarshal(value, &s)
	return s
}
