//go:build !docsonly

package caddyfile

// docsOnly leaves out the directives assistant and search, for builds with
// another plugin that registers a directive of such a name: Caddy refuses to
// start with two. docs does what both do.
const docsOnly = false
