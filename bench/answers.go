package main

import (
	"context"
	"os"
	"os/exec"
)

// runAnswers runs the suite of answers, which has flags of its own
// (go run ./bench answers -h), as a program of its own.
func runAnswers(ctx context.Context, args []string) error {
	cmd := exec.CommandContext(ctx, "go", append([]string{"run", "./bench/answers/cmd"}, args...)...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}
