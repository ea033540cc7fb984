package meiliserver_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/caddy-docs/caddy-docs/caddytest/meiliserver"
)

// The fake's replies are compared with those of a real server, which
// are kept in testdata. To record them again, or to see whether a newer
// server still says the same:
//
//	MEILISEARCH_URL=… MEILISEARCH_KEY=… go test ./caddytest/meiliserver -run Replies [-update]
var update = flag.Bool("update", false, "record the replies of the server that MEILISEARCH_URL names")

const recorded = "testdata/replies.json"

// exchange is one request and its response.
type exchange struct {
	Name   string `json:"name"`
	Status int    `json:"status"`
	Body   any    `json:"body"`
	// Task is how the task ended that the request began.
	Task any `json:"task,omitempty"`
}

// peer is a server that the conversation is held with.
type peer struct {
	url  string
	keys map[string]string
}

func TestRepliesAreThoseOfARealServer(t *testing.T) {
	var want []exchange
	if !*update {
		data, err := os.ReadFile(recorded)
		if err == nil {
			err = json.Unmarshal(data, &want)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Run("the fake", func(t *testing.T) {
		if *update {
			t.Skip("recording")
		}
		s := meiliserver.New()
		t.Cleanup(s.Close)
		got := talk(t, &peer{s.URL, map[string]string{"global": s.Key, "admin": s.ScopedKey, "search": s.ViewKey, "wrong": "wrong"}})
		compare(t, got, want)
	})
	t.Run("the server of MEILISEARCH_URL", func(t *testing.T) {
		url, key := os.Getenv("MEILISEARCH_URL"), os.Getenv("MEILISEARCH_KEY")
		if url == "" {
			if *update {
				t.Fatal("-update needs MEILISEARCH_URL and MEILISEARCH_KEY")
			}
			t.Skip("MEILISEARCH_URL names no server")
		}
		p := &peer{url, map[string]string{"master": key, "wrong": "wrong"}}
		p.keys["admin"] = p.newKey(t, prefix+"*", "documents.*", "indexes.*", "settings.*", "tasks.get", "stats.get")
		p.keys["global"] = p.newKey(t, "*", "indexes.*", "tasks.get", "version")
		p.keys["search"] = p.newKey(t, prefix+"*", "search")
		p.wipe(t)
		t.Cleanup(func() { p.wipe(t) })
		got := talk(t, p)
		if *update {
			data, err := json.MarshalIndent(got, "", "\t")
			if err == nil {
				err = os.WriteFile(recorded, append(data, '\n'), 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
			return
		}
		compare(t, got, want)
	})
}

// prefix begins the names of the conversation's indexes.
const prefix = "docs-recorded-"

// newKey makes a key that is gone with the test.
func (p *peer) newKey(t *testing.T, indexes string, actions ...string) string {
	t.Helper()
	status, body := p.send(t, step{method: "POST", path: "/keys", key: "master", body: map[string]any{
		"name": "recording", "actions": actions, "indexes": []string{indexes}, "expiresAt": nil,
	}})
	made, _ := body.(map[string]any)
	key, _ := made["key"].(string)
	if status != http.StatusCreated || key == "" {
		t.Fatalf("no key: %d %v", status, body)
	}
	t.Cleanup(func() { p.send(t, step{method: "DELETE", path: "/keys/" + key, key: "master"}) })
	return key
}

func (p *peer) wipe(t *testing.T) {
	t.Helper()
	_, body := p.send(t, step{method: "GET", path: "/indexes?limit=1000", key: "admin"})
	list, _ := body.(map[string]any)
	results, _ := list["results"].([]any)
	for _, x := range results {
		_, begun := p.send(t, step{method: "DELETE", path: "/indexes/" + x.(map[string]any)["uid"].(string), key: "admin"})
		p.await(t, begun, "admin")
	}
}

// talk holds the conversation.
func talk(t *testing.T, p *peer) []exchange {
	t.Helper()
	var out []exchange
	for _, s := range conversation() {
		x := exchange{Name: s.name}
		var body any
		x.Status, body = p.send(t, s)
		if x.Status == http.StatusAccepted {
			x.Task = normal(p.await(t, body, s.key))
		}
		x.Body = normal(body)
		out = append(out, x)
	}
	// As it comes out of the file.
	data, err := json.Marshal(out)
	if err == nil {
		out = nil
		err = json.Unmarshal(data, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (p *peer) send(t *testing.T, s step) (status int, body any) {
	t.Helper()
	var data []byte
	switch b := s.body.(type) {
	case nil:
	case string:
		data = []byte(b)
	default:
		var err error
		if data, err = json.Marshal(b); err != nil {
			t.Fatal(err)
		}
	}
	r, err := http.NewRequestWithContext(t.Context(), s.method, p.url+s.path, bytes.NewReader(data))
	if t.Context().Err() != nil { // cleaning up
		r, err = http.NewRequest(s.method, p.url+s.path, bytes.NewReader(data)) //nolint:noctx // the test's context is done
	}
	if err != nil {
		t.Fatal(err)
	}
	if s.key != "" {
		r.Header.Set("Authorization", "Bearer "+p.keys[s.key])
	}
	switch {
	case s.kind == none:
	case s.kind != "":
		r.Header.Set("Content-Type", s.kind)
	case s.body != nil:
		r.Header.Set("Content-Type", "application/json")
	}
	res, err := http.DefaultClient.Do(r)
	for try := 0; err != nil && len(data) > 1<<20 && try < 20; try++ {
		// A server that does not read on may be seen to close first.
		r.Body, _ = r.GetBody()
		res, err = http.DefaultClient.Do(r)
	}
	if err != nil {
		t.Fatalf("%s: %v", s.name, err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("%s: %v", s.name, err)
	}
	if len(answer) > 0 && json.Unmarshal(answer, &body) != nil {
		body = string(answer)
	}
	return res.StatusCode, body
}

// await waits for the end of the task that a reply names.
func (p *peer) await(t *testing.T, begun any, key string) any {
	t.Helper()
	reply, _ := begun.(map[string]any)
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		_, body := p.send(t, step{method: "GET", path: fmt.Sprint("/tasks/", reply["taskUid"]), key: key})
		task, _ := body.(map[string]any)
		switch task["status"] {
		case "enqueued", "processing":
		default:
			return body
		}
	}
	t.Fatalf("task %v does not end", reply["taskUid"])
	return nil
}

// changing are the fields whose values no two runs share; what is kept of
// them is their type.
var changing = []string{
	"taskUid", "batchUid", "enqueuedAt", "startedAt", "finishedAt", "duration", "createdAt", "updatedAt",
	"processingTimeMs", "requestUid", "commitSha", "commitDate", "pkgVersion", "rawDocumentDbSize", "avgDocumentSize",
	"preCompactionSize", "postCompactionSize",
}

func normal(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			_, number := x.(float64)
			switch {
			case slices.Contains(changing, k) || k == "uid" && number:
				if number {
					v[k] = 0
				} else if x != nil {
					v[k] = "…"
				}
			default:
				v[k] = normal(x)
			}
		}
	case []any:
		for i := range v {
			v[i] = normal(v[i])
		}
	}
	return v
}

func compare(t *testing.T, got, want []exchange) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d replies, recorded are %d: record them again", len(got), len(want))
	}
	for i, w := range want {
		t.Run(w.Name, func(t *testing.T) {
			g := got[i]
			if g.Name != w.Name || g.Status != w.Status {
				t.Errorf("%s: status %d; recorded: %s: %d", g.Name, g.Status, w.Name, w.Status)
			}
			differ(t, "body", g.Body, w.Body)
			differ(t, "task", g.Task, w.Task)
		})
	}
}

// differ reports where two replies are not of one form, or say different
// things.
func differ(t *testing.T, path string, got, want any) {
	t.Helper()
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			t.Errorf("%s is %v, recorded %v", path, got, want)
			return
		}
		for _, k := range slices.Sorted(maps.Keys(w)) {
			if _, ok := g[k]; !ok {
				t.Errorf("%s.%s is missing, recorded %v", path, k, w[k])
			} else {
				g, w := g[k], w[k]
				if k == "message" || k == "_rankingScore" || k == "weightedRankingScore" {
					// A message is only logged, and a score not used.
					g, w = fmt.Sprintf("%T", g), fmt.Sprintf("%T", w)
				}
				differ(t, path+"."+k, g, w)
			}
		}
		for k := range g {
			if _, ok := w[k]; !ok {
				t.Errorf("%s.%s is %v, recorded is no such field", path, k, g[k])
			}
		}
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			t.Errorf("%s is %v, recorded %v", path, got, want)
			return
		}
		for i := range w {
			differ(t, fmt.Sprintf("%s[%d]", path, i), g[i], w[i])
		}
	case float64:
		g, ok := got.(float64)
		if !ok || math.Abs(g-w) > 1e-4 {
			t.Errorf("%s is %v, recorded %v", path, got, want)
		}
	default:
		if got != want {
			t.Errorf("%s is\n\t%v\nrecorded\n\t%v", path, got, want)
		}
	}
}

