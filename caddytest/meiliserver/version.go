package meiliserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// fields are those that a server accepts in a request's body, in the order in
// which its errors list them. A number is the version that introduced the
// field; older servers refuse it.
var fields = map[string][]string{
	"POST /indexes":      {"uid", "primaryKey"},
	"POST /swap-indexes": {"indexes", "rename 1.18"},
	"POST /multi-search": {
		"indexUid", "q", "offset", "limit", "page", "hitsPerPage", "attributesToRetrieve", "attributesToCrop", "cropLength",
		"cropMarker", "attributesToHighlight", "highlightPreTag", "highlightPostTag", "showMatchesPosition", "filter", "sort",
		"distinct 1.9", "facets", "matchingStrategy", "attributesToSearchOn", "rankingScoreThreshold 1.9", "locales 1.10",
		"hybrid", "vector", "retrieveVectors 1.9", "media 1.16", "personalize 1.26", "useNetwork 1.34", "showRankingScore",
		"showRankingScoreDetails", "showPerformanceDetails 1.35", "federationOptions 1.10",
	},
	"POST /indexes/*/documents/fetch": {"offset", "limit", "fields", "retrieveVectors 1.9", "ids 1.14", "filter", "sort 1.16"},
	"PATCH /indexes/*/settings": {
		"displayedAttributes", "searchableAttributes", "filterableAttributes", "sortableAttributes", "foreignKeys 1.39",
		"rankingRules", "stopWords", "nonSeparatorTokens", "separatorTokens", "dictionary", "synonyms", "distinctAttribute",
		"proximityPrecision", "typoTolerance", "faceting", "pagination", "embedders", "searchCutoffMs",
		"localizedAttributes 1.10", "facetSearch 1.12", "prefixSearch 1.12", "chat 1.15",
	},
}

// numbersInTypoTolerance is the version that introduced disableOnNumbers.
const numbersInTypoTolerance = "1.15"

// privateNetworks is the version since which a server calls no embedder on a
// private network, unless it is started with
// --experimental-allowed-ip-networks.
const privateNetworks = "1.35"

// DenyPrivate makes the server behave as if it was started without that flag.
func (s *Server) DenyPrivate() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.denyPrivate = true
}

// knows reports whether the server's version knows all fields of a request. If
// not, it replies with an error.
func (s *Server) knows(w http.ResponseWriter, r *http.Request) bool {
	all := fields[r.Method+" "+strings.ReplaceAll(route(r.URL.Path), "/*_state", "/*")]
	if all == nil {
		return true
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return false
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	s.mu.Lock()
	version := s.version
	s.mu.Unlock()
	var expected []string
	for _, field := range all {
		if name, in, _ := strings.Cut(field, " "); !before(version, in) {
			expected = append(expected, name)
		}
	}
	refuse := func(field, inside string, expected []string) bool {
		reply(w, 400, map[string]any{
			"message": fmt.Sprintf("Unknown field `%s`%s: expected one of `%s`", field, inside, strings.Join(expected, "`, `")),
			"code":    "bad_request", "type": "invalid_request", "link": "https://docs.meilisearch.com/errors#bad_request",
		})
		return false
	}
	for where, object := range objects(body) {
		for name, value := range object {
			if !slices.Contains(expected, name) {
				return refuse(name, where, expected)
			}
			var typos map[string]json.RawMessage
			if name == "typoTolerance" && json.Unmarshal(value, &typos) == nil && typos["disableOnNumbers"] != nil && before(version, numbersInTypoTolerance) {
				return refuse("disableOnNumbers", " inside `.typoTolerance`", []string{"enabled", "minWordSizeForTypos", "disableOnWords", "disableOnAttributes"})
			}
		}
	}
	return true
}

// objects returns the objects of a body whose fields are checked, by their
// place in it: the body, its items, or its queries.
func objects(body []byte) map[string]map[string]json.RawMessage {
	out := map[string]map[string]json.RawMessage{}
	var items []map[string]json.RawMessage
	in := func(list string) {
		for i, item := range items {
			out[fmt.Sprintf(" inside `%s[%d]`", list, i)] = item
		}
	}
	if json.Unmarshal(body, &items) == nil {
		in("")
		return out
	}
	var one map[string]json.RawMessage
	if json.Unmarshal(body, &one) != nil {
		return nil // the handler reports the error
	}
	if queries, ok := one["queries"]; ok && json.Unmarshal(queries, &items) == nil {
		in(".queries")
		return out
	}
	return map[string]map[string]json.RawMessage{"": one}
}

// before compares the first two numbers of versions.
func before(version, than string) bool {
	if than == "" {
		return false
	}
	number := func(v string) []int {
		var n []int
		for part := range strings.SplitSeq(v, ".") {
			i, _ := strconv.Atoi(part)
			n = append(n, i)
		}
		return n[:2]
	}
	return slices.Compare(number(version), number(than)) < 0
}

// denied reports whether the server may not call an embedder at an address.
func (s *Server) denied(address string) bool {
	u, err := url.Parse(address)
	if err != nil || !s.denyPrivate || before(s.version, privateNetworks) {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return ip != nil && (ip.IsLoopback() || ip.IsPrivate())
}
