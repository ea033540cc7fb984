// Command cmd runs the answers suite (go -C bench run . answers). It is a
// separate program because it runs Caddy in its own process, which would distort the
// figures of the other suites.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/caddy-docs/caddy-docs/bench/answers"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := answers.Run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}
