package caddydocs

import (
	_ "github.com/mholt/caddy-ratelimit"
)
