// Package answers measures the assistant's answers over this module's manual:
// what adversarial models can make a reader's client load, whether follow-up
// questions find what complete questions find, and what the link check costs.
// The models are scripted, and with -llm an endpoint is asked, too.
package answers

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/caddy-docs/caddy-docs/assistant"
	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/embedded"
	"github.com/caddy-docs/caddy-docs/retrieval/eval"
)

// suite is one run.
type suite struct {
	index         *embedded.Index
	caddy         *server
	pages         served
	conversations []conversation
	replies       int
	seed          uint64
	rnd           *rand.Rand
	table         *tabwriter.Writer
	failed        []string
}

// conversation is a question, a follow-up question, and its complete form.
// Relevant pages joined by "|" are alternatives.
type conversation struct {
	First    string   `json:"first"`
	Follow   string   `json:"follow"`
	Outright string   `json:"outright"`
	Relevant []string `json:"relevant"`
}

//go:embed conversations.jsonl
var conversations string

func readConversations() ([]conversation, error) {
	var out []conversation
	for line := range strings.Lines(conversations) {
		var c conversation
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			return nil, fmt.Errorf("reading conversation %d: %w", len(out)+1, err)
		}
		out = append(out, c)
	}
	return out, nil
}

// Run runs the suite and prints its tables. The error lists the missed targets.
func Run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("answers", flag.ContinueOnError)
	flags.SetOutput(out)
	folder := flags.String("docs", "../docs", "directory of the manual")
	replies := flags.Int("replies", 1000, "number of adversarial replies")
	seed := flags.Uint64("seed", 1, "of the adversarial replies")
	address := flags.String("llm", "", "also ask this endpoint, a URL up to /v1; the model follows it, and the key is in LLM_API_KEY")
	questions := flags.Int("questions", 20, "number of questions for the endpoint")
	worst := flags.Bool("worst", false, "list the answers without full points and the follow-up questions that miss pages")
	draw := flags.Int("draw", 0, "print the answers to this many fresh questions about the manual, as Markdown, drawn with -seed; with -llm, those of the endpoint")
	passages := flags.Int("passage-tokens", 0, "with -draw, tokens of passages that the endpoint gets (default: as the assistant, 6000)")
	tokens := flags.Int("max-tokens", 0, "with -draw, tokens of an answer of the endpoint (default: as the assistant, 1500)")
	sets := flags.Bool("public", false, "measure only the sets of questions about public documentation")
	part := flags.Int("part", 0, "of the sets of -public: 1 to 3 were used to develop the assistant, 4 and 5 are held out, 6 and 7 were asked once (default: all)")
	repositories := flags.String("repositories", "", "directory of the Git repositories of -public, as OWNER/NAME; missing ones are fetched (default: in the user's cache)")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return err
	}
	model := ""
	if *address != "" {
		// -llm URL MODEL [further flags]
		if model = flags.Arg(0); model == "" {
			return errors.New("-llm needs a URL and a model: -llm http://127.0.0.1:11434/v1 qwen3")
		}
		if err := flags.Parse(flags.Args()[1:]); err != nil {
			return err
		}
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unknown argument %q; see -h", flags.Arg(0))
	}

	if *sets {
		if *part < 0 || *part > publicParts {
			return fmt.Errorf("-part is 1 to %d, or 0 for all; got %d", publicParts, *part)
		}
		return runPublic(ctx, out, *repositories, *part, *worst)
	}
	s := &suite{replies: *replies, seed: *seed, rnd: rand.New(rand.NewPCG(*seed, 6))}
	var err error
	if s.conversations, err = readConversations(); err != nil {
		return err
	}
	if s.index, err = openManual(ctx, os.DirFS(*folder)); err != nil {
		return err
	}
	if *draw > 0 {
		a := s.assistant(nil)
		if *address != "" {
			chain, err := endpoint(*address, model)
			if err != nil {
				return err
			}
			defer chain.Close()
			a.Model, a.PassageTokens, a.MaxTokens = chain, *passages, *tokens
			a.MaxDuration, a.Patience = longReply, longReply
		}
		return s.draw(ctx, out, a, *draw)
	}
	if s.caddy, err = startCaddy(ctx, *folder); err != nil {
		return fmt.Errorf("starting Caddy: %w", err)
	}
	defer s.caddy.close()
	if s.pages, err = s.caddy.fetch(ctx, s.index.Documents()); err != nil {
		return err
	}

	s.table = tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintf(s.table, "ANSWERS over %d pages, %d sections\tMEASURED\tTARGET\t\n", len(s.index.Documents()), sections(s.index.Documents()))
	s.anchors()
	if err := s.adversarial(ctx); err != nil {
		return err
	}
	if err := s.throughCaddy(ctx); err != nil {
		return err
	}
	if err := s.checking(ctx); err != nil {
		return err
	}
	s.table.Flush()
	today := s.index
	if s.index, err = openFrozen(ctx); err != nil {
		return err
	}
	if err := s.followUps(ctx, out, *worst); err != nil {
		return err
	}
	s.index = today
	if *address != "" {
		if err := s.live(ctx, out, *address, model, *questions); err != nil {
			return err
		}
	}
	return s.missed()
}

