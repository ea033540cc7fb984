package command

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/caddy-docs/caddy-docs/handlers/app"
	"github.com/caddy-docs/caddy-docs/retrieval"
)

// status asks the running server how it is.
func (t *target) status(ctx context.Context) (app.Status, error) {
	var st app.Status
	err := t.call(ctx, http.MethodGet, path("status"), nil, &st)
	return st, err
}

func statusCommand(t *target) *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "Shows the sites of the running server and how their indexes are", Args: cobra.NoArgs, SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			st, err := t.status(cmd.Context())
			if errors.Is(err, errNotRunning) {
				a, done, oerr := t.offline()
				if oerr != nil {
					return oerr
				}
				defer done()
				st, err = a.Status(), nil
				fmt.Fprintln(cmd.ErrOrStderr(), "No running Caddy answers; this is what the configuration says.")
			}
			if err != nil {
				return err
			}
			if t.json {
				return printJSON(cmd.OutOrStdout(), st)
			}
			printStatus(cmd.OutOrStdout(), st)
			return nil
		},
	}
}

func printStatus(out io.Writer, st app.Status) {
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "SITE\tORGANIZATION\tPAGES\tSECTIONS\tINDEX\tCHECKED\tKEY\tADDRESS")
	for _, s := range st.Sites {
		key := "yes"
		if !s.HasKey {
			key = "none"
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%s\t%s\t%s\t%s\n", s.Name, s.Organization, s.Index.Pages, s.Index.Sections,
			stateOf(s.Index), day(s.Index.Checked, "not yet"), key, cmp.Or(s.URL, "-"))
	}
	w.Flush()
	fmt.Fprintf(out, "\nmodel     %s\nembedder  %s\nstorage   %s\ndata      %s\n",
		cmp.Or(st.Model, "none: replies are extractive"), cmp.Or(st.Embedder, "none: search is by keywords"), st.Storage, st.DataDir)
	for _, m := range st.Models {
		if m.Breaker != "closed" {
			fmt.Fprintf(out, "          %s at %s rests after %d failures, until %s: %s\n", m.Model, m.Endpoint, m.Failures, m.Until.Local().Format(time.TimeOnly), m.LastError)
		}
	}
	for _, s := range st.Sites {
		if b := s.Budget; b != nil {
			fmt.Fprintf(out, "budget    %s: %s spent of %s, anew at %s\n", s.Name, spentOf(b), b.Limit, b.Until.Local().Format(time.DateTime))
		}
	}
	if st.ThreadsTTL > 0 {
		fmt.Fprintf(out, "threads   kept for %s\n", app.Days(time.Duration(st.ThreadsTTL*float64(time.Second))))
	} else {
		fmt.Fprintln(out, "threads   off")
	}
}

// spentOf is what is spent of a budget, in the words of its limit.
func spentOf(b *app.BudgetStatus) string {
	var amounts []string
	if b.Tokens > 0 {
		amounts = append(amounts, fmt.Sprintf("%d tokens", b.SpentTokens))
	}
	if b.Requests > 0 {
		amounts = append(amounts, fmt.Sprintf("%d requests", b.SpentRequests))
	}
	return strings.Join(amounts, " and ")
}

func stateOf(s retrieval.Status) string {
	switch {
	case s.State != retrieval.Idle && s.State != "" && s.Total > 0:
		return fmt.Sprintf("%s %d/%d", s.State, s.Done, s.Total)
	case s.Held != "":
		return "held back"
	case s.Error != "":
		return "failing"
	case !s.Ready:
		return "building"
	case s.ProblemCount > 0:
		return fmt.Sprintf("ready, %d problems", s.ProblemCount)
	}
	return "ready"
}

