//go:build docsonly

package caddyfile

const docsOnly = true
