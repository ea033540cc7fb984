package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/tiktoken-go/tokenizer"
)

// maxResultTokens is what a tool result may take: clients warn above it.
const maxResultTokens = 10000

// mcpRevision is the protocol's revision that the requests speak.
const mcpRevision = "2026-07-28"

// benchAgents measures the tools of the MCP server over the manual or -root:
// the tokens of their results, and how long they take next to search and
// Markdown without MCP. The queries are the titles and descriptions of
// llms.txt.
func benchAgents(ctx context.Context, b *bench) error {
	root, words, handlers := b.root, "", "\tfile_server\n"
	if root == "" {
		root, words = "../docs", "\t\tanchors goldmark\n\t\texclude /_site/*\n"
		handlers = "\t@page file {path}.md {path}/index.md\n\trewrite @page /_site/page.html\n\ttemplates\n\tfile_server {\n\t\thide *.md\n\t}\n"
	}
	root, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	s, err := b.startCaddy(ctx, fmt.Sprintf("\tdocs {\n\t\tkey %s\n\t}", benchKey),
		fmt.Sprintf("\troot * %q\n\tdocs bench {\n\t\trate_limit off\n%s\t}\n%s", root, words, handlers), "")
	if err != nil {
		return err
	}
	defer s.end()
	if err := s.ready(ctx); err != nil {
		return err
	}
	a := &agent{base: "http://" + s.addr}
	queries, err := a.queries(ctx)
	if err != nil {
		return err
	}
	texts, pages, err := a.results(ctx, queries)
	if err != nil {
		return err
	}
	rows, err := tokenRows(texts)
	if err != nil {
		return err
	}
	table(fmt.Sprintf("Tokens of tool results (o200k_base): %d queries, %d pages", len(queries), len(pages)),
		[]string{"result", "results", "p50", "p95", "longest"}, rows)
	return b.toolLatency(ctx, a, queries, pages)
}

// results asks for the results of the tools, by their kind, and for the pages
// that they name.
func (a *agent) results(ctx context.Context, queries []string) (texts map[string][]string, pages []string, err error) {
	texts = map[string][]string{}
	list, err := a.call(ctx, "/v1/mcp/bench", "tools/list", nil)
	if err != nil {
		return nil, nil, err
	}
	texts["list"] = []string{string(list)}
	var sections []string
	for _, q := range queries {
		text, err := a.tool(ctx, "/v1/mcp/bench", "search", map[string]any{"query": q})
		if err != nil {
			return nil, nil, err
		}
		texts["search"] = append(texts["search"], text)
		var found struct{ Results []struct{ ID string } }
		if err := json.Unmarshal([]byte(text), &found); err != nil {
			return nil, nil, fmt.Errorf("the results of %q: %w", q, err)
		}
		for _, r := range found.Results {
			page, _, isSection := strings.Cut(r.ID, "#")
			pages = append(pages, page)
			if isSection {
				sections = append(sections, r.ID)
			}
		}
		if text, err = a.tool(ctx, "/v1/mcp/bench/full", "search", map[string]any{"query": q}); err != nil {
			return nil, nil, err
		}
		texts["full"] = append(texts["full"], text)
	}
	slices.Sort(sections)
	slices.Sort(pages)
	sections, pages = slices.Compact(sections), slices.Compact(pages)
	for kind, ids := range map[string][]string{"section": sections, "page": pages} {
		for _, id := range ids {
			text, err := a.tool(ctx, "/v1/mcp/bench", "fetch", map[string]any{"id": id})
			if err != nil {
				return nil, nil, err
			}
			texts[kind] = append(texts[kind], text)
		}
	}
	return texts, pages, nil
}

// toolLatency measures tools next to the same requests without MCP.
func (b *bench) toolLatency(ctx context.Context, a *agent, queries, pages []string) error {
	times := map[string][]time.Duration{}
	took := map[string]map[float64][]float64{"search": {}, "v1": {}, "page": {}, "markdown": {}}
	for range b.rounds {
		clear(times)
		for begin := time.Now(); time.Since(begin) < b.seconds(4); {
			for i, q := range queries {
				page := pages[i%len(pages)]
				for kind, ask := range map[string]func() error{
					"search": func() error {
						_, err := a.tool(ctx, "/v1/mcp/bench", "search", map[string]any{"query": q})
						return err
					},
					"v1": func() error {
						_, err := a.post(ctx, "/v1/search/bench", map[string]any{"query": q}, http.Header{"Authorization": {"Bearer " + benchKey}})
						return err
					},
					"page": func() error {
						_, err := a.tool(ctx, "/v1/mcp/bench", "fetch", map[string]any{"id": page})
						return err
					},
					"markdown": func() error { _, err := a.get(ctx, page, "text/markdown"); return err },
				} {
					begin := time.Now()
					if err := ask(); err != nil {
						return err
					}
					times[kind] = append(times[kind], time.Since(begin))
				}
			}
		}
		for kind, t := range times {
			for _, q := range []float64{.5, .95} {
				took[kind][q] = append(took[kind][q], ms(quantile(t, q)))
			}
		}
	}
	row := func(what, kind, than string) []string {
		p50 := median(took[kind][.5])
		ratio := "1"
		if than != kind {
			ratio = number(p50 / median(took[than][.5]))
		}
		return []string{what, number(p50) + " ms", number(median(took[kind][.95])) + " ms", ratio}
	}
	table("Latency of tools, one request at a time", []string{"request", "p50", "p95", "ratio"}, [][]string{
		row("`POST /v1/search`, without MCP", "v1", "v1"),
		row("tool `search`", "search", "v1"),
		row("`Accept: text/markdown`, without MCP", "markdown", "markdown"),
		row("tool `fetch` of a page", "page", "markdown"),
	})
	return nil
}

