package model

import (
	"slices"
	"strings"
	"unicode"

	"github.com/caddy-docs/caddy-docs/assistant"
)

const (
	// echoWords is from how many words on, in a row, a message is taken to quote
	// the request.
	echoWords = 3
	// echoLine is the length in bytes from which a shorter line of the request
	// counts as well, such as a question of one word.
	echoLine = 4
)

// withoutEcho cuts a message of an endpoint where it quotes the texts of the
// request: they hold what a reader asked, which is not for the log.
func withoutEcho(message string, texts ...string) string {
	words, starts := wordsOf(message)
	if len(words) == 0 {
		return message
	}
	at := make(map[string][]int, len(words))
	for i, w := range words {
		at[w] = append(at[w], i)
	}
	first := len(words) // word of the message where a quotation begins
	find := func(quoted []string) {
		for _, i := range at[quoted[0]] {
			if i+len(quoted) <= len(words) && slices.Equal(words[i:i+len(quoted)], quoted) {
				first = min(first, i)
			}
		}
	}
	for _, text := range texts {
		for line := range strings.Lines(text) {
			if w, _ := wordsOf(line); len(w) > 0 && len(w) < echoWords && len(strings.TrimSpace(line)) >= echoLine {
				find(w)
			}
		}
		w, _ := wordsOf(text)
		for i := range len(w) - echoWords + 1 {
			find(w[i : i+echoWords])
		}
	}
	if first == len(words) {
		return message
	}
	return strings.TrimSpace(message[:starts[first]]) + " … (the rest quotes the request)"
}

// withoutPrompt is withoutEcho for the texts of a prompt.
func withoutPrompt(message string, p *assistant.Prompt) string {
	texts := make([]string, 0, len(p.Messages))
	for _, m := range p.Messages {
		texts = append(texts, m.Content)
		for _, c := range m.ToolCalls {
			texts = append(texts, c.Arguments)
		}
	}
	return withoutEcho(message, texts...)
}

// wordsOf returns the words of a text in lower case, and where they start.
func wordsOf(s string) (words []string, starts []int) {
	start := -1
	for i, r := range s + " " {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) {
			if start < 0 {
				start = i
			}
			continue
		}
		if start >= 0 {
			words, starts = append(words, strings.ToLower(s[start:i])), append(starts, start)
		}
		start = -1
	}
	return words, starts
}
