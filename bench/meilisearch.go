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
	"path/filepath"
	"strings"
	"time"
)

// meilisearchServer is the server of the meilisearch suite.
type meilisearchServer struct {
	url, key string
	dir      string // of its data, "" if it was not started here
}

// startMeilisearch starts the program that MEILISEARCH_BIN names, or returns
// the server of MEILISEARCH_URL and MEILISEARCH_KEY. Without any of them it
// returns nil.
func (b *bench) startMeilisearch(ctx context.Context) (*meilisearchServer, error) {
	bin := os.Getenv("MEILISEARCH_BIN")
	if bin == "" {
		if address := os.Getenv("MEILISEARCH_URL"); address != "" {
			return &meilisearchServer{url: strings.TrimRight(address, "/"), key: os.Getenv("MEILISEARCH_KEY")}, nil
		}
		return nil, nil
	}
	addr, err := freeAddress()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(b.dir, "meilisearch-")
	if err != nil {
		return nil, err
	}
	m := &meilisearchServer{"http://" + addr, "bench-master-key-0123456789", filepath.Join(dir, "data")}
	if err := os.Setenv("MEILISEARCH_KEY", m.key); err != nil { // Caddy reads it
		return nil, err
	}
	p, err := b.start(ctx, "meilisearch", dir, []string{"MEILI_MASTER_KEY=" + m.key}, bin,
		"--http-addr", addr, "--db-path", m.dir, "--no-analytics", "--log-level", "WARN")
	if err != nil {
		return nil, err
	}
	return m, p.listening(ctx, addr)
}

// directive is the server in a Caddyfile.
func (m *meilisearchServer) directive() string {
	return fmt.Sprintf("\t\tindex meilisearch %s {\n\t\t\tapi_key {env.MEILISEARCH_KEY}\n\t\t}\n", m.url)
}

// benchMeilisearch compares Meilisearch with the embedded index and with the
// server's own search.
func benchMeilisearch(ctx context.Context, b *bench) error {
	m, err := b.startMeilisearch(ctx)
	if err != nil {
		return err
	}
	if m == nil {
		fmt.Fprintln(os.Stderr, "bench: Meilisearch is left out; name its program in MEILISEARCH_BIN")
		return nil
	}
	for _, part := range []struct {
		name string
		run  func(context.Context, *meilisearchServer) error
	}{{"quality", b.benchQuality}, {"latency", b.benchLatency}, {"large", b.benchLarge}} {
		if b.only == "" || b.only == part.name {
			if err := part.run(ctx, m); err != nil {
				return fmt.Errorf("%s: %w", part.name, err)
			}
		}
	}
	return nil
}

// benchLatency measures searches of one client through real Caddys, with the
// embedded index and with Meilisearch, and searches of the server alone.
func (b *bench) benchLatency(ctx context.Context, m *meilisearchServer) error {
	sections := b.siteSize()
	root, questions, err := b.generated(sections)
	if err != nil {
		return err
	}
	s := &searchSite{sections: sections, root: root, questions: questions}
	embedder, err := serveEmbeddings(ctx)
	if err != nil {
		return err
	}
	vectors := fmt.Sprintf("\t\tembedder http://%s/v1 bench-embed\n", embedder)
	all := []*variant{
		{name: "in the process, keywords", site: "benchwords"},
		{name: "Meilisearch, keywords", site: "benchwords", options: m.directive()},
		{name: "in the process, with vectors", site: "benchvectors", options: vectors},
		{name: "Meilisearch, with vectors", site: "benchvectors", options: m.directive() + vectors},
	}
	const hybrid = "a hybrid query to the server alone"
	for _, v := range all {
		if v.options != "" && v.options != vectors {
			defer m.drop(v.site)
		}
		if err := b.startVariant(ctx, v, s); err != nil {
			return fmt.Errorf("%s: %w", v.name, err)
		}
		defer v.end()
	}
	if err := m.embedded(ctx, "benchvectors", sections); err != nil {
		return err
	}
	bare := m.bare("benchvectors", questions)
	bare.name = hybrid
	all = append(all, bare)
	c := series{}
	for round := range max(b.rounds, 3) + 1 {
		for _, v := range all {
			if round == 1 && v.admin != "" {
				b.profileCPU(ctx, v.server, "latency, "+v.name, b.seconds(4))
			}
			one, err := askAll(ctx, v.addr, v.requests, 1, b.seconds(4))
			if err != nil {
				return fmt.Errorf("%s: %w", v.name, err)
			}
			if round > 0 { // caches are full
				c.add(v.name+" p50", ms(quantile(one.took, .5)))
				c.add(v.name+" p99", ms(quantile(one.took, .99)))
			}
		}
	}
	var rows [][]string
	for _, v := range all {
		row := []string{v.name, number(c.median(v.name + " p50")), number(c.median(v.name + " p99"))}
		if r := c.ratio(v.name+" p50", hybrid+" p50"); strings.HasPrefix(v.name, "Meilisearch") {
			row = append(row, result(r, "≤ 3", r <= 3))
		} else {
			row = append(row, number(r))
		}
		rows = append(rows, row)
	}
	table(fmt.Sprintf("Latency with Meilisearch %s: %d sections, %d questions, one client, through real Caddys", m.version(ctx), sections, len(questions)),
		[]string{"search", "p50, ms", "p99, ms", "p50 ÷ the hybrid query's"}, rows)
	return nil
}

