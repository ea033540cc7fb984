// Package app is the Caddy app "docs": configuration, lifetime, storage,
// admin API and metrics, and the wiring of the pure packages.
package app

type state struct{}
