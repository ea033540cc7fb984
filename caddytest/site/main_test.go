//go:build unix

// Package site tests what a site has from a Caddy with this module: its
// configuration, search, locks and limits, the commands, the API's document,
// what agents read, how the widget gets into pages, the recipes of the manual,
// the examples, and data of earlier versions. They are one package because each
// test binary with Caddy takes seconds to link.
package site

import (
	"testing"

	"github.com/caddy-docs/caddy-docs/caddytest"
)

func TestMain(m *testing.M) { caddytest.Main(m) }
