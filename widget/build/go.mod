module github.com/caddy-docs/caddy-docs/widget/build

go 1.26.0

require (
	github.com/evanw/esbuild v0.28.2
	github.com/tdewolff/minify/v2 v2.24.25
	github.com/tdewolff/parse/v2 v2.8.20
)

require golang.org/x/sys v0.49.0 // indirect