// tokenRows counts the tokens of texts, for a table.
func tokenRows(texts map[string][]string) ([][]string, error) {
	codec, err := tokenizer.Get(tokenizer.O200kBase)
	if err != nil {
		return nil, err
	}
	var rows [][]string
	for _, kind := range [][2]string{
		{"list", "`tools/list`"}, {"search", "`search`"}, {"full", "`search` of `/full`"}, {"section", "`fetch` of a section"}, {"page", "`fetch` of a page"},
	} {
		var counts []int64
		for _, text := range texts[kind[0]] {
			n, err := codec.Count(text)
			if err != nil {
				return nil, err
			}
			counts = append(counts, int64(n))
		}
		if len(counts) == 0 {
			continue
		}
		longest := slices.Max(counts)
		rows = append(rows, []string{
			kind[1], fmt.Sprint(len(counts)), fmt.Sprint(quantile(counts, .5)), fmt.Sprint(quantile(counts, .95)),
			result(float64(longest), fmt.Sprintf("≤ %d", maxResultTokens), longest <= maxResultTokens),
		})
	}
	return rows, nil
}

// agent is a client of the site for programs.
type agent struct{ base string }

// llmsLine is a page of llms.txt.
var llmsLine = regexp.MustCompile(`(?m)^- \[(.+)\]\(.+\)(?:: (.+))?$`)

// queries are the titles and descriptions of the pages in llms.txt.
func (a *agent) queries(ctx context.Context) (queries []string, err error) {
	for {
		text, err := a.get(ctx, a.base+"/llms.txt", "*/*")
		if err != nil {
			if errors.Is(err, errUnavailable) {
				if err := pause(ctx, 10*time.Millisecond); err != nil {
					return nil, err
				}
				continue
			}
			return nil, err
		}
		for _, m := range llmsLine.FindAllSubmatch(text, -1) {
			for _, q := range m[1:] {
				if len(q) > 0 {
					queries = append(queries, string(q))
				}
			}
		}
		if len(queries) == 0 {
			return nil, fmt.Errorf("llms.txt lists no pages:\n%s", text)
		}
		return queries, nil
	}
}

// tool calls a tool and returns the text of its result.
func (a *agent) tool(ctx context.Context, path, name string, arguments map[string]any) (string, error) {
	body, err := a.call(ctx, path, "tools/call", map[string]any{"name": name, "arguments": arguments})
	if err != nil {
		return "", err
	}
	var r struct {
		Result struct {
			IsError bool
			Content []struct{ Text string }
		}
	}
	if err := json.Unmarshal(body, &r); err != nil || r.Result.IsError || len(r.Result.Content) != 1 {
		return "", fmt.Errorf("the tool %s with %v: %w: %s", name, arguments, err, body)
	}
	return r.Result.Content[0].Text, nil
}

// call calls a method of the MCP server.
func (a *agent) call(ctx context.Context, path, method string, params map[string]any) ([]byte, error) {
	header := http.Header{"Accept": {"application/json, text/event-stream"}, "Mcp-Protocol-Version": {mcpRevision}, "Mcp-Method": {method}}
	if params == nil {
		params = map[string]any{}
	}
	if name, ok := params["name"].(string); ok {
		header.Set("Mcp-Name", name)
	}
	params["_meta"] = map[string]any{"io.modelcontextprotocol/protocolVersion": mcpRevision, "io.modelcontextprotocol/clientCapabilities": map[string]any{}}
	return a.post(ctx, path, map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, header)
}

func (a *agent) post(ctx context.Context, path string, body any, header http.Header) ([]byte, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.base+path, bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	req.Header = header
	req.Header.Set("Content-Type", "application/json")
	return a.do(req)
}

func (a *agent) get(ctx context.Context, url, accept string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", accept)
	return a.do(req)
}

// errUnavailable is that of a site that does not know its pages yet.
var errUnavailable = errors.New("503")

func (*agent) do(req *http.Request) ([]byte, error) {
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	switch {
	case err != nil:
		return nil, err
	case res.StatusCode == http.StatusServiceUnavailable:
		return nil, errUnavailable
	case res.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("%s %s: %s: %.300s", req.Method, req.URL, res.Status, body)
	}
	return body, nil
}
