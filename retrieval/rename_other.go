//go:build !unix

package retrieval

import "os"

func rename(from, to string) error { return os.Rename(from, to) }
