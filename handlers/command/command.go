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
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/caddyserver/caddy/v2"
	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	"github.com/spf13/cobra"

	"github.com/caddy-docs/caddy-docs/handlers/app"
)

// Register adds `caddy docs` to Caddy's commands.
func Register() {
	caddycmd.RegisterCommand(caddycmd.Command{
		Name:  "docs",
		Usage: "<command>",
		Short: "Manages the documentation sites of caddy-docs",
		Long: `Manages documentation sites: their keys, their indexes, and what they answer.

A command asks the running server through its admin API. Its address is that of
--address, else of the configuration given by --config, else of the environment
variable CADDY_ADMIN, else localhost:2019. If no server answers, the command
works with that configuration itself. The exit status is 0 on success.`,
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
	cmd.AddCommand(initCommand(t), statusCommand(t), doctorCommand(t), indexCommand(t), pagesCommand(t), searchCommand(t), askCommand(t), evalCommand(t), keyCommand(t), loginCommand(t), insightsCommand(t), reportCommand(t), versionCommand(t))
	t.finish(cmd)
}

// finish gives a command and those below it what all have in common. What they
// print is plain, except JSON, which escapes. Wrong arguments and unknown
// commands are answered with the usage.
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
			return plainError{fmt.Errorf("%w\n\n%s", err, strings.TrimSpace(cmd.UsageString()))}
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, given []string) error {
		if !t.json {
			cmd.SetOut(plainWriter{cmd.OutOrStdout()})
			cmd.SetErr(plainWriter{cmd.ErrOrStderr()})
		}
		if err := run(cmd, given); err != nil {
			return plainError{err}
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
			missing = fmt.Sprintf("%q is one argument too many (put text with spaces in quotes)", args[most])
		}
		return fmt.Errorf("%s; write: %s", missing, cmd.UseLine())
	}
}

// noCommand refuses a command that does not exist.
func noCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("there is no command %q", cmd.CommandPath()+" "+args[0])
}

// target is the server or configuration that a command works on.
type target struct {
	address, config, adapter string
	json                     bool

	// asked is the address of the admin API that was asked last.
	asked string
	// loaded is the configuration as JSON, once it was read.
	loaded []byte
}

// errNotRunning is the error of call when no server answers.
var errNotRunning = errors.New("no running Caddy answers")

// call asks the admin API and decodes the answer into out, if not nil.
func (t *target) call(ctx context.Context, method, uri string, in []byte, out any) error {
	resp, err := t.open(ctx, method, uri, in)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if out == nil {
		return nil
	}
	if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
		return fmt.Errorf("reading the answer of %s: %w", uri, err)
	}
	return nil
}

// ask asks the running server for a value, or, if none answers, gets it here
// from the app that open (offline or searchable) makes of the configuration.
func ask[T any](ctx context.Context, t *target, method, uri string, in []byte, open func() (*app.App, func(), error), here func(*app.App) (T, error)) (v T, err error) {
	err = t.call(ctx, method, uri, in, &v)
	if !errors.Is(err, errNotRunning) {
		return v, err
	}
	a, done, err := open()
	if err != nil {
		return v, err
	}
	defer done()
	return here(a)
}

// open asks the admin API; the caller reads and closes the body.
func (t *target) open(_ context.Context, method, uri string, in []byte) (*http.Response, error) {
	address, err := t.adminAddress()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cmp.Or(t.config, "finding the admin API's address"), err)
	}
	t.asked = address
	var body io.Reader
	header := http.Header{}
	if in != nil {
		body = bytes.NewReader(in)
		header.Set("Content-Type", "application/json")
	}
	resp, err := caddycmd.AdminAPIRequest(address, method, uri, header, body)
	if err != nil {
		// AdminAPIRequest does not wrap its cause: only the text distinguishes
		// a server that is not there from one that refuses.
		if strings.HasPrefix(err.Error(), "performing request") {
			return nil, fmt.Errorf("%w at %s", errNotRunning, address)
		}
		return nil, errors.New(adminMessage(err.Error()))
	}
	return resp, nil
}

