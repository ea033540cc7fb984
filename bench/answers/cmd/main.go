// Command cmd runs the suite of answers. It is a program of its own because
// it holds a whole Caddy, which the other suites must not measure with
// themselves: go run ./bench answers.
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
