package answers

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/tiktoken-go/tokenizer/codec"

	"github.com/caddy-docs/caddy-docs/assistant"
	"github.com/caddy-docs/caddy-docs/caddytest/modelserver"
)

// puppet is a character as a model in this process.
type puppet struct {
	scripted
	rnd    *rand.Rand
	tokens bool // cut the text into a tokenizer's tokens, not at random
	last   view
	rounds int
	// observe, if not nil, is called before and after each delta.
	observe func(delta string, after bool)
}

func (p *puppet) Name() string { return "scripted" }

func (p *puppet) Stream(ctx context.Context, prompt *assistant.Prompt, each func(*assistant.Delta) error) (*assistant.Completion, error) {
	v := view{tools: len(prompt.Tools) > 0, rewrite: isRewrite(prompt.Messages[0].Content)}
	for _, m := range prompt.Messages[1:] {
		v.data += m.Content + "\n"
	}
	if !v.rewrite {
		p.last = v
		p.rounds++
	}
	a := p.answer(p.rnd, &v)
	if a.reasoning != "" {
		if err := each(&assistant.Delta{Reasoning: []byte(a.reasoning)}); err != nil {
			return nil, err
		}
	}
	for _, piece := range p.cut(a.text) {
		if p.observe != nil {
			p.observe(piece, false)
		}
		err := each(&assistant.Delta{Text: []byte(piece)})
		if p.observe != nil {
			p.observe(piece, true)
		}
		if err != nil {
			return nil, err
		}
	}
	c := &assistant.Completion{Model: "scripted", Reason: "stop"}
	for i, call := range a.calls {
		c.ToolCalls = append(c.ToolCalls, assistant.ToolCall{ID: fmt.Sprintf("c%d", i), Name: call[0], Arguments: call[1]})
	}
	return c, ctx.Err()
}

var vocabulary = codec.NewCl100kBase()

// cut cuts a text into deltas, never inside a character.
func (p *puppet) cut(text string) []string {
	var out []string
	if p.tokens {
		_, pieces, err := vocabulary.Encode(text)
		if err == nil {
			rest := ""
			for _, piece := range pieces {
				if rest += piece; strings.ToValidUTF8(rest, "") == rest {
					out = append(out, rest)
					rest = ""
				}
			}
			return out
		}
	}
	for len(text) > 0 {
		n := min(len(text), 1+p.rnd.IntN(9))
		for n < len(text) && text[n]&0xC0 == 0x80 {
			n++
		}
		out = append(out, text[:n])
		text = text[n:]
	}
	return out
}

// serve makes the fake model server answer as a character.
func (s *scripted) serve(rnd *rand.Rand) func(*modelserver.Request) modelserver.Reply {
	return func(r *modelserver.Request) modelserver.Reply {
		v := view{tools: len(r.Tools) > 0}
		for i, m := range r.Messages {
			if i == 0 {
				v.rewrite = isRewrite(m.Content)
				continue
			}
			v.data += m.Content + "\n"
		}
		a := s.answer(rnd, &v)
		out := modelserver.Reply{Text: a.text}
		if a.reasoning != "" {
			out.Reasoning = []string{a.reasoning}
		}
		for i, c := range a.calls {
			out.ToolCalls = append(out.ToolCalls, modelserver.Call(fmt.Sprintf("c%d", i), c[0], c[1]))
		}
		return out
	}
}
