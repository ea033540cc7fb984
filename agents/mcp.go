package agents

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/caddy-docs/caddy-docs/short"
)

// Docs is a site's documentation, as the reader of the context sees it.
type Docs struct {
	// Search returns the best sections, best first. language and version may be
	// "".
	Search func(ctx context.Context, text, language, version string, limit int) ([]Hit, error)
	// Incomplete reports whether not every page could be checked for the context's
	// reader in time.
	Incomplete func(ctx context.Context) bool
	// Page returns the page at a URL of the site, also a path or the URL of
	// its Markdown, without the anchor; nil if there is none for this reader.
	Page func(ctx context.Context, address string) (*PageText, error)
	// Pages returns up to n public pages from an offset, with title, description
	// and Markdown, and how many there are.
	Pages func(ctx context.Context, offset, n int) (pages []Page, total int)
	// Nearby returns words of the public pages that are spelled like those of a
	// text, and the first page of each part of the site.
	Nearby func(text string) (spellings []string, parts []Page)
}

// Hit is a section that a search found.
type Hit struct {
	// Title is the page's, Heading the section's, "" for the page's beginning.
	Title, Heading string
	// URL is the section's, with its anchor.
	URL string
	// Text is the section's text, Language and Version the page's.
	Text, Language, Version string
}

// name is the title of a section with that of its page.
func (h Hit) name() string {
	if h.Heading == "" || h.Heading == h.Title {
		return h.Title
	}
	return cmp.Or(h.Title, h.Heading) + " › " + h.Heading
}

// PageText is a page.
type PageText struct {
	Title, URL, Language, Version string
	// Markdown is the page with front matter.
	Markdown []byte
}

// About describes the site to clients, and in llms.txt.
type About struct {
	// Name is the site's name in the configuration, Title the one for readers.
	Name, Title, Description string
	// URL is the site's URL without a slash at its end.
	URL string
	// Languages and Versions are those of the pages, the favored ones first.
	Languages, Versions []string
	// Language and Version are those of the pages that come first in llms.txt.
	Language, Version string
	// Full adds arguments that the contract of OpenAI's connectors doesn't know.
	Full bool
	// Release is the version of this module.
	Release string
}

const (
	// maxResult bounds the text of a result in estimated tokens. Clients warn
	// of results beyond 10,000 and cut them at 25,000.
	maxResult = 9_000
	// searchTokens bounds the result of a search unless the client asks for
	// another bound, in estimated tokens.
	searchTokens = 1_500
	// maxQuery is the length in characters up to which a query is read.
	maxQuery = 1000
	// searchLimit is how many results a search has, maxLimit how many a client
	// may ask for.
	searchLimit, maxLimit = 10, 30
	// listPage is how many pages a list of resources has.
	listPage = 200
	// maxBody bounds a request in bytes.
	maxBody = 1 << 20
)

// NewHandler returns the MCP server of a site: stateless, with JSON responses,
// for all revisions of the protocol that the SDK knows. It checks neither Host
// nor Origin and answers no preflight: that is the caller's part.
func NewHandler(about About, docs Docs) http.Handler {
	s := &server{about: about, docs: docs}
	server := mcp.NewServer(&mcp.Implementation{
		Name: about.Name, Title: about.Title, Description: short.Excerpt(about.Description, 500), WebsiteURL: about.URL, Version: about.Release,
	}, &mcp.ServerOptions{
		Instructions: s.instructions(),
		// Clients of 2024-11-05 speak over another transport.
		SupportedProtocolVersions: slices.DeleteFunc(mcp.SupportedProtocolVersions(), func(v string) bool { return v < "2025-03-26" }),
		// Without listChanged a subscription ends at once. Prompts are declared
		// because clients list them unasked.
		Capabilities: &mcp.ServerCapabilities{
			Tools: &mcp.ToolCapabilities{}, Resources: &mcp.ResourceCapabilities{}, Prompts: &mcp.PromptCapabilities{},
		},
		SetCacheable: func(_ context.Context, req mcp.Request, c *mcp.Cacheable) {
			c.TTLMs, c.CacheScope = 60_000, "public"
			if _, ok := req.(*mcp.ReadResourceRequest); ok {
				c.CacheScope = "private" // it may be locked
			}
		},
	})
	server.AddTool(s.searchTool(), s.search)
	server.AddTool(s.fetchTool(), s.fetch)
	server.AddResourceTemplate(&mcp.ResourceTemplate{
		Name: "page", Title: "Page of " + about.Title, MIMEType: "text/markdown",
		Description: "A page of " + about.Title + " as Markdown, by its path.", URITemplate: about.URL + "/{+path}",
	}, s.read)
	server.AddReceivingMiddleware(s.listResources)
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, MaxRequestBodyBytes: maxBody, PropagateRequestCancellation: true,
		DisableLocalhostProtection: true, // it refuses all requests behind a proxy; the caller checks Host
	})
}

