package main

import (
	"context"
	"fmt"
	"os"

	"github.com/caddy-docs/caddy-docs/bench/ranking"
)

func main() {
	if err := ranking.Run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}
