// Package command is the command line: caddy docs …. A command asks the
// running server through its admin API. If no server answers, it works with
// the configuration given by --config, and says where it wrote.
package command

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"unicode"

	"github.com/caddyserver/caddy/v2"
	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/caddy-docs/caddy-docs/handlers/app"
)

// Register adds `caddy docs` to Caddy's commands.
func Register() {
	caddycmd.RegisterCommand(caddycmd.Command{
		Name:  "docs",
		Usage: "<command>",
		Short: "Manages the documentation sites of caddy-docs",
		Long: `Manages documentation sites: their keys, their indexes, and what they answer.

Commands ask the running server through its admin API, at the address given by
--address, the configuration given by --config, or the environment variable
CADDY_ADMIN, in this order; the default is localhost:2019. If no server responds,
the command works with that configuration. The exit status is 0 on success.`,
		CobraFunc: Fill,
	})
}

// Fill adds the commands and their flags to cmd, which is `caddy docs`.
func Fill(cmd *cobra.Command) {
	t := new(target)
	flags := cmd.PersistentFlags()
	flags.StringVar(&t.address, "address", "", "The address of the running server's admin API (default: that of --config, $CADDY_ADMIN, or localhost:2019)")
	flags.StringVarP(&t.config, "config", "c", "", "The configuration to work with if no server runs")
	flags.StringVarP(&t.adapter, "adapter", "a", "", "The adapter of the configuration (default: caddyfile for a Caddyfile)")
	flags.BoolVar(&t.json, "json", false, "Print JSON")
	cmd.SetFlagErrorFunc(noFlag)
	cmd.AddCommand(initCommand(t), statusCommand(t), doctorCommand(t), indexCommand(t), pagesCommand(t), checkCommand(t), movedCommand(t), searchCommand(t), askCommand(t), evalCommand(t), keyCommand(t), loginCommand(t), insightsCommand(t), mcpCommand(t), mockCommand(t), reportCommand(t), versionCommand(t))
	t.finish(cmd)
}

// finish sets what a command and its subcommands have in common. Their output is
// plain text, except JSON, which escapes. Wrong arguments and unknown commands
// print the usage.
func (t *target) finish(cmd *cobra.Command) {
	for _, c := range cmd.Commands() {
		t.finish(c)
	}
	cmd.SilenceUsage = true
	args, run := cmd.Args, cmd.RunE
	if run == nil { // only has commands
		args, run = noCommand, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	cmd.Args = func(cmd *cobra.Command, given []string) error {
		if err := args(cmd, given); err != nil {
			return errors.New(plain(err.Error() + "\n\n" + strings.TrimSpace(cmd.UsageString())))
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, given []string) error {
		if !t.json {
			cmd.SetOut(plainWriter{cmd.OutOrStdout()})
			cmd.SetErr(plainWriter{cmd.ErrOrStderr()})
		}
		err := run(cmd, given)
		t.close()
		if err != nil {
			return errors.New(plain(err.Error()))
		}
		return nil
	}
}

// takes accepts from least to most arguments.
func takes(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) >= least && len(args) <= most {
			return nil
		}
		missing := "an argument is missing"
		if len(args) > most {
			missing = fmt.Sprintf("unexpected argument %q (put text with spaces in quotes)", args[most])
		}
		return fmt.Errorf("%s; write: %s", missing, cmd.UseLine())
	}
}

// noCommand refuses a command that does not exist.
func noCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		return fmt.Errorf("there is no command %q; did you mean %s?", cmd.CommandPath()+" "+args[0], strings.Join(near, " or "))
	}
	return fmt.Errorf("there is no command %q", cmd.CommandPath()+" "+args[0])
}

// noFlag adds the flag that was probably meant to the error for one that does not
// exist.
func noFlag(cmd *cobra.Command, err error) error {
	missing, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return err
	}
	flags := &cobra.Command{SuggestionsMinimumDistance: 2}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		flags.AddCommand(&cobra.Command{Use: "--" + f.Name, Run: func(*cobra.Command, []string) {}})
	})
	if near := flags.SuggestionsFor("--" + missing.GetSpecifiedName()); len(near) > 0 {
		return fmt.Errorf("%w; did you mean %s?", err, strings.Join(near, " or "))
	}
	return err
}

// target is the server or configuration that a command works on.
type target struct {
	address, config, adapter string
	json                     bool

	asked  string // the address of the admin API that was asked last
	loaded []byte // the configuration as JSON, once it was read

	level     string   // of its log; "" is WARN
	app       *app.App // that of the configuration, once no server has answered
	started   bool     // its indexes are open
	refreshed string   // the site whose pages were read
}

