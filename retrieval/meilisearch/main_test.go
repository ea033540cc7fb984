package meilisearch_test

import (
	"flag"
	"os"
	"testing"
)

// Most tests wait for servers that hang or come back, so more of them run at
// a time than there are cores.
func TestMain(m *testing.M) {
	flag.Parse()
	parallel := flag.Lookup("test.parallel")
	if err := parallel.Value.Set("16"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
