// Command caddy is the standard Caddy with the caddy-docs module compiled in.
// It takes every command and flag that Caddy takes, and `caddy docs`.
package main

import (
	caddycmd "github.com/caddyserver/caddy/v2/cmd"

	_ "github.com/caddyserver/caddy/v2/modules/standard"

	_ "github.com/caddy-docs/caddy-docs"
)

func main() { caddycmd.Main() }
