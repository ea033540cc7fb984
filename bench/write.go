package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
)

// write runs the suites that args name, and puts their tables into a file, each
// with the line that says when, where and how it was made:
//
//	<!-- bench: words of the table's title -->
//	<!-- /bench -->
func write(ctx context.Context, file string, args []string, out io.Writer) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	printed, err := outputOf(ctx, ".", self, args)
	if err != nil {
		return err
	}
	fmt.Fprint(out, printed)
	written, n := place(string(text), printed)
	if n == 0 {
		return fmt.Errorf("%s has no place for these tables; write <!-- bench: a table's title --> and <!-- /bench --> around one", file)
	}
	fmt.Fprintf(out, "\n%d tables written to %s\n", n, file)
	return os.WriteFile(file, []byte(written), 0o644)
}

var placeForm = regexp.MustCompile(`(?s)(<!-- bench: ([^\n]*) -->\n).*?(<!-- /bench -->)`)

// place returns a text with the tables of a bench's output in their places, and
// how many there are.
func place(text, printed string) (written string, n int) {
	heading, rest, _ := strings.Cut(printed, "\n")
	tables := strings.Split(rest, "\n### ")[1:]
	written = placeForm.ReplaceAllStringFunc(text, func(old string) string {
		m := placeForm.FindStringSubmatch(old)
		for _, t := range tables {
			title, body, _ := strings.Cut(t, "\n")
			if strings.Contains(title, m[2]) {
				n++
				rows, _, _ := strings.Cut(strings.TrimSpace(body), "\n\n")
				return m[1] + title + ". " + heading + ":\n\n" + rows + "\n\n" + m[3]
			}
		}
		return old
	})
	return written, n
}
