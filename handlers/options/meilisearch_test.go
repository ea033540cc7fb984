package options

import "testing"

func TestMeilisearchTakesTheSemanticRatioOfTheEmbedder(t *testing.T) {
	own, embedders := .3, .4
	for _, c := range []struct{ index, embedder, want *float64 }{
		{nil, nil, nil}, {&own, nil, &own}, {nil, &embedders, &embedders},
	} {
		m := &MeilisearchIndex{SemanticRatio: c.index}
		if got := m.options(IndexOptions{SemanticRatio: (&OpenAIEmbedder{SemanticRatio: c.embedder}).SemanticWeight()}).SemanticRatio; got != c.want {
			t.Errorf("index %v, embedder %v: got %v", c.index, c.embedder, got)
		}
	}
}
