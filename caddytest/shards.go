//go:build unix

package caddytest

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
)

// shards is the number of processes that run the tests of a package. A test
// waits most of its time, for a model, an index or a lock.
const shards = 3

// whole are the flags with which all tests of a package run. With others, such
// as -run or -cpuprofile, they run in one process.
var whole = []string{"test.count", "test.cpu", "test.parallel", "test.paniconexit0", "test.short", "test.testlogfile", "test.timeout", "test.v"}

// Main is the TestMain of packages whose tests each start a Caddy. A process has
// only one, so several processes share the tests.
func Main(m *testing.M) {
	RunProcess()
	flag.Parse()
	others := 0
	flag.Visit(func(f *flag.Flag) {
		if !slices.Contains(whole, f.Name) {
			others++
		}
	})
	if others > 0 {
		os.Exit(m.Run())
	}
	os.Exit(runShards())
}

// runShards runs all tests and returns the exit code.
func runShards() (code int) {
	list, err := exec.Command(os.Args[0], "-test.list=^(Test|Fuzz|Example)").Output() //nolint:gosec // this binary
	if err != nil {
		fmt.Fprintln(os.Stderr, "listing the tests:", err)
		return 1
	}
	runs := make([][]string, shards)
	for i, name := range strings.Fields(string(list)) {
		runs[i%shards] = append(runs[i%shards], name)
	}
	// The log would have the files and variables of only one process. Without
	// it, the go command does not take results from its cache.
	args := slices.DeleteFunc(slices.Clone(os.Args[1:]), func(a string) bool { return strings.HasPrefix(a, "-test.testlogfile=") })
	var mu sync.Mutex
	var wait sync.WaitGroup
	for _, names := range runs {
		if len(names) == 0 {
			continue
		}
		wait.Go(func() {
			cmd := exec.Command(os.Args[0], append(args, "-test.run=^("+strings.Join(names, "|")+")$")...) //nolint:gosec // this binary
			output, err := cmd.CombinedOutput()
			mu.Lock()
			defer mu.Unlock()
			_, _ = os.Stdout.Write(output)
			if err != nil {
				fmt.Println(err)
				code = 1
			}
		})
	}
	wait.Wait()
	return code
}
