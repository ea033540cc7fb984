package meiliserver

import (
	"cmp"
	"encoding/json"
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
}

func (s *Server) multiSearch(w http.ResponseWriter, r *http.Request) {
	var body struct{ Queries []query }
	if !read(w, r, &body) {
		return
	}
	results := []map[string]any{}
	for _, q := range body.Queries {
		x := s.indexes[q.IndexUID]
		if x == nil {
			fail(w, 404, "index_not_found", q.IndexUID)
			return
		}
		if q.Hybrid != nil {
			e, ok := embeddersOf(x.settings)[q.Hybrid.Embedder]
			if !ok {
				fail(w, 400, "invalid_search_embedder", q.Hybrid.Embedder)
				return
			}
			if q.Vector == nil {
				s.mu.Unlock() // others are answered meanwhile
				made, err := e.embed(r.Context(), []string{q.Q})
				s.mu.Lock()
				if err != nil {
					fail(w, 400, vectorEmbeddingError, q.Hybrid.Embedder)
					return
				}
				q.Vector, q.Q = made[0], ""
			}
		}
		conditions, err := ParseFilter(q.Filter)
		if err != nil {
			fail(w, 400, "invalid_search_filter", q.Filter)
			return
		}
		results = append(results, map[string]any{
			"indexUid": q.IndexUID, "hits": x.search(q, conditions), "query": q.Q, "processingTimeMs": 1, "limit": q.Limit, "offset": 0, "estimatedTotalHits": len(x.documents), "requestUid": "0194",
		})
	}
	reply(w, 200, map[string]any{"results": results})
}

func (x *index) search(q query, conditions []Condition) []map[string]any {
	type scored struct {
		id         string
		value      float64
		similarity float64
		semantic   bool
	}
	words := x.words(q.Q)
	ratio := 0.0
	if q.Hybrid != nil {
		ratio = q.Hybrid.SemanticRatio
	}
	var found []scored
	for _, id := range x.order {
		d := x.documents[id]
		if !matches(d, conditions) {
			continue
		}
		hits := 0.0
		for _, w := range words {
			for i, field := range []string{"title", "heading", "text", "keywords"} {
				if slices.ContainsFunc(x.alike(w), func(w string) bool { return strings.Contains(strings.ToLower(string(d[field])), w) }) {
					hits += 1 - float64(i)/4
					break
				}
			}
		}
		f := scored{id: id}
		if len(words) > 0 && hits > 0 {
			f.value = (1 - ratio) * hits / float64(len(words))
		}
		if len(words) == 0 && q.Hybrid == nil {
			f.value = 1 // no words are all documents
		}
		if q.Hybrid != nil && q.Vector != nil {
			if sim := similarity(q.Vector, d["_vectors"], q.Hybrid.Embedder); sim > 0 && ratio*sim > f.value {
				f.value, f.similarity, f.semantic = ratio*sim, sim, true
			}
		}
		if f.value > 0 {
			found = append(found, f)
		}
	}
	slices.SortStableFunc(found, func(a, b scored) int { return cmp.Compare(b.value, a.value) })
	out := []map[string]any{}
	for _, f := range found[:min(len(found), q.Limit)] {
		hit := map[string]any{"_rankingScore": f.value}
		for _, k := range q.AttributesToRetrieve {
			hit[k] = x.documents[f.id][k]
		}
		if f.semantic {
			hit["_rankingScoreDetails"] = map[string]any{"vectorSort": map[string]any{"order": 0, "similarity": f.similarity}}
		} else {
			hit["_rankingScoreDetails"] = map[string]any{"words": map[string]any{"order": 0, "matchingWords": 1, "maxMatchingWords": len(words), "score": f.value}}
		}
		out = append(out, hit)
	}
	return out
}

// similarity is that of the server: half of one more than the cosine.
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
		if !slices.ContainsFunc(values, func(v string) bool { return strings.EqualFold(v, c.Value) }) {
			return false
		}
	}
	return true
}