// server has the tools of one site.
type server struct {
	about About
	docs  Docs
}

// what names the site. Clients show models the first words of
// descriptions and instructions, and cut them at 2 KB.
func (s *server) what() string {
	out := s.about.Title
	var more []string
	if len(s.about.Languages) > 0 {
		more = append(more, "language "+strings.Join(s.about.Languages, ", "))
	}
	if len(s.about.Versions) > 0 {
		more = append(more, "version "+strings.Join(s.about.Versions, ", "))
	}
	if len(more) > 0 {
		out += " (" + strings.Join(more, "; ") + ")"
	}
	return out
}

func (s *server) instructions() string {
	text := s.what() + ": the documentation at " + s.about.URL + "."
	if s.about.Description != "" {
		text += " " + short.Excerpt(s.about.Description, 500)
	}
	return text + " For any question about " + s.about.Title + ", call search with a few keywords or the question. It returns the text of the best sections; if that is not enough, call fetch with the id of a result. Cite the url of what you use. Pages change: prefer these tools to memory."
}

func (s *server) searchTool() *mcp.Tool {
	properties := map[string]any{
		"query": map[string]any{"type": "string", "description": "Keywords or a question, in the language of the documentation."},
	}
	if s.about.Full {
		if len(s.about.Languages) > 1 {
			properties["language"] = map[string]any{"type": "string", "description": "Only pages in this language: " + strings.Join(s.about.Languages, ", ") + "."}
		}
		if len(s.about.Versions) > 1 {
			properties["version"] = map[string]any{"type": "string", "description": "Only pages of this version: " + strings.Join(s.about.Versions, ", ") + "."}
		}
		properties["limit"] = map[string]any{"type": "integer", "description": fmt.Sprintf("The number of results, %d by default and %d at most.", searchLimit, maxLimit)}
		properties["tokens"] = map[string]any{"type": "integer", "description": fmt.Sprintf("The most tokens of the result, %d by default and %d at most.", searchTokens, maxResult)}
	}
	return &mcp.Tool{
		Name: "search", Title: "Search " + s.about.Title,
		Description: s.what() + ": searches the documentation. Returns matching sections, best first, with the text of the best ones, in at most " + strconv.Itoa(searchTokens) + " tokens. Read the rest with fetch.",
		InputSchema: schema(properties, "query"), Annotations: readOnly("Search " + s.about.Title),
		OutputSchema: schema(map[string]any{
			"results": map[string]any{"type": "array", "items": schema(texts("id", "title", "url", "text", "language", "version"), "id", "title", "url")},
			"next":    map[string]any{"type": "string"}, "incomplete": map[string]any{"type": "string"},
		}, "results"),
	}
}

func (s *server) fetchTool() *mcp.Tool {
	fetched := texts("id", "title", "text", "url")
	fetched["metadata"] = map[string]any{"type": "object", "additionalProperties": map[string]any{"type": "string"}}
	return &mcp.Tool{
		Name: "fetch", Title: "Read a page of " + s.about.Title,
		Description: s.what() + ": returns a page of the documentation, or one of its sections, as Markdown. A long page comes in parts: the end of the text says how to read on.",
		InputSchema: schema(map[string]any{
			"id": map[string]any{"type": "string", "description": "The id of a search result, or the URL of a page of " + s.about.URL + "; with #anchor only that section."},
		}, "id"),
		Annotations:  readOnly("Read a page of " + s.about.Title),
		OutputSchema: schema(fetched, "id", "title", "text", "url"),
	}
}

func schema(properties map[string]any, required ...string) map[string]any {
	return map[string]any{"type": "object", "properties": properties, "required": required}
}

// texts are properties that are strings.
func texts(names ...string) map[string]any {
	out := map[string]any{}
	for _, name := range names {
		out[name] = map[string]any{"type": "string"}
	}
	return out
}

