package command

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/caddy-docs/caddy-docs/assistant"
	"github.com/caddy-docs/caddy-docs/encoding"
)

func askCommand(t *target) *cobra.Command {
	var current string
	var passages int
	var prompt bool
	cmd := &cobra.Command{
		Use: `ask SITE "question"`, Short: "Asks the assistant of a site and streams its answer", Args: takes(2, 2),
		Long: `Asks the assistant of a site and streams its answer, with its sources at the
end. The question is not stored in a thread. With --show-prompt, the command shows
the query, the passages found with their scores and tokens, and the prompt that
the model would get, instead of an answer.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if passages < 1 || passages > encoding.MaxPageSize {
				return fmt.Errorf("--passages is %d, and must be from 1 to %d", passages, encoding.MaxPageSize)
			}
			body := question(args[1], current, passages)
			if prompt {
				return show(cmd, t, http.MethodPost, path("explain", args[0]), body, printExplanation)
			}
			stream, err := t.open(cmd.Context(), http.MethodPost, path("ask", args[0]), body)
			if err != nil {
				return err
			}
			defer stream.Close()
			return printAnswer(t, stream, cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&current, "current-path", "", "The path of the page that the reader is on")
	cmd.Flags().IntVar(&passages, "passages", 5, "How many passages the answer is made from, 1 to 50")
	cmd.Flags().BoolVar(&prompt, "show-prompt", false, "Show the passages and the prompt instead of an answer")
	return cmd
}

// question is the body of a message request.
func question(text, current string, passages int) any {
	return map[string]any{
		"fp": "anonymous", "retrievalPageSize": passages, "currentPath": current,
		"messages": []any{map[string]any{"id": "1", "role": "user", "parts": []any{map[string]any{"type": "text", "text": text}}}},
	}
}

// answer is what a v2 stream holds.
type answer struct {
	Answer   string          `json:"answer"`
	Sources  []source        `json:"sources"`
	Metadata json.RawMessage `json:"metadata"`
}

type source struct {
	ID    string `json:"id"`
	URL   string `json:"url"`
	Title string `json:"title,omitempty"`
}

// readAnswer reads a v2 stream, and calls each for every delta of its text.
func readAnswer(stream io.Reader, each func(delta string)) (a answer, err error) {
	lines := bufio.NewScanner(stream)
	lines.Buffer(make([]byte, 64<<10), 4<<20)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok || data == "[DONE]" {
			continue
		}
		var e struct {
			Type, Delta, SourceID, URL, Title, ErrorText string
			MessageMetadata                              json.RawMessage
		}
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			return a, fmt.Errorf("reading the answer: %w", err)
		}
		switch e.Type {
		case "text-delta":
			a.Answer += e.Delta
			each(e.Delta)
		case "source-url":
			a.Sources = append(a.Sources, source{e.SourceID, e.URL, e.Title})
		case "finish":
			a.Metadata = e.MessageMetadata
		case "error":
			return a, errors.New(e.ErrorText)
		}
	}
	return a, lines.Err()
}

// printAnswer prints the answer of a v2 stream as it arrives, then its sources;
// with --json, one document at the end.
func printAnswer(t *target, stream io.Reader, out io.Writer) error {
	a, err := readAnswer(stream, func(delta string) {
		if !t.json {
			fmt.Fprint(out, html.UnescapeString(delta)) // an entity is within one delta
		}
	})
	if err != nil {
		return err
	}
	if t.json {
		return printJSON(out, a)
	}
	fmt.Fprintln(out)
	for i, s := range a.Sources {
		if i == 0 {
			fmt.Fprintln(out, "\nSources")
		}
		fmt.Fprintf(out, "  %s  %s\n      %s\n", s.ID, printable(s.Title), printable(s.URL))
	}
	return nil
}

func printExplanation(out io.Writer, e *assistant.Explanation) {
	fmt.Fprintf(out, "searched for  %s\n", e.Query)
	if e.Other != "" {
		fmt.Fprintf(out, "and for       %s\n", e.Other)
	}
	if len(e.Boost) > 0 {
		fmt.Fprintf(out, "preferred     %s\n", strings.Join(e.Boost, ", "))
	}
	fmt.Fprintf(out, "language      %s\nanswered      %s, judging by the passages\n", e.Language, e.Answered)
	fmt.Fprintf(out, "\nPassages, %d of at most %d tokens\n", e.Tokens, e.Budget)
	for _, p := range e.Passages {
		fmt.Fprintf(out, "  %-4s %.2f  %5d tokens  %s\n                          %s\n", p.ID, p.Score, p.Tokens, printable(p.Title), cmp.Or(printable(p.URL), "-"))
	}
	if len(e.Prompt) == 0 {
		fmt.Fprintln(out, "\nThere is no model: the answer quotes these passages.")
		return
	}
	for _, m := range e.Prompt {
		fmt.Fprintf(out, "\n--- %s\n%s\n", m.Role, m.Content)
	}
}
