// Command build makes the widget's dist from its sources with esbuild:
// go generate ./widget. It is a separate module, so that servers carry none
// of its dependencies. dist is committed, since xcaddy and go install run no
// generators.
//
//	go -C widget/build run .                        # write dist
//	go -C widget/build run . FILE [NAME=VALUE ...]  # bundle a script for a test, with defines, to standard output
package main

import (
	"errors"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

func main() {
	log.SetFlags(0)
	if err := run(os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

func run(args []string) error {
	if len(args) > 0 {
		return bundle(args[0], args[1:])
	}
	files, err := Build("../src")
	if err != nil {
		return err
	}
	if err := os.RemoveAll("../dist"); err != nil {
		return err
	}
	if err := os.Mkdir("../dist", 0o755); err != nil {
		return err
	}
	for name, content := range files {
		if strings.HasPrefix(name, "main") || name == "loader.js" {
			if content, err = repeat(content, 200_000); err != nil {
				return err
			}
		}
		if err := os.WriteFile(filepath.Join("../dist", name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// bundle prints a script with all that it imports as one module.
func bundle(file string, defines []string) error {
	define := map[string]string{}
	for _, d := range defines {
		name, value, _ := strings.Cut(d, "=")
		define[name] = value
	}
	built := api.Build(api.BuildOptions{
		EntryPoints: []string{file}, Bundle: true, Format: api.FormatESModule, Outdir: "out", MinifySyntax: true, Define: define,
	})
	if len(built.Errors) > 0 {
		return errors.New(strings.Join(api.FormatMessages(built.Errors, api.FormatMessagesOptions{}), ""))
	}
	_, err := os.Stdout.Write(built.OutputFiles[0].Contents)
	return err
}
