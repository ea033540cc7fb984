package assistant

import (
	"cmp"
	"strings"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/short"
)

// passageText is a section's text, cut to its best part if it is long.
func (r *run) passageText(d *retrieval.Document, i int, query string, budget int) (string, int) {
	text := cmp.Or(strings.TrimSpace(d.Sections[i].Marked()), d.Sections[i].Heading)
	tokens := Tokens(text)
	if tokens > budget {
		if budget < leastTokens {
			return "", 0
		}
		text = r.cut(text, query, budget)
		tokens = Tokens(text)
	}
	return text, tokens
}

// cut keeps the blocks (paragraphs, lists, whole code blocks) around the one
// that holds most terms of the query, within the budget. What is left out is
// marked.
func (r *run) cut(text, query string, budget int) string {
	blocks := splitBlocks(text)
	have := make(map[string]bool)
	for _, t := range terms(query, r.q.language) {
		have[t.stem] = true
	}
	best, bestScore := 0, -1.0
	for i, b := range blocks {
		seen := map[string]bool{}
		for _, t := range terms(short.Bytes(b.text, 4000), r.q.language) {
			if have[t.stem] {
				seen[t.stem] = true
			}
		}
		// Of two blocks with the same terms the earlier one introduces the other.
		if s := float64(len(seen)) - float64(i)/float64(len(blocks)); s > bestScore {
			best, bestScore = i, s
		}
	}
	from, to := best, best+1
	tokens := Tokens(blocks[best].text)
	if tokens > budget {
		if blocks[best].code {
			return ""
		}
		return clipTokens(blocks[best].text, budget) + " […]"
	}
	for grown := true; grown; {
		grown = false
		if to < len(blocks) {
			if n := Tokens(blocks[to].text); tokens+n <= budget {
				tokens, to, grown = tokens+n, to+1, true
			}
		}
		if from > 0 {
			if n := Tokens(blocks[from-1].text); tokens+n <= budget {
				tokens, from, grown = tokens+n, from-1, true
			}
		}
	}
	var b strings.Builder
	if from > 0 {
		b.WriteString("[…]\n\n")
	}
	for i := from; i < to; i++ {
		if i > from {
			b.WriteString("\n\n")
		}
		b.WriteString(blocks[i].text)
	}
	if to < len(blocks) {
		b.WriteString("\n\n[…]")
	}
	return b.String()
}

// block is a paragraph, a list or a fenced code block of a section's text.
type block struct {
	text string
	code bool
}

// splitBlocks splits a section's text (retrieval.Section.Text) at its empty
// lines, leaving code whole.
func splitBlocks(text string) []block {
	var out []block
	var cur []string
	fence := ""
	flush := func(code bool) {
		if t := strings.Trim(strings.Join(cur, "\n"), "\n"); strings.TrimSpace(t) != "" {
			out = append(out, block{t, code})
		}
		cur = cur[:0]
	}
	for line := range strings.SplitSeq(text, "\n") {
		trimmed := strings.TrimSpace(line)
		switch {
		case fence != "":
			cur = append(cur, line)
			if strings.HasPrefix(trimmed, fence) && strings.Trim(trimmed, fence[:1]) == "" {
				fence = ""
				flush(true)
			}
		case strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~"):
			flush(false)
			fence = trimmed[:len(trimmed)-len(strings.TrimLeft(trimmed, trimmed[:1]))]
			cur = append(cur, line)
		case trimmed == "":
			flush(false)
		default:
			cur = append(cur, line)
		}
	}
	if fence != "" {
		cur = append(cur, fence)
		flush(true)
	}
	flush(false)
	return out
}
