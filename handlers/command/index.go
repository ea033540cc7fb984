package command

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/short"
)

func indexCommand(t *target) *cobra.Command {
	var wait, full bool
	cmd := &cobra.Command{
		Use: "index [SITE] [--wait] [--full]", Short: "Looks for changes in a site's pages now", Args: takes(0, 1),
		Long: `Makes the running server look for changes in a site's pages now, without waiting
for its watcher. With --wait it shows progress and returns once the new pages
can be found. An index in Meilisearch servers is compared with the pages section
by section, and restored where it differs. With --full, all pages are read again
and the index is written again, also in servers where it belongs to another
Caddy; it then belongs to this one. Without a running server, it builds the index
of the configuration given by --config, which the next start then loads.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return index(cmd.Context(), t, strings.Join(args, ""), wait, full, cmd.OutOrStdout())
		},
	}
	cmd.Flags().BoolVar(&wait, "wait", false, "Show progress and wait until it is done")
	cmd.Flags().BoolVar(&full, "full", false, "Read all pages again and write the whole index again")
	return cmd
}

func index(ctx context.Context, t *target, site string, wait, full bool, out io.Writer) error {
	st, err := t.status(ctx)
	if err != nil {
		return err
	}
	wait = wait || t.app != nil // nothing else would end it
	sites := st.Sites
	if site != "" || len(sites) == 0 {
		if sites, err = st.Named(site); err != nil {
			return err
		}
	}
	for _, s := range sites {
		name := s.Name
		at := path("index", name) + fmt.Sprintf("?full=%t&wait=%t", full, wait)
		if !wait {
			if err := t.call(ctx, http.MethodPost, at, nil, nil); err != nil {
				return err
			}
			fmt.Fprintf(out, "%s: looking for changes; caddy docs status shows the progress\n", name)
			continue
		}
		var report retrieval.Report
		stop := progress(ctx, t, name)
		err := t.call(ctx, http.MethodPost, at, nil, &report)
		stop()
		if err != nil {
			return err
		}
		if err := printReport(t, out, name, report); err != nil {
			return err
		}
	}
	if t.app != nil && !t.json {
		fmt.Fprintf(out, "written to %s\n", st.DataDir)
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
	for _, what := range report.Restored {
		fmt.Fprintf(out, "%s: restored: %s\n", name, what)
	}
	if report.Problems > 0 {
		fmt.Fprintf(out, "%s: %s; caddy docs doctor says what to do\n", name, short.Count(report.Problems, "problem"))
	}
	if report.Held != "" {
		return fmt.Errorf("%s: held back: %s", name, report.Held)
	}
	return nil
}

// progress shows the progress of a refresh on a terminal until stop is called.
func progress(ctx context.Context, t *target, site string) (stop func()) {
	st, err := os.Stderr.Stat()
	if t.json || t.app != nil || err != nil || st.Mode()&os.ModeCharDevice == 0 {
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
