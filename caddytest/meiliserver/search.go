package meiliserver

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
)

type query struct {
	IndexUID string
	Q        string
	Limit    int
	Filter   string
	Vector   []float64
	Hybrid   *struct {
		SemanticRatio float64
		Embedder      string
	}
	AttributesToRetrieve []string
	ShowRankingScore     bool
	MatchingStrategy     string
	Distinct             string
}

func (s *Server) multiSearch(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Queries []json.RawMessage
	}
	if !read(w, r, &body) {
		return
	}
	k := s.rightsOf(r)
	results := []map[string]any{}
	for i, raw := range body.Queries {
		result, refused := s.searchOne(r.Context(), raw, k)
		if refused != nil {
			status := 400 // also if the index does not exist
			if refused["type"] == "auth" {
				status = 403
			}
			refused["message"] = fmt.Sprintf("Inside `.queries[%d]`: %s", i, refused["message"])
			reply(w, status, refused)
			return
		}
		results = append(results, result)
	}
	reply(w, 200, map[string]any{"results": results})
}

func (s *Server) searchOne(ctx context.Context, raw json.RawMessage, k rights) (result, refused map[string]any) {
	q := query{Limit: 20}
	strict := json.NewDecoder(bytes.NewReader(raw))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&q); err != nil {
		return nil, problem("bad_request", err)
	}
	if q.Hybrid != nil && (q.Hybrid.SemanticRatio < 0 || q.Hybrid.SemanticRatio > 1) {
		return nil, problem("invalid_search_semantic_ratio")
	}
	if !k.may(q.IndexUID) {
		return nil, problem("invalid_api_key")
	}
	x := s.indexes[q.IndexUID]
	if x == nil {
		return nil, problem("index_not_found", q.IndexUID)
	}
	if q.Vector != nil && q.Hybrid == nil {
		return nil, problem("missing_search_hybrid")
	}
	if q.Hybrid != nil {
		if refused := s.embedQuery(ctx, x, &q); refused != nil {
			return nil, refused
		}
	}
	conditions, err := ParseFilter(q.Filter)
	if err != nil || slices.ContainsFunc(conditions, func(c Condition) bool {
		return !slices.Contains(x.settings["filterableAttributes"].([]any), any(c.Attribute))
	}) {
		return nil, problem("invalid_search_filter", q.Filter)
	}
	if set, ok := x.settings["distinctAttribute"].(string); ok && q.Distinct == "" {
		q.Distinct = set
	}
	if q.Distinct != "" && !slices.Contains(x.settings["filterableAttributes"].([]any), any(q.Distinct)) {
		return nil, problem("invalid_search_distinct", q.Distinct)
	}
	hits := x.search(q, conditions)
	result = map[string]any{
		"indexUid": q.IndexUID, "hits": hits, "query": q.Q, "processingTimeMs": 1, "limit": q.Limit, "offset": 0, "estimatedTotalHits": len(hits), "requestUid": "0194",
	}
	if q.Hybrid != nil {
		result["semanticHitCount"] = len(hits)
	}
	return result, nil
}

// embedQuery makes the vector of a semantic query.
func (s *Server) embedQuery(ctx context.Context, x *index, q *query) (refused map[string]any) {
	e, ok := embeddersOf(x.settings)[q.Hybrid.Embedder]
	if !ok {
		return problem("invalid_search_embedder", q.Hybrid.Embedder)
	}
	if q.Vector == nil {
		s.mu.Unlock() // other requests are served meanwhile
		made, err := e.embed(ctx, []string{q.Q})
		s.mu.Lock()
		words := q.Hybrid.SemanticRatio < 1
		switch failed := err != nil || s.denied(e.text("url")); {
		case failed && words: // 1.50.0 answers by them then
			q.Hybrid = nil
			return nil
		case failed:
			return problem(vectorEmbeddingError, q.Hybrid.Embedder)
		case !words:
			q.Q = ""
		}
		q.Vector = made[0]
	}
	if n, ok := e["dimensions"].(float64); ok && len(q.Vector) != int(n) {
		return problem("invalid_vector_dimensions", n, len(q.Vector))
	}
	return nil
}

// byRarity sorts words by how many documents have them. With the matching
// strategy "frequency", documents need the rarest word, and those with more of
// the next ones are first.
func (x *index) byRarity(words []string, hitsOf func(d map[string]json.RawMessage, word string) float64) []string {
	holders := map[string]int{}
	for _, w := range words {
		for _, d := range x.documents {
			if hitsOf(d, w) > 0 {
				holders[w]++
			}
		}
	}
	words = slices.DeleteFunc(slices.Clone(words), func(w string) bool { return holders[w] == 0 })
	slices.SortStableFunc(words, func(a, b string) int { return cmp.Compare(holders[a], holders[b]) })
	return words
}

