package command

import (
	"cmp"
	"context"
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
