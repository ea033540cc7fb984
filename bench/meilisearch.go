package main

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"
)

// variant is one of four Caddys with the same site: in the embedded index or in
// Meilisearch, with or without vectors.
type variant struct {
	name, site, options string
	*server
	requests [][]byte
}

// embeddingDimensions are those of common small models.
const embeddingDimensions = 384

// benchMeilisearch measures searches of one client if MEILISEARCH_URL and
// MEILISEARCH_KEY are set. It removes its indexes from the server.
func (b *bench) benchMeilisearch(ctx context.Context, s *searchSite) error {
	address, key := os.Getenv("MEILISEARCH_URL"), os.Getenv("MEILISEARCH_KEY")
	if address == "" {
		return nil
	}
	embedder, err := serveEmbeddings(ctx)
	if err != nil {
		return err
	}
	there := fmt.Sprintf("\t\tindex meilisearch %s {\n\t\t\tapi_key {env.MEILISEARCH_KEY}\n\t\t}\n", address)
	vectors := fmt.Sprintf("\t\tembedder http://%s/v1 bench-embed\n", embedder)
	all := []*variant{
		{name: "embedded, words", site: "benchwords"},
		{name: "Meilisearch, words", site: "benchwords", options: there},
		{name: "embedded, words and vectors", site: "benchvectors", options: vectors},
		{name: "Meilisearch, words and vectors", site: "benchvectors", options: there + vectors},
	}
	defer dropIndexes(address, key, "benchwords", "benchvectors")
	for _, v := range all {
		if err := b.startVariant(ctx, v, s); err != nil {
			return fmt.Errorf("%s: %w", v.name, err)
		}
		defer v.end()
	}
	c := series{}
	for _, v := range all { // caches fill
		if _, err := askAll(ctx, v.addr, v.requests, 1, b.seconds(4)); err != nil {
			return fmt.Errorf("%s: %w", v.name, err)
		}
	}
	for range max(b.rounds, 3) {
		for _, v := range all {
			one, err := askAll(ctx, v.addr, v.requests, 1, b.seconds(3))
			if err != nil {
				return fmt.Errorf("%s: %w", v.name, err)
			}
			c.add(v.name+" p50", ms(quantile(one.took, .5)))
			c.add(v.name+" p99", ms(quantile(one.took, .99)))
		}
	}
	var rows [][]string
	for i, v := range all {
		beside := all[i-i%2].name
		row := []string{v.name}
		for _, q := range []string{" p50", " p99"} {
			row = append(row, number(c.median(v.name+q)), number(c.ratio(v.name+q, beside+q)))
		}
		rows = append(rows, row)
	}
	table(fmt.Sprintf("Meilisearch %s and the embedded index: %d sections, %d questions, one client, through real Caddys", versionOf(ctx, address, key), s.sections, len(s.questions)),
		[]string{"index", "p50, ms", "÷ embedded", "p99, ms", "÷ embedded"}, rows)
	return nil
}

// startVariant starts a Caddy and waits until it has indexed the site.
func (b *bench) startVariant(ctx context.Context, v *variant, s *searchSite) (err error) {
	options := fmt.Sprintf("\tdocs {\n\t\tkey %s\n\t\tsite %s {\n\t\t\troot %q\n\t\t}\n%s\t}", benchKey, v.site, s.root, v.options)
	v.server, err = b.startCaddy(ctx, options, "\tsearch "+v.site+" {\n\t\trate_limit organization 100000 1s\n\t}\n", "")
	if err != nil {
		return err
	}
	for _, q := range s.questions {
		v.requests = append(v.requests, post("/v1/search/"+v.site, v.addr, jsonOf(map[string]any{"query": q, "pageSize": 10})))
	}
	for {
		ready, err := v.whole(ctx)
		if err != nil || ready {
			return err
		}
		if err := pause(ctx, 200*time.Millisecond); err != nil {
			return fmt.Errorf("%w\n%s", err, v.tail())
		}
	}
}

// whole reports whether the site is indexed, with all vectors.
func (v *variant) whole(ctx context.Context) (bool, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+v.admin+"/docs/status", nil)
	if err != nil {
		return false, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return false, err
	}
	defer res.Body.Close()
	var status struct {
		Sites []struct {
			Index struct {
				Ready      bool
				Generation int
				Embeddings *struct{ Done, Total int }
			}
		}
	}
	if err := json.NewDecoder(res.Body).Decode(&status); err != nil {
		return false, err
	}
	for _, s := range status.Sites {
		// The first generation is without vectors.
		e := s.Index.Embeddings
		return s.Index.Ready && (e == nil || e.Total > 0 && e.Done == e.Total && s.Index.Generation > 1), nil
	}
	return false, nil
}

// serveEmbeddings answers POST /v1/embeddings as OpenAI does, with wordVector,
// until ctx is done.
func serveEmbeddings(ctx context.Context) (address string, err error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	srv := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct{ Input []string }
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		type item struct {
			Object    string    `json:"object"`
			Index     int       `json:"index"`
			Embedding []float32 `json:"embedding"`
		}
		data := make([]item, len(q.Input))
		for i, text := range q.Input {
			data[i] = item{"embedding", i, wordVector(text)}
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(jsonOf(map[string]any{"object": "list", "model": "bench-embed", "data": data}))
	})}
	go func() {
		<-ctx.Done()
		_ = srv.Close()
	}()
	go func() { _ = srv.Serve(l) }()
	return l.Addr().String(), nil
}

// wordVector returns a vector of length 1 in which each word of a text has its
// own direction.
func wordVector(text string) []float32 {
	v := make([]float32, embeddingDimensions)
	sum := 0.0
	for word := range strings.FieldsSeq(strings.ToLower(text)) {
		h := fnv.New64a()
		_, _ = io.WriteString(h, word)
		for x, n := h.Sum64(), 0; n < 8; n++ {
			x = x*6364136223846793005 + 1442695040888963407
			v[x>>33%embeddingDimensions] += float32(1) - 2*float32(x>>63)
		}
	}
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if sum == 0 {
		v[0], sum = 1, 1
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(sum))
	}
	return v
}

// meilisearch calls the server's API.
func meilisearch(ctx context.Context, method, address, key string, to any) error {
	req, err := http.NewRequestWithContext(ctx, method, address, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+key)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	return json.NewDecoder(res.Body).Decode(to)
}

func versionOf(ctx context.Context, address, key string) string {
	var v struct{ PkgVersion string }
	if meilisearch(ctx, http.MethodGet, address+"/version", key, &v) != nil {
		return ""
	}
	return v.PkgVersion
}

// dropIndexes removes the sites' indexes, also after an interruption.
func dropIndexes(address, key string, sites ...string) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var list struct{ Results []struct{ UID string } }
	if err := meilisearch(ctx, http.MethodGet, address+"/indexes?limit=1000", key, &list); err != nil {
		fmt.Fprintf(os.Stderr, "bench: the indexes of %s stay in %s: %v\n", strings.Join(sites, " and "), address, err)
		return
	}
	for _, x := range list.Results {
		if slices.ContainsFunc(sites, func(site string) bool { return strings.HasPrefix(x.UID, "docs-"+site+"-") }) {
			var task any
			_ = meilisearch(ctx, http.MethodDelete, address+"/indexes/"+x.UID, key, &task)
		}
	}
}