// fresh are questions about this manual that nothing was tuned on, with what an
// answer must have: those without facts have no answer there.
//
//go:embed fresh.jsonl
var fresh string

// draw prints an assistant's answers to some of the fresh questions, and what the
// rules of caddy docs eval say of them.
func (s *suite) draw(ctx context.Context, out io.Writer, a *assistant.Assistant, n int) error {
	all, err := eval.ReadQuestions(strings.NewReader(fresh))
	if err != nil {
		return err
	}
	var questions []eval.Question
	for _, i := range s.rnd.Perm(len(all))[:min(n, len(all))] {
		questions = append(questions, all[i])
	}
	site := eval.Answers{Pages: map[string][]string{supportURL: nil}, Hosts: []string{allowedHost}}
	for _, d := range s.index.Documents() {
		for _, section := range d.Sections {
			site.Pages[d.URL] = append(site.Pages[d.URL], section.Anchor)
		}
	}
	site.Ask = func(ctx context.Context, q eval.Question) (eval.Reply, error) {
		got := &sink{}
		res, err := a.Reply(ctx, asking(q.Question), got)
		if err == nil {
			err = res.Failed
		}
		return eval.Reply{Answer: got.answer(), Answered: res.Answered}, err
	}
	results, err := site.Run(ctx, questions, nil)
	if err != nil {
		return err
	}
	for _, r := range results {
		rule := "passed"
		if len(r.Failures) > 0 {
			rule = strings.Join(r.Failures, "; ")
		}
		fmt.Fprintf(out, "### %s\n\nAnswered: %s. Rule: %s. Eye:\n\n~~~text\n%s\n~~~\n\n", r.Question.Question, r.Reply.Answered, rule,
			strings.ReplaceAll(r.Reply.Answer, siteURL, "http://localhost:8080"))
	}
	return nil
}

// runPublic measures the sets of questions about public documentation.
func runPublic(ctx context.Context, out io.Writer, repositories string, part int, worst bool) error {
	sites, err := openPublic(ctx, repositories, part)
	if err != nil {
		return err
	}
	s := &suite{}
	if err := s.quotes(ctx, out, sites, worst); err != nil {
		return err
	}
	if err := s.prompts(ctx, out, sites); err != nil {
		return err
	}
	if err := s.publicFollowUps(ctx, out, sites, worst); err != nil {
		return err
	}
	if err := s.quotesOfFollowUps(ctx, out, sites, worst); err != nil {
		return err
	}
	return s.missed()
}

func (s *suite) missed() error {
	if len(s.failed) > 0 {
		return fmt.Errorf("%d targets missed: %s", len(s.failed), strings.Join(s.failed, "; "))
	}
	return nil
}

// row prints a figure and whether it met its target, if it has one. A miss
// fails the run.
func (s *suite) row(what, measured, target string, met bool) {
	if !met && target != "" {
		s.failed = append(s.failed, what+": "+measured)
	}
	s.time(what, measured, target, met)
}

// time prints a figure that is the machine's as much as the code's: a miss
// fails nothing.
func (s *suite) time(what, measured, target string, met bool) {
	result := "met"
	switch {
	case target == "":
		result = ""
	case !met:
		result = "missed"
	}
	fmt.Fprintf(s.table, "%s\t%s\t%s\t%s\n", what, measured, target, result)
}

func sections(documents []*retrieval.Document) (n int) {
	for _, d := range documents {
		n += len(d.Sections)
	}
	return n
}

// anchors checks the index's URLs against the HTML that Caddy serves.
func (s *suite) anchors() {
	all, there := 0, 0
	var missing []string
	for _, d := range s.index.Documents() {
		path := strings.TrimPrefix(d.URL, siteURL)
		for i := range d.Sections {
			all++
			if s.pages.has(path, d.Sections[i].Anchor) {
				there++
			} else {
				missing = append(missing, path+"#"+d.Sections[i].Anchor)
			}
		}
	}
	s.row("the index's URLs that resolve in the served HTML", fmt.Sprintf("%d of %d", there, all), "all", there == all)
	for _, m := range missing[:min(5, len(missing))] {
		fmt.Fprintf(s.table, "  missing: %s\t\t\t\n", m)
	}
}
