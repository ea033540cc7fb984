package main

import (
	"context"
	"os"
	"os/exec"
)

// runAnswers runs the answers suite, a separate program with its own flags.
// See go run ./bench answers -h.
func runAnswers(ctx context.Context, args []string) error {
	cmd := exec.CommandContext(ctx, "go", append([]string{"run", "./bench/answers/cmd"}, args...)...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}