func readOnly(title string) *mcp.ToolAnnotations {
	no := false
	return &mcp.ToolAnnotations{Title: title, ReadOnlyHint: true, IdempotentHint: true, DestructiveHint: &no, OpenWorldHint: &no}
}

// result writes a value as the only text of a result, as JSON without escaped
// angle brackets, which would cost tokens, and as structuredContent: some
// clients show models only the one, some only the other.
func result(v any) (*mcp.CallToolResult, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // texts always marshal
	text := strings.TrimSuffix(b.String(), "\n")
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}, StructuredContent: json.RawMessage(text)}, nil
}

// refuse is the result of a call that the model can correct.
func refuse(format string, args ...any) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf(format, args...)}}}
}

type searchResult struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	URL   string `json:"url"`
	Text  string `json:"text,omitempty"`
	// Of the full server.
	Language string `json:"language,omitempty"`
	Version  string `json:"version,omitempty"`
}

// resultTokens is what a result takes besides what it says, and leastText the
// shortest text that is worth its place, in tokens.
const resultTokens, leastText = 15, 40

func (s *server) search(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	arguments := parseArguments(req.Params.Arguments)
	text := arguments.text("query", "q", "question", "userquery", "search", "searchquery", "searchterm", "text", "prompt", "input", "term", "terms", "keywords", "keyword")
	if text == "" {
		return refuse(`search needs the argument query: {"query": "keywords or a question"}`), nil
	}
	language, version, limit, room := "", "", searchLimit, searchTokens
	if s.about.Full {
		language, version = arguments["language"], arguments["version"]
		limit = arguments.number("limit", searchLimit, 1, maxLimit)
		room = arguments.number("tokens", searchTokens, leastText, maxResult)
	}
	text = short.Excerpt(text, maxQuery)
	hits, err := s.docs.Search(ctx, text, language, version, limit)
	if err != nil {
		return refuse("search is unavailable at the moment; try again in a few seconds"), nil
	}
	found := map[string]any{"results": s.results(hits, room)}
	if s.docs.Incomplete(ctx) {
		found["incomplete"] = notChecked
	} else if len(hits) == 0 {
		found["next"] = s.next(text, language, version)
	}
	return result(found)
}

// results are hits within a number of tokens: all that fit by name, and the
// texts of the best.
func (s *server) results(hits []Hit, room int) []searchResult {
	results := make([]searchResult, 0, len(hits))
	for i, h := range hits {
		r := searchResult{ID: h.URL, Title: h.name(), URL: h.URL}
		if s.about.Full {
			r.Language, r.Version = h.Language, h.Version
		}
		size := resultTokens + Tokens(r.Title) + 2*Tokens(r.URL)
		if i > 0 && size > room/2 { // half is for texts
			break
		}
		room -= size
		results = append(results, r)
	}
	for i := range results {
		if room < leastText {
			break
		}
		results[i].Text = within(hits[i].Text, room)
		room -= Tokens(results[i].Text)
	}
	return results
}

// next says what to do after a search that found nothing.
func (s *server) next(text, language, version string) string {
	out := "Nothing matches. Search again with fewer or other words"
	if language != "" || version != "" {
		out += ", or without language and version"
	}
	spellings, parts := s.docs.Nearby(text)
	if len(spellings) > 0 {
		out += ". Similar words in the documentation: " + strings.Join(spellings, ", ")
	}
	named := make([]string, len(parts))
	for i, p := range parts {
		named[i] = p.Section + " (" + p.Markdown + ")"
	}
	if len(named) > 0 {
		out += ". Its parts, each with the id of a page to fetch: " + strings.Join(named, ", ")
	}
	return out + ". All pages: " + s.about.URL + "/llms.txt"
}