// call asks as open does, and decodes the answer into out, if not nil.
func (t *target) call(ctx context.Context, method, uri string, in, out any) error {
	body, err := t.open(ctx, method, uri, in)
	if err != nil {
		return err
	}
	defer body.Close()
	if out == nil {
		_, err := io.Copy(io.Discard, body)
		return err
	}
	err = json.NewDecoder(body).Decode(out)
	if _, ok := errors.AsType[caddy.APIError](err); err != nil && !ok {
		return fmt.Errorf("reading the response of %s: %w", uri, err)
	}
	return err
}

// show asks for a value, and prints it as JSON or by print.
func show[T any](cmd *cobra.Command, t *target, method, uri string, in any, print func(io.Writer, T)) error {
	var v T
	if err := t.call(cmd.Context(), method, uri, in, &v); err != nil {
		return err
	}
	return t.print(cmd.OutOrStdout(), v, func() { print(cmd.OutOrStdout(), v) })
}

// print prints a value as JSON, if that is wanted, or else by text.
func (t *target) print(out io.Writer, v any, text func()) error {
	if t.json {
		return printJSON(out, v)
	}
	text()
	return nil
}

// open asks the admin API of the running server, or, if none answers, that of
// the configuration. It sends a value, if not nil, as JSON. The caller reads and
// closes the body.
func (t *target) open(ctx context.Context, method, uri string, in any) (io.ReadCloser, error) {
	var body []byte
	header := http.Header{}
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return nil, err
		}
		header.Set("Content-Type", "application/json")
	}
	if t.app != nil {
		return t.openHere(ctx, method, uri, body)
	}
	address, err := t.adminAddress()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cmp.Or(t.config, "finding the admin API's address"), err)
	}
	t.asked = address
	resp, err := caddycmd.AdminAPIRequest(address, method, uri, header, bytes.NewReader(body))
	switch {
	case err == nil:
		return resp.Body, nil
	// AdminAPIRequest does not wrap its cause: only the text distinguishes a
	// server that is not there from one that refuses.
	case strings.HasPrefix(err.Error(), "performing request"):
		return t.openHere(ctx, method, uri, body)
	}
	return nil, errors.New(adminMessage(err.Error()))
}

// adminMessage returns the message of an error of AdminAPIRequest, whose text
// has the response's JSON.
func adminMessage(text string) string {
	var body struct {
		Error string `json:"error"`
	}
	if i := strings.IndexByte(text, '{'); i >= 0 && json.Unmarshal([]byte(text[i:]), &body) == nil && body.Error != "" {
		return body.Error
	}
	return text
}

func (t *target) adminAddress() (string, error) {
	if t.address != "" {
		return t.address, nil
	}
	config, err := t.load()
	if err != nil {
		return "", err
	}
	return caddycmd.DetermineAdminAPIAddress("", config, t.config, t.adapter)
}

// load returns the configuration as JSON, nil if none was named. Caddy logs
// that it reads a file, so it is read once.
func (t *target) load() (_ []byte, err error) {
	if t.loaded == nil && t.config != "" {
		if t.adapter == "" && filepath.Ext(t.config) != ".json" {
			t.adapter = "caddyfile"
		}
		t.loaded, _, _, err = caddycmd.LoadConfig(t.config, t.adapter)
	}
	return t.loaded, err
}

// printJSON writes v as JSON.
func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// table prints a line of cells for each row in aligned columns, with "-" for an
// empty cell.
func table[T any](out io.Writer, heads string, rows []T, cells func(T) []any) {
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, heads)
	for _, row := range rows {
		for i, cell := range cells(row) {
			if i > 0 {
				fmt.Fprint(w, "\t")
			}
			fmt.Fprint(w, cmp.Or(printable(fmt.Sprint(cell)), "-"))
		}
		fmt.Fprintln(w)
	}
	w.Flush()
}

// path returns the escaped path of an admin endpoint.
func path(parts ...string) string {
	for i, s := range parts {
		parts[i] = url.PathEscape(s)
	}
	return "/docs/" + strings.Join(parts, "/")
}

// plain is a text without what could drive the operator's terminal: control
// characters other than line feeds and tabs, and those that change the
// direction of the text around them. Pages, models and servers write such
// texts.
func plain(s string) string { return without(s, "\n\t") }

// printable is plain for a text on one line.
func printable(s string) string {
	return without(strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ", "\t", " ").Replace(s), "")
}

func without(s, keep string) string {
	return strings.Map(func(r rune) rune {
		if (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) && !strings.ContainsRune(keep, r) {
			return -1
		}
		return r
	}, s)
}

// plainWriter makes what is written plain. A write must not split a character.
type plainWriter struct{ to io.Writer }

func (w plainWriter) Write(p []byte) (int, error) {
	if _, err := io.WriteString(w.to, plain(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}
