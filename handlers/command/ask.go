package command

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/caddy-docs/caddy-docs/encoding"
)

func searchCommand(t *target) *cobra.Command {
	var size int
	var threshold float64
	var version, language, tag string
	cmd := &cobra.Command{
		Use: `search SITE "query"`, Short: "Searches a site as the search endpoint does", Args: cobra.ExactArgs(2), SilenceUsage: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			body, err := json.Marshal(map[string]any{
				"query": args[1], "pageSize": size, "scoreThreshold": threshold,
				"filter": filter(version, language, tag),
			})
			if err != nil {
				return err
			}
			var results []encoding.Result
			err = t.call(cmd.Context(), http.MethodPost, path("search", args[0]), body, &results)
			if errors.Is(err, errNotRunning) {
				a, done, oerr := t.started()
				if oerr != nil {
					return oerr
				}
				defer done()
				results, err = a.SearchSite(cmd.Context(), args[0], body)
			}
			if err != nil {
				return err
			}
			if t.json {
				return printJSON(cmd.OutOrStdout(), results)
			}
			for i, r := range results {
				fmt.Fprintf(cmd.OutOrStdout(), "%2d  %.2f  %s\n          %s\n          %s\n", i+1, r.Metadata.Score, titleOf(r), r.Metadata.URL, excerpt(r.Content, 100))
			}
			if len(results) == 0 {
				fmt.Fprintln(cmd.ErrOrStderr(), "nothing found")
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.IntVar(&size, "size", 10, "How many results, 1 to 50")
	f.Float64Var(&threshold, "threshold", 0, "The lowest score, 0 to 1")
	f.StringVar(&version, "version", "", "Only pages of this version")
	f.StringVar(&language, "language", "", "Only pages in this language")
	f.StringVar(&tag, "tag", "", "Only pages with this tag")
	return cmd
}

func filter(version, language, tag string) map[string]string {
	f := make(map[string]string)
	for k, v := range map[string]string{"version": version, "language": language, "tag": tag} {
		if v != "" {
			f[k] = v
		}
	}
	return f
}

func titleOf(r encoding.Result) string {
	if r.Metadata.Heading == "" || r.Metadata.Heading == r.Metadata.Title {
		return r.Metadata.Title
	}
	return r.Metadata.Title + " › " + r.Metadata.Heading
}

// excerpt is the beginning of a text on one line.
func excerpt(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + "…"
	}
	return s
}

func askCommand(t *target) *cobra.Command {
	var current string
	var passages int
	var show bool
	cmd := &cobra.Command{
		Use: `ask SITE "question"`, Short: "Asks the assistant of a site and streams its answer", Args: cobra.ExactArgs(2), SilenceUsage: true,
		Long: `Asks the assistant of a site and streams its answer, with its sources at the
end. The question is kept in no thread. With --show-prompt nothing is answered:
the command shows what is searched for, the passages that are found with their
scores and tokens, and what the model would be given.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			body, err := json.Marshal(map[string]any{
				"fp": "anonymous", "retrievalPageSize": passages, "currentPath": current,
				"messages": []any{map[string]any{"id": "1", "role": "user", "parts": []any{map[string]any{"type": "text", "text": args[1]}}}},
			})
			if err != nil {
				return err
			}
			if show {
				return explain(cmd.Context(), t, args[0], body, cmd.OutOrStdout())
			}
			resp, err := t.open(cmd.Context(), http.MethodPost, path("ask", args[0]), body) //nolint:bodyclose // closed as stream
			var stream io.ReadCloser
			switch {
			case errors.Is(err, errNotRunning):
				a, done, oerr := t.started()
				if oerr != nil {
					return oerr
				}
				defer done()
				r, w := io.Pipe()
				go func() { w.CloseWithError(a.AskSite(cmd.Context(), args[0], body, w, func() error { return nil })) }()
				stream = r
			case err != nil:
				return err
			default:
				stream = resp.Body
			}
			defer stream.Close()
			return printAnswer(t, stream, cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&current, "current-path", "", "The path of the page that the reader is on")
	cmd.Flags().IntVar(&passages, "passages", 5, "How many passages the answer is made from, 1 to 50")
	cmd.Flags().BoolVar(&show, "show-prompt", false, "Show the passages and the prompt instead of an answer")
	return cmd
}

// entities are what answers hold in place of signs that would be HTML. A
// terminal shows no HTML; they come in one piece.
var entities = strings.NewReplacer("&lt;", "<", "&amp;", "&")

// printAnswer reads a v2 stream and prints the answer as it comes, and its
// sources; with --json, one document at the end.
func printAnswer(t *target, stream io.Reader, out io.Writer) error {
	type source struct {
		ID    string `json:"id"`
		URL   string `json:"url"`
		Title string `json:"title,omitempty"`
	}
	var answer strings.Builder
	var sources []source
	var finish json.RawMessage
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
			return fmt.Errorf("reading the answer: %w", err)
		}
		switch e.Type {
		case "text-delta":
			answer.WriteString(e.Delta)
			if !t.json {
				fmt.Fprint(out, entities.Replace(e.Delta))
			}
		case "source-url":
			sources = append(sources, source{e.SourceID, e.URL, e.Title})
		case "finish":
			finish = e.MessageMetadata
		case "error":
			return errors.New(e.ErrorText)
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	if t.json {
		return printJSON(out, map[string]any{"answer": answer.String(), "sources": sources, "metadata": finish})
	}
	fmt.Fprintln(out)
	for i, s := range sources {
		if i == 0 {
			fmt.Fprintln(out, "\nSources")
		}
		fmt.Fprintf(out, "  %s  %s\n      %s\n", s.ID, s.Title, s.URL)
	}
	return nil
}
