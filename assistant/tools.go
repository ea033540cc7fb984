package assistant

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/caddy-docs/caddy-docs/assistant/reply"
	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/short"
)

// tools are what the model may call. Both read the site's own index and
// nothing else.
var tools = []Tool{
	{
		Name:        "search",
		Description: "Search this documentation by words. It returns up to three sections that were not given before. Use other words than before; several calls may run side by side.",
		Parameters:  []byte(`{"type":"object","properties":{"query":{"type":"string","description":"what to look for, in the words that the documentation would use"}},"required":["query"]}`),
	},
	{
		Name:        "read_page",
		Description: "Read a page of this documentation, or a section and what follows it if the address has an #anchor. A long page ends with the address to go on from.",
		Parameters:  []byte(`{"type":"object","properties":{"page":{"type":"string","description":"the page's address or path, as given with a passage, also with an #anchor"}},"required":["page"]}`),
	},
}

const (
	maxToolCalls = 4    // in one round; further ones are refused
	toolPassages = 3    // sections that one search adds
	readTokens   = 2500 // of a page that is read
)

// sendTool sends a call, whose input is {argument: value}, and the passages
// that it found: small, since clients send them back with every later turn.
func (r *run) sendTool(name, argument, value string, ps []Passage) {
	r.toolCalls++
	id := cmp.Or(r.in.MessageID, string(r.key)) + "-" + strconv.Itoa(r.toolCalls)
	type hit struct {
		Path  string  `json:"path"`
		Title string  `json:"title"`
		URL   string  `json:"url"`
		Score float64 `json:"score"`
		// Metadata is where clients made for Mintlify's API read the title.
		Metadata struct {
			Title string `json:"title"`
		} `json:"metadata"`
	}
	found := make([]hit, len(ps))
	for i := range ps {
		p := &ps[i]
		found[i] = hit{Path: p.document.Page, Title: p.Title, URL: p.URL, Score: math.Round(p.Score*1000) / 1000}
		found[i].Metadata.Title = p.Title
		if a := p.document.Sections[p.section].Anchor; a != "" {
			found[i].Path += "#" + a
		}
	}
	input, _ := json.Marshal(map[string]string{argument: short.Runes(value, maxShownInput)}) // can't fail, nor the next
	output, _ := json.Marshal(found)
	r.out.send(reply.Event{Kind: reply.ToolCall, ToolCallID: id, ToolName: name, JSON: input})
	r.out.send(reply.Event{Kind: reply.ToolResult, ToolCallID: id, ToolName: name, JSON: output})
}

// maxShownInput bounds what clients get of a call's argument, in characters.
const maxShownInput = 200

// checked is a text of the model, with its links checked like those of the
// answer: clients may render the argument of a call as Markdown.
func (r *run) checked(ctx context.Context, text string) string {
	c := r.found.checker(ctx)
	return string(c.End(c.Append(nil, []byte(short.Runes(text, maxShownInput)))))
}

// useTools makes the calls of one round. Their parts and the new sources go to
// the client, their results to the model. A call that fails is reported to the
// model; the reply continues.
func (r *run) useTools(ctx context.Context, calls []ToolCall) {
	ctx, ended := r.trace(ctx, "tools")
	if r.out.inStep {
		r.out.stepFinish("stop", reply.Usage{})
		r.out.stepStart()
	}
	from := len(r.found.passages)
	r.exchange = append(r.exchange, PromptMessage{Role: "assistant", ToolCalls: calls})
	for i, c := range calls {
		var result string
		if i >= maxToolCalls {
			result = "error: too many calls at once; use the results of the others"
		} else {
			result = r.useTool(ctx, c)
		}
		r.exchange = append(r.exchange, PromptMessage{Role: "tool", ToolCallID: c.ID, Content: result})
		if ctx.Err() != nil {
			break
		}
	}
	r.out.stepFinish("tool-calls", reply.Usage{})
	r.out.stepStart()
	r.sendSources(r.found.passages[from:])
	r.out.flush()
	r.out.inStep = false
	ended(ctx.Err())
}

func (r *run) useTool(ctx context.Context, c ToolCall) string {
	var args struct{ Query, Page string }
	if err := json.Unmarshal([]byte(cmp.Or(strings.TrimSpace(c.Arguments), "{}")), &args); err != nil {
		return "error: the arguments are not a JSON object with text values"
	}
	var ps []Passage
	var err error
	switch c.Name {
	case "search":
		query := short.Bytes(short.Line(args.Query), maxSearchText)
		if query == "" {
			return `error: search needs {"query": "…"}`
		}
		ps, err = r.found.again(ctx, query)
		if err == nil {
			r.sendTool("search", "query", r.checked(ctx, query), ps)
		}
	case "read_page":
		page := short.Bytes(strings.TrimSpace(args.Page), 500)
		name, ok := r.site.pageAt(page)
		if page == "" || !ok {
			return `error: read_page needs {"page": "…"}, a path or address of this documentation`
		}
		_, anchor, _ := strings.Cut(page, "#")
		ps, err = r.found.read(ctx, name, anchor)
		if err == nil {
			r.sendTool("read_page", "page", r.checked(ctx, name), ps)
		}
	default:
		return "error: there is no such tool; there are search and read_page"
	}
	if err != nil {
		r.log(ctx, "a tool of the model failed", err)
		return "error: the documentation can't be searched just now"
	}
	if len(ps) == 0 {
		return "nothing new was found; what there is has been given already, or the documentation has nothing on this"
	}
	return r.passages(ps)
}

// read gives the model a page, from its beginning or from the section with
// an anchor, as far as it fits, and says where the rest is.
func (f *findings) read(ctx context.Context, name, anchor string) ([]Passage, error) {
	d, err := f.index.Page(ctx, name)
	if err != nil || d == nil || !allowed(d, f.q.query.Filter) {
		return nil, err
	}
	from := max(0, slices.IndexFunc(d.Sections, func(s retrieval.Section) bool { return anchor != "" && s.Anchor == anchor }))
	var b strings.Builder
	left := readTokens
	for i := from; i < len(d.Sections); i++ {
		s, text := &d.Sections[i], f.text(d, i)
		if n := Tokens(text) + 8; n > left && i > from {
			b.WriteString("[…]\n")
			if s.Anchor != "" {
				b.WriteString("next: " + sectionURL(d, i) + "\n")
			}
			break
		} else if n > left {
			text = wholeLinks(clipTokens(text, left)) + " […]"
		}
		left -= Tokens(text) + 8
		if s.Heading != "" {
			fmt.Fprintf(&b, "%s %s (%s)\n\n", strings.Repeat("#", max(1, s.Level)), s.Heading, sectionURL(d, i))
		}
		b.WriteString(text + "\n\n")
	}
	if b.Len() == 0 {
		return nil, nil
	}
	return f.add([]Passage{{
		URL: sectionURL(d, from), Title: sectionTitle(d, from), Text: strings.TrimSpace(b.String()), Tokens: readTokens - left,
		document: d, section: from,
	}}), nil
}

// allowed reports whether a page passes the client's filter.
func allowed(d *retrieval.Document, f retrieval.Filter) bool {
	if f.Version != "" && !strings.EqualFold(f.Version, d.Version) || f.Language != "" && !strings.EqualFold(f.Language, d.Language) {
		return false
	}
	return f.Tag == "" || slices.ContainsFunc(d.Tags, func(t string) bool { return strings.EqualFold(t, f.Tag) })
}
