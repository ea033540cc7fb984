package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// against runs the suites that args name, as of this commit and of another one:
// each with its own bench, whose figures are compared by table and row.
func against(ctx context.Context, revision string, args []string, out io.Writer) error {
	dir, err := os.MkdirTemp("", "caddy-docs-against-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	archive := exec.CommandContext(ctx, "git", "-C", "..", "archive", "--output", filepath.Join(dir, "tree.tar"), revision)
	extract := exec.CommandContext(ctx, "tar", "-xf", "tree.tar")
	build := exec.CommandContext(ctx, "go", "build", "-o", filepath.Join(dir, "bench.exe"), ".")
	extract.Dir, build.Dir = dir, filepath.Join(dir, "bench")
	other := build.Dir
	for _, cmd := range []*exec.Cmd{archive, extract, build} {
		if text, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("building the bench of %s: %w\n%s", revision, err, text)
		}
		if _, err := os.Stat(filepath.Join(dir, "bench", "go.mod")); cmd == extract && err != nil {
			// Before it was a module, bench ran in the project's directory.
			build.Dir, other = dir, dir
			build.Args[len(build.Args)-1] = "./bench"
		}
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	ours, err := outputOf(ctx, ".", self, args)
	if err != nil {
		return err
	}
	theirs, err := outputOf(ctx, other, filepath.Join(dir, "bench.exe"), args)
	if err != nil {
		return err
	}
	compare(out, ours, theirs, revision)
	return nil
}

// outputOf runs a bench in its directory and returns what it prints.
func outputOf(ctx context.Context, dir, program string, args []string) (string, error) {
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, os.Stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", program, strings.Join(args, " "), err, out.String())
	}
	return out.String(), nil
}

// figure matches the first number of a cell.
var figure = regexp.MustCompile(`-?\d[\d,]*(\.\d+)?`)

// compare prints the lines of ours. A cell with a figure of a table's row is
// followed by that of theirs, and by ours ÷ theirs. Rows are found by their
// table's title and by what comes before the first figure of measured columns.
func compare(out io.Writer, ours, theirs, revision string) {
	cells := tables(theirs)
	fmt.Fprintf(out, "Each figure: this commit / %s (ratio).\n\n", revision)
	title := ""
	for line := range strings.Lines(ours) {
		line = strings.TrimRight(line, "\n")
		if rest, ok := strings.CutPrefix(line, "### "); ok {
			title = rest
		}
		other, found := cells[rowKey(title, line)]
		if !found {
			fmt.Fprintln(out, line)
			continue
		}
		row := strings.Split(line, "|")
		for i := 2; i < len(row) && i < len(other); i++ {
			row[i] = beside(row[i], other[i])
		}
		fmt.Fprintln(out, strings.Join(row, "|"))
	}
}

// beside returns a cell with another commit's figure and their ratio.
func beside(cell, other string) string {
	a, aOK := number64(cell)
	b, bOK := number64(other)
	if !aOK || !bOK || strings.Contains(cell, "target") {
		return cell
	}
	compared := fmt.Sprintf(" %s / %s", strings.TrimSpace(cell), strings.TrimSpace(other))
	if b != 0 {
		compared += fmt.Sprintf(" (%s)", number(a/b))
	}
	return compared + " "
}

func number64(cell string) (float64, bool) {
	cell = strings.TrimSpace(cell)
	if loc := figure.FindStringIndex(cell); loc == nil || loc[0] != 0 {
		return 0, false // a name
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(figure.FindString(cell), ",", ""), 64)
	return f, err == nil
}

// tables returns the cells of the rows of an output.
func tables(output string) map[string][]string {
	rows, title := map[string][]string{}, ""
	for line := range strings.Lines(output) {
		line = strings.TrimRight(line, "\n")
		if rest, ok := strings.CutPrefix(line, "### "); ok {
			title = rest
		}
		if key := rowKey(title, line); key != "" {
			rows[key] = strings.Split(line, "|")
		}
	}
	return rows
}

// rowKey names a row by its table's title and the names in its first cells, ""
// for any other line.
func rowKey(title, line string) string {
	cells := strings.Split(line, "|")
	if len(cells) < 4 || strings.Contains(line, "---|") {
		return ""
	}
	key := title + "|" + cells[1]
	for _, c := range cells[2:] {
		if _, isFigure := number64(c); isFigure {
			return key
		}
		key += "|" + c
	}
	return "" // a row of names
}