// bare has hybrid queries to the server's index of a site.
func (m *meilisearchServer) bare(site string, questions []string) *variant {
	bare := &variant{server: &server{addr: strings.TrimPrefix(m.url, "http://")}}
	for _, q := range questions {
		body := jsonOf(map[string]any{
			"q": q, "vector": wordVector(q), "hybrid": map[string]any{"embedder": "docs", "semanticRatio": .5},
			"limit": 10, "attributesToRetrieve": []string{"url", "title", "heading", "breadcrumbs", "text"},
		})
		head := fmt.Sprintf("POST /indexes/_docs-%s-und/search HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n", site, bare.addr, m.key, len(body))
		bare.requests = append(bare.requests, append([]byte(head), body...))
	}
	return bare
}

// embedded waits until all sections of a site have vectors in the server.
func (m *meilisearchServer) embedded(ctx context.Context, site string, sections int) error {
	for {
		var stats struct {
			NumberOfEmbeddedDocuments int
			IsIndexing                bool
		}
		if err := meilisearchCall(ctx, http.MethodGet, m.url+"/indexes/_docs-"+site+"-und/stats", m.key, &stats); err != nil {
			return err
		}
		if stats.NumberOfEmbeddedDocuments == sections && !stats.IsIndexing {
			return nil
		}
		if err := pause(ctx, time.Second); err != nil {
			return err
		}
	}
}

// variant is one of the Caddys with a site, in the embedded index or in
// Meilisearch, with or without vectors.
type variant struct {
	name, site, options string
	data                string // folder, "" for a new one
	*server
	requests [][]byte
}

// embeddingDimensions are those of common small models.
const embeddingDimensions = 384

// startServer starts the Caddy of a variant.
func (b *bench) startServer(ctx context.Context, v *variant, s *searchSite) (err error) {
	options := fmt.Sprintf("\tdocs {\n\t\tkey %s\n\t\tsite %s {\n\t\t\troot %q\n\t\t}\n%s\t}", benchKey, v.site, s.root, v.options)
	v.server, err = b.startCaddy(ctx, options, "\tsearch "+v.site+" {\n\t\trate_limit organization 100000 1s\n\t\trate_limit ip 100000 1s\n\t}\n", v.data)
	if err != nil {
		return err
	}
	v.requests = nil
	for _, q := range s.questions {
		v.requests = append(v.requests, post("/v1/search/"+v.site, v.addr, jsonOf(map[string]any{"query": q, "pageSize": 10})))
	}
	return nil
}

// startVariant starts a Caddy and waits until it has indexed the site.
func (b *bench) startVariant(ctx context.Context, v *variant, s *searchSite) error {
	if err := b.startServer(ctx, v, s); err != nil {
		return err
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

// meilisearchCall calls the server's API.
func meilisearchCall(ctx context.Context, method, address, key string, to any) error {
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

// version is the server's.
func (m *meilisearchServer) version(ctx context.Context) string {
	var v struct{ PkgVersion string }
	if meilisearchCall(ctx, http.MethodGet, m.url+"/version", m.key, &v) != nil {
		return ""
	}
	return v.PkgVersion
}

// drop removes a site's indexes, also after an interruption.
func (m *meilisearchServer) drop(site string) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var list struct{ Results []struct{ UID string } }
	if err := meilisearchCall(ctx, http.MethodGet, m.url+"/indexes?limit=1000", m.key, &list); err != nil {
		fmt.Fprintf(os.Stderr, "bench: the indexes of %s stay in %s: %v\n", site, m.url, err)
		return
	}
	for _, x := range list.Results {
		if strings.HasPrefix(strings.TrimPrefix(x.UID, "_"), "docs-"+site+"-") {
			var task any
			_ = meilisearchCall(ctx, http.MethodDelete, m.url+"/indexes/"+x.UID, m.key, &task)
		}
	}
}
