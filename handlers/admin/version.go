package admin

import (
	"runtime"
	"runtime/debug"

	"github.com/caddyserver/caddy/v2"

	"github.com/caddy-docs/caddy-docs/contract"
	"github.com/caddy-docs/caddy-docs/insights"
	"github.com/caddy-docs/caddy-docs/retrieval/embedded"
)

// Version says what a binary is, and which forms of stored data it writes.
type Version struct {
	Module string `json:"module"`
	Caddy  string `json:"caddy"`
	Go     string `json:"go"`
	System string `json:"system"`
	// IndexFormat is that of the index inside the process.
	IndexFormat int `json:"index_format"`
	// InsightsSchema is that of the tables of the insights.
	InsightsSchema int `json:"insights_schema"`
}

// Versions returns those of this binary.
func Versions() Version {
	simple, _ := caddy.Version()
	v := Version{
		Module: contract.Release(), Caddy: simple, Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH,
		IndexFormat: embedded.SnapshotFormat, InsightsSchema: insights.Schema(),
	}
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	for _, m := range append([]*debug.Module{&build.Main}, build.Deps...) {
		// Caddy finds its own version only in binaries of xcaddy.
		if m.Path == caddy.ImportPath && (v.Caddy == "" || v.Caddy == "unknown") {
			v.Caddy = m.Version
		}
	}
	return v
}
