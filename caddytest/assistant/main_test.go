//go:build unix

// Package assistant tests replies of a Caddy with this module, and their life
// over reloads, timeouts and the end of the process; and sites whose index is in
// Meilisearch.
package assistant

import (
	"testing"

	"github.com/caddy-docs/caddy-docs/caddytest"
)

func TestMain(m *testing.M) { caddytest.Main(m) }