func (x *index) search(q query, conditions []Condition) []map[string]any {
	type scored struct {
		id    string
		value float64
	}
	words := x.words(q.Q)
	var fields []string
	searchable, _ := x.settings["searchableAttributes"].([]any)
	for _, field := range searchable {
		fields = append(fields, field.(string))
	}
	if len(fields) == 0 || fields[0] == "*" {
		fields = []string{"title", "heading", "text", "keywords"}
	}
	ratio := 0.0
	if q.Hybrid != nil {
		ratio = q.Hybrid.SemanticRatio
	}
	// hitsOf returns how well a document has a word.
	hitsOf := func(d map[string]json.RawMessage, word string) float64 {
		for i, field := range fields {
			if slices.ContainsFunc(x.alike(word), func(w string) bool { return has(text(d, field), field, w) }) {
				return max(1-float64(i)/4, .1)
			}
		}
		return 0
	}
	everything := len(words) == 0 && q.Hybrid == nil
	if q.MatchingStrategy == "frequency" {
		words = x.byRarity(words, hitsOf)
	}
	var found []scored
	for _, id := range x.order {
		d := x.documents[id]
		if !matches(d, conditions) {
			continue
		}
		hits := 0.0
		for _, w := range words {
			has := hitsOf(d, w)
			if has == 0 && q.MatchingStrategy == "frequency" {
				break
			}
			hits += has
		}
		f := scored{id: id}
		if len(words) > 0 && hits > 0 {
			f.value = (1 - ratio) * hits / float64(len(words))
		}
		if everything {
			f.value = 1
		}
		if q.Hybrid != nil && q.Vector != nil {
			if sim := similarity(q.Vector, d["_vectors"], q.Hybrid.Embedder); ratio*sim > f.value {
				f.value = ratio * sim
			}
		}
		// In a semantic search, documents without a vector are last.
		if f.value > 0 || ratio == 1 {
			found = append(found, f)
		}
	}
	slices.SortStableFunc(found, func(a, b scored) int { return cmp.Compare(b.value, a.value) })
	out := []map[string]any{}
	seen := map[string]bool{}
	for _, f := range found {
		if q.Distinct != "" {
			value := string(x.documents[f.id][q.Distinct])
			if seen[value] {
				continue
			}
			seen[value] = value != `""` // documents without a value are all distinct
		}
		if len(out) == q.Limit {
			break
		}
		hit := map[string]any{}
		for _, k := range q.AttributesToRetrieve {
			hit[k] = x.documents[f.id][k]
		}
		if q.ShowRankingScore {
			hit["_rankingScore"] = f.value
		}
		out = append(out, hit)
	}
	return out
}

// has reports whether a text has a word: as a whole one where the text is of
// terms.
func has(text, field, word string) bool {
	text = strings.ToLower(text)
	if strings.HasPrefix(field, "terms.") {
		return strings.Contains(" "+strings.Trim(text, "\" ")+" ", " "+word+" ")
	}
	return strings.Contains(text, word)
}

// text returns a field of a document, or of an object in it.
func text(d map[string]json.RawMessage, field string) string {
	field, inner, nested := strings.Cut(field, ".")
	if !nested {
		return string(d[field])
	}
	var object map[string]json.RawMessage
	_ = json.Unmarshal(d[field], &object)
	return string(object[inner])
}

// similarity returns (1+cosine)/2, as the server does.
func similarity(v []float64, vectors json.RawMessage, name string) float64 {
	var all map[string]*struct{ Embeddings [][]float64 }
	if json.Unmarshal(vectors, &all) != nil || all[name] == nil || len(all[name].Embeddings) == 0 {
		return 0
	}
	u := all[name].Embeddings[0]
	if len(u) != len(v) {
		return 0
	}
	var dot, a, b float64
	for i := range v {
		dot += u[i] * v[i]
		a += u[i] * u[i]
		b += v[i] * v[i]
	}
	return (1 + dot/math.Sqrt(a*b)) / 2
}

func matches(d map[string]json.RawMessage, conditions []Condition) bool {
	for _, c := range conditions {
		var values []string
		if json.Unmarshal(d[c.Attribute], &values) != nil {
			var one string
			_ = json.Unmarshal(d[c.Attribute], &one)
			values = []string{one}
		}
		wanted := c.Values
		if wanted == nil {
			wanted = []string{c.Value}
		}
		found := slices.ContainsFunc(values, func(v string) bool {
			if v == "" {
				return c.Empty // no value equals it
			}
			return slices.ContainsFunc(wanted, func(w string) bool { return strings.EqualFold(v, w) })
		})
		if found == c.Not {
			return false
		}
	}
	return true
}
