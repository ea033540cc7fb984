package command

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/spf13/cobra"

	"github.com/caddy-docs/caddy-docs/handlers/admin"
)

func initCommand(t *target) *cobra.Command {
	s := new(firstSite)
	cmd := &cobra.Command{
		Use: "init [--root FOLDER | --sitemap URL] [--host HOST]", Short: "Writes a first Caddyfile for a site, and checks it", Args: takes(0, 0),
		Long: `Writes a Caddyfile that serves a site with search and the assistant. It asks for
what the flags leave open, and detects the site's generator. It indexes and
requests the pages as the server will, and reports each problem and what to do
about it; nothing of this is kept.

The file is the one given by --config, by default Caddyfile in this folder;
--config - prints it instead. An existing file is never changed. The exit status
is 1 if there is a problem.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.write(cmd, t)
		},
	}
	f := cmd.Flags()
	f.StringVar(&s.Root, "root", "", "The folder of the built site, or of its project")
	f.StringVar(&s.Sitemap, "sitemap", "", "The URL of the sitemap of a site on another server")
	f.StringVar(&s.Host, "host", "", "The host of the site, like docs.acme.com (default: http://localhost:8080)")
	f.StringVar(&s.Site, "site", "", "The name of the site in the API (default: from the host)")
	f.StringVar(&s.ModelURL, "model-url", "", "The URL of an OpenAI-compatible API that writes answers (default: none, answers quote)")
	f.StringVar(&s.Model, "model", "", "The name of the model")
	f.StringVar(&s.ModelKey, "model-key", "", "The environment variable with the model's API key (default: OPENAI_API_KEY, none for private addresses)")
	f.BoolVar(&s.Widget, "widget", false, "Put the search box into every page")
	return cmd
}

// write asks, checks and writes.
func (s *firstSite) write(cmd *cobra.Command, t *target) error {
	file := cmp.Or(t.config, "Caddyfile")
	if file != "-" {
		if _, err := os.Lstat(file); err == nil {
			return fmt.Errorf("%s exists and is not changed; name another file with --config, or print the lines to copy with --config -", file)
		}
	}
	if s.Root == "" && s.Sitemap == "" {
		if err := s.ask(bufio.NewScanner(cmd.InOrStdin()), cmd.ErrOrStderr()); err != nil {
			return err
		}
	}
	if err := s.complete(); err != nil {
		return err
	}
	text := s.caddyfile()
	checks, err := s.check(cmd.Context(), text)
	if err != nil {
		return fmt.Errorf("nothing was written: %w", err)
	}
	if file != "-" {
		if err := create(file, text); err != nil {
			return err
		}
	}
	if err := s.print(cmd, t.json, file, text, checks); err != nil {
		return err
	}
	return failures(checks, "; do what they say, then run: caddy docs doctor")
}

// print shows the Caddyfile, what was found, and what to do next.
func (s *firstSite) print(cmd *cobra.Command, asJSON bool, file, text string, checks []admin.Check) error {
	out := cmd.OutOrStdout()
	switch {
	case asJSON:
		return printJSON(out, struct {
			File      string        `json:"file"`
			Site      string        `json:"site"`
			Generator string        `json:"generator,omitempty"`
			Caddyfile string        `json:"caddyfile"`
			Checks    []admin.Check `json:"checks"`
			Notes     []string      `json:"notes,omitempty"`
		}{file, s.Site, s.found(), text, checks, s.notes()})
	case file == "-":
		fmt.Fprint(out, text)
		printChecks(cmd.ErrOrStderr(), checks, false)
		return nil
	}
	fmt.Fprintf(out, "Wrote %s: %s, as the site %s on %s.\n\n%s\n", file, s.found(), s.Site, s.Host, text)
	printChecks(out, checks, false)
	for _, n := range s.notes() {
		fmt.Fprintf(out, "note  %s\n", n)
	}
	adapter := ""
	if base := filepath.Base(file); !strings.HasPrefix(base, "Caddyfile") && !strings.HasSuffix(base, ".caddyfile") {
		adapter = " --adapter caddyfile"
	}
	fmt.Fprintf(out, "\nNext, start it, and then, in another terminal, create a key:\n\n  caddy run --config %s%s\n  caddy docs key create --site %s\n", file, adapter, s.Site)
	return nil
}

// create writes a file that must not exist.
func create(file, text string) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// ask asks for what the flags don't say.
func (s *firstSite) ask(in *bufio.Scanner, out io.Writer) error {
	question := func(to *string, text string) bool {
		if *to != "" {
			return true
		}
		fmt.Fprint(out, text+" ")
		if !in.Scan() {
			fmt.Fprintln(out)
			return false
		}
		*to = strings.TrimSpace(in.Text())
		return true
	}
	var from string
	if !question(&from, "Folder of the built site, or URL of its sitemap:") || from == "" {
		return errors.New("no input; use --root FOLDER or --sitemap URL")
	}
	if strings.Contains(from, "://") {
		s.Sitemap = from
	} else {
		s.Root = from
	}
	if question(&s.Host, "Host of the site [http://localhost:8080]:") && question(&s.ModelURL, "URL of an OpenAI-compatible API [none, answers quote the pages]:") && s.ModelURL != "" {
		question(&s.Model, "Name of the model:")
	}
	return nil
}

// found says what the site is, for people.
func (s *firstSite) found() string {
	switch {
	case s.Root == "" && isPrivate(s.Sitemap):
		return "a site that Caddy proxies"
	case s.Root == "":
		return "a site on another server"
	case s.cleanURLs:
		return s.generator + " with clean URLs in " + s.Root
	}
	return s.generator + " in " + s.Root
}

func (s *firstSite) notes() (notes []string) {
	if s.generator != "" && s.generator != "HTML" {
		notes = append(notes, "what to watch with "+s.generator+": "+recipe(strings.ToLower(s.generator)))
	}
	if s.Widget && s.generator == "Markdown" {
		notes = append(notes, "no page can have the widget: this Caddyfile serves Markdown as text; render it as the recipe does")
	}
	if _, err := os.Stat(filepath.Join(s.Root, "index.html")); err != nil && s.Root != "" {
		notes = append(notes, "there is no page at "+s.origin()+"/: "+s.Root+" has no index.html")
	}
	if s.unset() {
		notes = append(notes, "the model was not checked: set "+s.ModelKey+" where Caddy runs, to its API key")
	}
	return notes
}

// unset reports whether the model's key is not in this environment.
func (s *firstSite) unset() bool { return s.ModelKey != "" && os.Getenv(s.ModelKey) == "" }

// check runs the app of a Caddyfile without serving it, with all state in a
// folder that is removed, and returns what doctor finds of the site and the
// model. An error means that the Caddyfile itself does not work.
func (s *firstSite) check(ctx context.Context, text string) (checks []admin.Check, err error) {
	dir, err := os.MkdirTemp("", "caddy-docs-init-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	data, warnings, err := caddyconfig.GetAdapter("caddyfile").Adapt([]byte(text), map[string]any{"filename": "Caddyfile"})
	if err != nil {
		return nil, err
	}
	if len(warnings) > 0 {
		return nil, errors.New(warnings[0].String())
	}
	var config struct {
		Apps    map[string]map[string]any `json:"apps"`
		Storage map[string]string         `json:"storage"`
	}
	if err := json.Unmarshal(data, &config); err != nil {
		return nil, err
	}
	docs := config.Apps["docs"]
	if docs == nil {
		docs = map[string]any{}
		config.Apps["docs"] = docs
	}
	if s.unset() {
		delete(docs, "llm")
	}
	docs["data_dir"] = filepath.Join(dir, "data")
	config.Storage = map[string]string{"module": "file_system", "root": filepath.Join(dir, "storage")}
	t := &target{config: "Caddyfile", loaded: caddyconfig.JSON(config, nil), level: "ERROR"} // the checks say the rest
	defer t.close()
	if err := t.provision(); err != nil {
		return nil, err
	}
	if err := t.app.Start(); err != nil {
		return nil, err
	}
	api := admin.API{App: t.app}
	if _, err := api.Refresh(ctx, s.Site); err == nil {
		_, _ = api.Pages(ctx, s.Site) // requests them; doctor reports the responses
	}
	for _, c := range api.Doctor(ctx) {
		// There is no key yet, and the folders are not those of the server.
		if c.What != "site "+s.Site+" key" && (strings.HasPrefix(c.What, "site ") || c.What == "llm" && !s.unset()) {
			checks = append(checks, c)
		}
	}
	return checks, nil
}