// adminMessage returns the message of an error of AdminAPIRequest, whose text
// has the response's JSON.
func adminMessage(text string) string {
	if i := strings.IndexByte(text, '{'); i >= 0 {
		var body struct {
			Error string `json:"error"`
		}
		if json.Unmarshal([]byte(text[i:]), &body) == nil && body.Error != "" {
			return body.Error
		}
	}
	return text
}

// offline provisions the configuration without serving it; done cleans up.
func (t *target) offline() (a *app.App, done func(), err error) {
	if t.configFile() == "" {
		return nil, nil, fmt.Errorf("%w at %s; start it, name its admin API with --address, or name the configuration to work with by --config", errNotRunning, t.asked)
	}
	data, err := t.load()
	if err != nil {
		return nil, nil, err
	}
	var cfg caddy.Config
	if err := caddy.StrictUnmarshalJSON(data, &cfg); err != nil {
		return nil, nil, fmt.Errorf("decoding %s: %w", t.config, err)
	}
	cfg.Logging = quiet()
	ctx, err := caddy.ProvisionContext(&cfg)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", t.config, err)
	}
	loaded, err := ctx.AppIfConfigured("docs")
	if err != nil {
		return nil, nil, fmt.Errorf("%s has no documentation sites: write the directive docs or the global option docs", t.config)
	}
	a = loaded.(*app.App)
	a.Silence()
	done = func() { _ = a.Stop(); _ = a.Cleanup() }
	if err := a.FindSites(); err != nil {
		done()
		return nil, nil, fmt.Errorf("%s: %w", t.config, err)
	}
	return a, done, nil
}

// started is offline with the sites' indexes opened.
func (t *target) started() (*app.App, func(), error) {
	a, done, err := t.offline()
	if err != nil {
		return nil, nil, err
	}
	if err := a.Start(); err != nil {
		done()
		return nil, nil, err
	}
	return a, done, nil
}

// searchable is started with the index of a site compared with its pages, or
// built of them.
func (t *target) searchable(ctx context.Context, site string) func() (*app.App, func(), error) {
	return func() (*app.App, func(), error) {
		a, done, err := t.started()
		if err != nil {
			return nil, nil, err
		}
		if _, err := a.Refresh(ctx, site); err != nil {
			done()
			return nil, nil, err
		}
		return a, done, nil
	}
}

// quiet is a logging configuration for commands: warnings, on standard error.
func quiet() *caddy.Logging {
	return &caddy.Logging{Logs: map[string]*caddy.CustomLog{
		"default": {BaseLog: caddy.BaseLog{Level: "WARN"}},
	}}
}

// adminAddress returns the address of the admin API.
func (t *target) adminAddress() (string, error) {
	if t.address != "" {
		return t.address, nil
	}
	config, err := t.load()
	if err != nil {
		return "", err
	}
	return caddycmd.DetermineAdminAPIAddress("", config, t.configFile(), t.adapterName())
}

// load returns the configuration as JSON, nil if none was named. Caddy logs
// that it reads a file, so it is read once.
func (t *target) load() ([]byte, error) {
	if t.loaded != nil || t.config == "" {
		return t.loaded, nil
	}
	data, _, _, err := caddycmd.LoadConfig(t.configFile(), t.adapterName())
	t.loaded = data
	return data, err
}

func (t *target) configFile() string {
	if t.config == "" {
		return ""
	}
	abs, err := filepath.Abs(t.config)
	if err != nil {
		return t.config
	}
	return abs
}

func (t *target) adapterName() string {
	if t.adapter == "" && t.config != "" && filepath.Ext(t.config) != ".json" {
		return "caddyfile"
	}
	return t.adapter
}

// printJSON writes v as JSON.
func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// table aligns columns that tabs separate.
func table(out io.Writer) *tabwriter.Writer { return tabwriter.NewWriter(out, 0, 4, 2, ' ', 0) }

// terminal reports whether a file is one.
func terminal(f *os.File) bool {
	st, err := f.Stat()
	return err == nil && st.Mode()&os.ModeCharDevice != 0
}

// path returns the escaped path of an admin endpoint.
func path(parts ...string) string {
	var p strings.Builder
	p.WriteString("/docs")
	for _, s := range parts {
		p.WriteString("/" + url.PathEscape(s))
	}
	return p.String()
}