func doctorCommand(t *target) *cobra.Command {
	return &cobra.Command{
		Use: "doctor", Short: "Checks what the running server needs and says what to do", Args: cobra.NoArgs, SilenceUsage: true,
		Long: `Checks sites, keys, indexes, model and embedder of the running server (or, with
--config, of a configuration) and says for each thing that is wrong what to do.
The exit status is 1 if something is wrong.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var checks []app.Check
			err := t.call(cmd.Context(), http.MethodGet, path("doctor"), nil, &checks)
			if errors.Is(err, errNotRunning) {
				a, done, oerr := t.offline()
				if oerr != nil {
					return oerr
				}
				defer done()
				checks, err = a.Doctor(cmd.Context()), nil
			}
			if err != nil {
				return err
			}
			wrong := 0
			for _, c := range checks {
				if !c.OK {
					wrong++
				}
			}
			if t.json {
				if err := printJSON(cmd.OutOrStdout(), checks); err != nil {
					return err
				}
			} else {
				for _, c := range checks {
					mark := "ok  "
					if !c.OK {
						mark = "FAIL"
					}
					fmt.Fprintf(cmd.OutOrStdout(), "%s  %s: %s\n", mark, c.What, c.Found)
					if c.Do != "" {
						fmt.Fprintf(cmd.OutOrStdout(), "      %s\n", c.Do)
					}
				}
			}
			if wrong > 0 {
				return fmt.Errorf("%d of %d checks failed", wrong, len(checks))
			}
			return nil
		},
	}
}

func indexCommand(t *target) *cobra.Command {
	var wait bool
	cmd := &cobra.Command{
		Use: "index [SITE] [--wait]", Short: "Looks for changes of a site's pages now", Args: cobra.MaximumNArgs(1), SilenceUsage: true,
		Long: `Has the running server look for changes of a site's pages now, rather than when
its watcher notices them. With --wait it shows progress and ends when the new
generation is served. Without a running server, --config indexes by itself:
the next start then begins with a whole index.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			site := ""
			if len(args) > 0 {
				site = args[0]
			}
			return index(cmd.Context(), t, site, wait, cmd.OutOrStdout())
		},
	}
	cmd.Flags().BoolVar(&wait, "wait", false, "Wait for the end and show progress")
	return cmd
}

func index(ctx context.Context, t *target, site string, wait bool, out io.Writer) error {
	st, err := t.status(ctx)
	if errors.Is(err, errNotRunning) {
		return indexOffline(ctx, t, site, out)
	}
	if err != nil {
		return err
	}
	var sites []string
	for _, s := range st.Sites {
		if site == "" || s.Name == site {
			sites = append(sites, s.Name)
		}
	}
	if len(sites) == 0 {
		return unknownSite(site, st)
	}
	for _, name := range sites {
		if !wait {
			if err := t.call(ctx, http.MethodPost, path("index", name), nil, nil); err != nil {
				return err
			}
			fmt.Fprintf(out, "%s: looking for changes; caddy docs status tells how far it is\n", name)
			continue
		}
		var report retrieval.Report
		stop := progress(ctx, t, name)
		err := t.call(ctx, http.MethodPost, path("index", name)+"?wait=true", nil, &report)
		stop()
		if err != nil {
			return err
		}
		if err := printReport(t, out, name, report); err != nil {
			return err
		}
	}
	return nil
}

func printReport(t *target, out io.Writer, name string, report retrieval.Report) error {
	if t.json {
		return printJSON(out, struct {
			Site string `json:"site"`
			retrieval.Report
		}{name, report})
	}
	fmt.Fprintf(out, "%s: %s\n", name, report)
	if report.Problems > 0 {
		fmt.Fprintf(out, "%s: %d pages could not be read; caddy docs doctor names them\n", name, report.Problems)
	}
	if report.Held != "" {
		return fmt.Errorf("%s: held back: %s", name, report.Held)
	}
	return nil
}

func unknownSite(site string, st app.Status) error {
	names := make([]string, len(st.Sites))
	for i, s := range st.Sites {
		names[i] = s.Name
	}
	return fmt.Errorf("there is no site %q; there are: %s", site, strings.Join(names, ", "))
}

// progress shows how far a refresh is, on a terminal, until stop is called.
func progress(ctx context.Context, t *target, site string) (stop func()) {
	if t.json || !terminal(os.Stderr) {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				fmt.Fprint(os.Stderr, "\r\x1b[K")
				return
			case <-tick.C:
			}
			st, err := t.status(ctx)
			if err != nil {
				continue
			}
			for _, s := range st.Sites {
				if s.Name == site {
					fmt.Fprintf(os.Stderr, "\r\x1b[K%s: %s", site, stateOf(s.Index))
				}
			}
		}
	}()
	return func() { cancel(); <-done }
}

func indexOffline(ctx context.Context, t *target, site string, out io.Writer) error {
	a, done, err := t.started()
	if err != nil {
		return err
	}
	defer done()
	st := a.Status()
	found := false
	for _, s := range st.Sites {
		if site != "" && s.Name != site {
			continue
		}
		found = true
		report, err := a.Refresh(ctx, s.Name)
		if err != nil {
			return err
		}
		if err := printReport(t, out, s.Name, report); err != nil {
			return err
		}
	}
	if !found {
		return unknownSite(site, st)
	}
	fmt.Fprintf(out, "written to %s\n", st.DataDir)
	return nil
}

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
			var results []app.Result
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

func titleOf(r app.Result) string {
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