func (s *server) fetch(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	id := parseArguments(req.Params.Arguments).text("id", "url", "uri", "path", "page", "href", "link", "documentid", "docid", "pageid")
	if id == "" || len(id) > 4000 {
		return refuse(`fetch needs the argument id: {"id": "%s/…"}, the id of a search result`, s.about.URL), nil
	}
	fragment := ""
	if i := strings.LastIndexByte(id, '#'); i >= 0 {
		fragment = id[i+1:]
	}
	page, err := s.docs.Page(ctx, id)
	switch {
	case err != nil:
		return refuse("the page can't be read at the moment; try again in a few seconds"), nil
	case page == nil:
		return refuse("there is no page %s here: it doesn't exist, you can't open it, or it is left out of the index. Call search to find one, or see %s/llms.txt", short.Excerpt(id, 300), s.about.URL), nil
	}
	if strings.Contains(page.URL, "#") { // the id is all of its address
		fragment = ""
	}
	anchor, number := splitPart(fragment)
	text := withoutFrontMatter(string(page.Markdown))
	var out struct {
		ID       string            `json:"id"`
		Title    string            `json:"title"`
		Text     string            `json:"text"`
		URL      string            `json:"url"`
		Metadata map[string]string `json:"metadata,omitempty"`
	}
	out.ID, out.Title, out.URL, out.Metadata = page.URL, page.Title, page.URL, map[string]string{}
	if section, heading, ok := sectionOf(text, anchor); ok {
		text = section
		out.URL, out.ID = page.URL+"#"+anchor, page.URL+"#"+anchor
		if heading != page.Title {
			out.Title += " › " + heading
		}
		out.Metadata["page"] = page.URL
	} else if anchor != "" {
		out.Metadata["anchor"] = fmt.Sprintf("the page has no section #%s; this is the whole page", short.Excerpt(anchor, 100))
		text = "[There is no section #" + short.Excerpt(anchor, 100) + " on this page. This is the whole page.]\n\n" + text
		anchor = ""
	}
	parts := split(text, maxResult)
	number = min(max(number, 1), len(parts))
	out.Text = parts[number-1]
	if len(parts) > 1 {
		out.ID = page.URL + "#" + partID(anchor, number)
		out.Metadata["part"] = fmt.Sprintf("%d of %d", number, len(parts))
	}
	if number < len(parts) {
		next := page.URL + "#" + partID(anchor, number+1)
		out.Metadata["next"] = next
		out.Text += fmt.Sprintf("\n\n[Part %d of %d. To read on, call fetch with the id %q.]", number, len(parts), next)
	}
	if page.Language != "" {
		out.Metadata["language"] = page.Language
	}
	if page.Version != "" {
		out.Metadata["version"] = page.Version
	}
	return result(out)
}

// read reads a page as a resource.
func (s *server) read(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	uri := req.Params.URI
	address, fragment, _ := strings.Cut(uri, "#")
	page, err := s.docs.Page(ctx, address)
	if err != nil {
		return nil, err
	}
	if page == nil {
		return nil, mcp.ResourceNotFoundError(uri)
	}
	_, number := splitPart(fragment)
	parts := split(string(page.Markdown), maxResult)
	number = min(max(number, 1), len(parts))
	text := parts[number-1]
	if number < len(parts) {
		text += fmt.Sprintf("\n\n[Part %d of %d. To read on, read the resource %s#%s.]\n", number, len(parts), address, partID("", number+1))
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: "text/markdown", Text: text}}}, nil
}

// listResources lists the public pages, which are too many to be kept by the
// SDK's server as well.
func (s *server) listResources(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if method != "resources/list" {
			return next(ctx, method, req)
		}
		offset := 0
		if p, ok := req.GetParams().(*mcp.ListResourcesParams); ok && p != nil && p.Cursor != "" {
			var err error
			if offset, err = strconv.Atoi(p.Cursor); err != nil || offset < 1 {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the cursor is not from this list"}
			}
		}
		// The SDK's own, empty list carries what the revision of the request
		// wants in a result.
		if r, ok := req.(*mcp.ListResourcesRequest); ok && r.Params != nil {
			r.Params.Cursor = ""
		}
		empty, err := next(ctx, method, req)
		list, ok := empty.(*mcp.ListResourcesResult)
		if err != nil || !ok {
			return empty, err
		}
		pages, total := s.docs.Pages(ctx, offset, listPage)
		for _, p := range pages {
			list.Resources = append(list.Resources, &mcp.Resource{
				URI: p.Markdown, Name: cmp.Or(p.Title, p.Markdown), Title: p.Title, Description: short.Excerpt(p.Description, maxDescription), MIMEType: "text/markdown",
			})
		}
		if offset+len(pages) < total && len(pages) > 0 {
			list.NextCursor = strconv.Itoa(offset + len(pages))
		}
		return list, nil
	}
}
