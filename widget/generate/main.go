// Command generate builds the widget's dist: go generate ./widget.
package main

import (
	"log"
	"os"
	"path/filepath"

	"github.com/caddy-docs/caddy-docs/widget/build"
)

func main() {
	files, err := build.Build("src")
	if err != nil {
		log.Fatal(err)
	}
	if err := os.RemoveAll("dist"); err != nil {
		log.Fatal(err)
	}
	if err := os.Mkdir("dist", 0o755); err != nil {
		log.Fatal(err)
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join("dist", name), content, 0o644); err != nil {
			log.Fatal(err)
		}
	}
}