// none is no Content-Type.
const none = "-"

// step is one request of the conversation.
type step struct {
	name, method, path, key string
	// body is marshalled, a string is sent unchanged.
	body any
	// kind is the Content-Type, "" that of JSON.
	kind string
}

// object is a JSON object.
type object = map[string]any

// conversation has every route and every refusal that the index meets.
func conversation() []step {
	const a, b = prefix + "a", prefix + "b"
	document := func(id, title, text string, vector any) object {
		return object{
			"id": id, "page": "p/" + id, "title": title, "text": text, "version": "2.x", "language": []string{"en"}, "tags": []string{"http"},
			"vector": "v", "_vectors": object{"docs": vector},
		}
	}
	four := document("four", "Install", "Build it from source.", nil)
	four["version"] = ""
	embedding := func(v ...float64) object {
		return object{"embeddings": [][]float64{v}, "regenerate": false}
	}
	settings := object{
		"searchableAttributes": []string{"title", "heading", "text"},
		"displayedAttributes":  []string{"id", "page", "title", "vector"},
		"filterableAttributes": []string{"language", "page", "tags", "version"},
		"rankingRules":         []string{"words", "typo", "proximity", "attribute", "sort", "exactness"},
		"typoTolerance":        object{"enabled": true, "minWordSizeForTypos": object{"oneTypo": 5, "twoTypos": 9}, "disableOnWords": []string{}, "disableOnAttributes": []string{}, "disableOnNumbers": true},
		"pagination":           object{"maxTotalHits": 1000},
		"synonyms":             object{"tls": []string{"ssl"}, "ssl": []string{"tls"}},
		"stopWords":            []string{"the", "a"},
		"localizedAttributes":  []object{{"locales": []string{"jpn"}, "attributePatterns": []string{"*"}}},
		"embedders":            object{"docs": object{"source": "userProvided", "dimensions": 3}},
	}
	search := func(more object) object {
		q := object{"indexUid": a, "limit": 200, "attributesToRetrieve": []string{"id"}}
		maps.Copy(q, more)
		return object{"queries": []object{q}}
	}
	hybrid := func(name string) object { return object{"semanticRatio": 1, "embedder": name} }
	var out []step
	add := func(s ...step) { out = append(out, s...) }
	add(
		step{"health", "GET", "/health", "", nil, ""},
		step{"version", "GET", "/version", "global", nil, ""},
		step{"version with a key for some indexes", "GET", "/version", "admin", nil, ""},
		step{"version without a key", "GET", "/version", "", nil, ""},
		step{"version with a key that is none", "GET", "/version", "wrong", nil, ""},
		step{"version with a key that may only search", "GET", "/version", "search", nil, ""},
		step{"no indexes", "GET", "/indexes?limit=1000", "admin", nil, ""},
		step{"creating an index", "POST", "/indexes", "admin", object{"uid": a, "primaryKey": "id"}, ""},
		step{"creating it again", "POST", "/indexes", "admin", object{"uid": a, "primaryKey": "id"}, ""},
		step{"creating one of a name that can't be", "POST", "/indexes", "admin", object{"uid": "docs recorded", "primaryKey": "id"}, ""},
		step{"creating one that the key is not for", "POST", "/indexes", "admin", object{"uid": "other", "primaryKey": "id"}, ""},
		step{"an index", "GET", "/indexes?limit=1000", "admin", nil, ""},
		step{"settings of a new index", "GET", "/indexes/" + a + "/settings", "admin", nil, ""},
		step{"settings of none", "GET", "/indexes/" + b + "/settings", "admin", nil, ""},
		step{"setting settings", "PATCH", "/indexes/" + a + "/settings", "admin", settings, ""},
		step{"settings that are set", "GET", "/indexes/" + a + "/settings", "admin", nil, ""},
		step{"setting a ranking rule that is none", "PATCH", "/indexes/" + a + "/settings", "admin", object{"rankingRules": []string{"luck"}}, ""},
		step{"setting what is no setting", "PATCH", "/indexes/" + a + "/settings", "admin", object{"luck": 1}, ""},
		step{"setting with a key that may only search", "PATCH", "/indexes/" + a + "/settings", "search", settings, ""},
		step{"adding documents", "POST", "/indexes/" + a + "/documents?primaryKey=id", "admin", []object{
			document("one", "Reverse proxy", "Requests go to an upstream server.", embedding(1, 0, 0)),
			document("two", "File server", "Lists a folder as a page of the server.", embedding(0, 1, 0)),
			document("three", "Automatic HTTPS", "Certificates are obtained and renewed.", embedding(.6, .8, 0)),
			four,
		}, ""},
		step{"adding to an index that is not there", "POST", "/indexes/" + b + "/documents?primaryKey=id", "admin", []object{{"id": "one"}}, ""},
		step{"two indexes", "GET", "/indexes?limit=1000", "admin", nil, ""},
		step{"the second page of them", "GET", "/indexes?limit=1000&offset=2", "admin", nil, ""},
		step{"adding one without an id", "POST", "/indexes/" + a + "/documents?primaryKey=id", "admin", []object{{"title": "No id", "_vectors": object{"docs": nil}}}, ""},
		step{"adding one whose id can't be", "POST", "/indexes/" + a + "/documents?primaryKey=id", "admin", []object{document("not an id", "x", "y", nil)}, ""},
		step{"adding one with another primary key", "POST", "/indexes/" + a + "/documents?primaryKey=page", "admin", []object{document("five", "x", "y", nil)}, ""},
		step{"adding one without vectors", "POST", "/indexes/" + a + "/documents?primaryKey=id", "admin", []object{{"id": "five", "title": "x"}}, ""},
		step{"adding one with a vector of another length", "POST", "/indexes/" + a + "/documents?primaryKey=id", "admin", []object{document("five", "x", "y", embedding(1, 0))}, ""},
		step{"adding two of which one fails", "POST", "/indexes/" + a + "/documents?primaryKey=id", "admin", []object{document("five", "x", "y", nil), document("si x", "x", "y", nil)}, ""},
		step{"adding no documents", "POST", "/indexes/" + a + "/documents?primaryKey=id", "admin", []object{}, ""},
		step{"adding what is not JSON", "POST", "/indexes/" + a + "/documents?primaryKey=id", "admin", `[{"id":`, ""},
		step{"adding without a content type", "POST", "/indexes/" + a + "/documents?primaryKey=id", "admin", `[]`, none},
		step{"adding as text", "POST", "/indexes/" + a + "/documents?primaryKey=id", "admin", `[]`, "text/plain"},
		step{"adding with a key that may only search", "POST", "/indexes/" + a + "/documents?primaryKey=id", "search", []object{}, ""},
		step{"counts", "GET", "/indexes/" + a + "/stats", "admin", nil, ""},
		step{"counts of none", "GET", "/indexes/" + prefix + "none/stats", "admin", nil, ""},
		step{"what it holds", "POST", "/indexes/" + a + "/documents/fetch", "admin", object{"limit": 5000, "fields": []string{"id", "vector"}}, ""},
		step{"its second page", "POST", "/indexes/" + a + "/documents/fetch", "admin", object{"limit": 2, "offset": 2, "fields": []string{"id", "vector"}}, ""},
		step{"one of them", "POST", "/indexes/" + a + "/documents/fetch", "admin", object{"limit": 1, "ids": []string{"two"}, "fields": []string{"id"}}, ""},
		step{"one that it doesn't hold", "POST", "/indexes/" + a + "/documents/fetch", "admin", object{"limit": 1, "ids": []string{"none"}, "fields": []string{"id"}}, ""},
		step{"what none holds", "POST", "/indexes/" + prefix + "none/documents/fetch", "admin", object{"limit": 2}, ""},
		step{"deleting documents", "POST", "/indexes/" + a + "/documents/delete-batch", "admin", []string{"two", "never"}, ""},
		step{"deleting from none", "POST", "/indexes/" + prefix + "none/documents/delete-batch", "admin", []string{"two"}, ""},
		step{"a task that is none", "GET", "/tasks/4000000000", "admin", nil, ""},
	)
	add(
		step{"searching for one section of each page", "POST", "/multi-search", "search", search(object{"q": "upstream ", "matchingStrategy": "frequency", "distinct": "page"}), ""},
		step{"searching for one of each title, which is no filter", "POST", "/multi-search", "search", search(object{"q": "upstream", "distinct": "title"}), ""},
		step{"searching by a word", "POST", "/multi-search", "search", search(object{"q": "upstream", "matchingStrategy": "frequency"}), ""},
		step{"with scores", "POST", "/multi-search", "search", search(object{"q": "upstream", "showRankingScore": true}), ""},
		step{"by the beginning of a word", "POST", "/multi-search", "search", search(object{"q": "certif"}), ""},
		step{"by a word that is nowhere", "POST", "/multi-search", "search", search(object{"q": "zebra"}), ""},
		step{"by meaning", "POST", "/multi-search", "search", search(object{"vector": []float64{.6, .8, 0}, "hybrid": hybrid("docs"), "showRankingScore": true}), ""},
		step{"by words and meaning", "POST", "/multi-search", "search", object{"queries": []object{
			{"indexUid": a, "limit": 200, "attributesToRetrieve": []string{"id"}, "q": "upstream", "matchingStrategy": "frequency", "filter": `version = "2.x" AND language = "en"`},
			{"indexUid": a, "limit": 200, "attributesToRetrieve": []string{"id"}, "vector": []float64{1, 0, 0}, "hybrid": hybrid("docs"), "showRankingScore": true, "filter": `version = "2.x" AND language = "en"`},
		}}, ""},
		step{"by meaning that nobody made", "POST", "/multi-search", "search", search(object{"q": "upstream", "hybrid": hybrid("docs")}), ""},
		step{"by an embedder that is none", "POST", "/multi-search", "search", search(object{"vector": []float64{1, 0, 0}, "hybrid": hybrid("none")}), ""},
		step{"by a vector of another length", "POST", "/multi-search", "search", search(object{"vector": []float64{1, 0}, "hybrid": hybrid("docs")}), ""},
		step{"by a vector without hybrid", "POST", "/multi-search", "search", search(object{"vector": []float64{1, 0, 0}}), ""},
		step{"by a ratio that is none", "POST", "/multi-search", "search", search(object{"q": "x", "hybrid": object{"semanticRatio": 2, "embedder": "docs"}}), ""},
		step{"with a filter", "POST", "/multi-search", "search", search(object{"q": "server", "filter": `tags = "HTTP"`}), ""},
		step{"with a filter that nothing passes", "POST", "/multi-search", "search", search(object{"q": "server", "filter": `tags = "x\\\" OR version = \"2.x"`}), ""},
		step{"with a filter by an empty value", "POST", "/multi-search", "search", search(object{"filter": `version IN [""]`}), ""},
		step{"with a filter by an empty value or another", "POST", "/multi-search", "search", search(object{"filter": `tags = "http" AND (version IS EMPTY OR version IN ["1.x"])`}), ""},
		step{"with a filter by neither", "POST", "/multi-search", "search", search(object{"filter": `NOT (version IS EMPTY OR version IN ["1.x"])`}), ""},
		step{"with a filter by those without an empty value", "POST", "/multi-search", "search", search(object{"filter": `NOT version IN ["2.x"]`}), ""},
		step{"with a filter that is none", "POST", "/multi-search", "search", search(object{"q": "server", "filter": `tags "x"`}), ""},
		step{"with a filter by what can't be filtered", "POST", "/multi-search", "search", search(object{"q": "server", "filter": `title = "x"`}), ""},
		step{"in an index that is not there", "POST", "/multi-search", "search", search(object{"indexUid": prefix + "none"}), ""},
		step{"in an index that the key is not for", "POST", "/multi-search", "search", search(object{"indexUid": "other"}), ""},
		step{"with a field that is none", "POST", "/multi-search", "search", search(object{"luck": 1}), ""},
		step{"without a key", "POST", "/multi-search", "", search(nil), ""},
		step{"with a wrong key", "POST", "/multi-search", "wrong", search(nil), ""},
		step{"what is not JSON", "POST", "/multi-search", "search", `{"queries":`, ""},
		step{"without a content type", "POST", "/multi-search", "search", `{"queries":[]}`, none},
		step{"no queries", "POST", "/multi-search", "search", `{"queries":[]}`, ""},
	)
	add(
		step{"swapping", "POST", "/swap-indexes", "global", []object{{"indexes": []string{a, b}, "rename": false}}, ""},
		step{"what it holds after that", "POST", "/indexes/" + b + "/documents/fetch", "admin", object{"limit": 5000, "fields": []string{"id"}}, ""},
		step{"swapping with none", "POST", "/swap-indexes", "global", []object{{"indexes": []string{a, prefix + "none"}, "rename": false}}, ""},
		step{"swapping with itself", "POST", "/swap-indexes", "admin", []object{{"indexes": []string{a, a}, "rename": false}}, ""},
		step{"renaming", "POST", "/swap-indexes", "global", []object{{"indexes": []string{a, prefix + "c"}, "rename": true}}, ""},
		step{"renaming to one that is there", "POST", "/swap-indexes", "global", []object{{"indexes": []string{b, prefix + "c"}, "rename": true}}, ""},
		step{"swapping with a key for some indexes", "POST", "/swap-indexes", "admin", []object{{"indexes": []string{b, prefix + "c"}, "rename": false}}, ""},
		step{"swapping with a key that may only search", "POST", "/swap-indexes", "search", []object{}, ""},
		step{"creating an index without a key", "POST", "/indexes", "admin", object{"uid": prefix + "d"}, ""},
		step{"setting an embedder of the server's", "PATCH", "/indexes/" + prefix + "d/settings", "admin", object{"embedders": object{"mine": object{
			"source": "rest", "url": "http://192.0.2.1/embed", "apiKey": "a secret of the operator's", "dimensions": 3, "documentTemplate": "{{doc.title}}",
			"request": object{"texts": []string{"{{text}}", "{{..}}"}}, "response": object{"vectors": []string{"{{embedding}}", "{{..}}"}},
		}}}, ""},
		step{"the settings without its secret", "GET", "/indexes/" + prefix + "d/settings", "admin", nil, ""},
		step{"setting another embedder", "PATCH", "/indexes/" + prefix + "d/settings", "admin", object{"embedders": object{"docs": object{"source": "userProvided", "dimensions": 3}}}, ""},
		step{"the first one stays", "GET", "/indexes/" + prefix + "d/settings", "admin", nil, ""},
		step{"taking it away", "PATCH", "/indexes/" + prefix + "d/settings", "admin", object{"embedders": object{"mine": nil}}, ""},
		step{"it is gone", "GET", "/indexes/" + prefix + "d/settings", "admin", nil, ""},
		step{"compacting an index", "POST", "/indexes/" + b + "/compact", "admin", nil, ""},
		step{"compacting none", "POST", "/indexes/" + prefix + "none/compact", "admin", nil, ""},
		step{"compacting with a key that may only search", "POST", "/indexes/" + b + "/compact", "search", nil, ""},
		step{"deleting an index", "DELETE", "/indexes/" + b, "admin", nil, ""},
		step{"deleting it again", "DELETE", "/indexes/" + b, "admin", nil, ""},
		step{"deleting with a key that may only search", "DELETE", "/indexes/" + b, "search", nil, ""},
		step{"swapping one index", "POST", "/swap-indexes", "global", []object{{"indexes": []string{b}}}, ""},
		step{"tasks", "GET", "/tasks?statuses=canceled&indexUids=" + b + "&limit=1", "admin", nil, ""},
		step{"tasks with a key that may only search", "GET", "/tasks?limit=1", "search", nil, ""},
	)
	for _, r := range []struct{ method, path string }{
		{"DELETE", ""}, {"GET", "/documents?limit=1"}, {"POST", "/documents"}, {"DELETE", "/documents/1"},
		{"GET", "/settings"}, {"DELETE", "/settings/stop-words"}, {"GET", "/stats"},
	} {
		for _, key := range []string{"admin", "search"} {
			add(step{r.method + " " + r.path + " of a name that can't be, with the key " + key, r.method, "/indexes/" + a + "." + r.path, key, nil, none})
		}
	}
	add(
		step{"a body beyond all bounds", "POST", "/indexes/" + a + "/documents?primaryKey=id", "admin", "[" + strings.Repeat(" ", 105<<20) + "]", ""},
	)
	return out
}
