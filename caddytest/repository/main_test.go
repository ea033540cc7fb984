// Package repository tests what holds for all packages: which may import which,
// licenses, and platforms. It does not link Caddy, as a test of the root package
// would.
package repository

import (
	"fmt"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	if err := os.Chdir("../.."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}
