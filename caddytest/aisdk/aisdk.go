// Package aisdk drives the published chat SDK clients of majors 4 to 7, the
// last release of each that refuses unknown fields included, against a server
// under test: what an app of a reader's site would see. It needs Node and npm;
// the exact releases are in package-lock.json.
package aisdk

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strconv"
	"strings"

	"github.com/caddy-docs/caddy-docs/caddytest/npm"
)

// Client is a release of the SDK's client.
type Client struct {
	Major int `json:"major"`
	// Variant is "" for the newest release of the major, "strict" for the
	// last one that refuses unknown fields, "first" for the transport of
	// 5.0.0.
	Variant string `json:"variant"`
}

func (c Client) String() string {
	name := "ai " + strconv.Itoa(c.Major)
	if c.Variant != "" {
		name += " " + c.Variant
	}
	return name
}

// Clients are all clients there are.
func Clients() []Client {
	return []Client{{4, ""}, {5, ""}, {5, "strict"}, {5, "first"}, {6, ""}, {6, "strict"}, {7, ""}, {7, "strict"}}
}

// Scenario is one chat of one client.
type Scenario struct {
	// Name is given back in the Result.
	Name string `json:"name"`
	Client
	// URL is the address of the message endpoint, of v1 for major 4.
	URL string `json:"url"`
	// Key is sent as a bearer key, unless empty.
	Key     string            `json:"key,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	// Body are the fields the app sends with every request; fp is one.
	Body  map[string]any `json:"body,omitempty"`
	Steps []Step         `json:"steps"`
	// NoThread keeps the app from sending the threadId it has learned.
	NoThread bool `json:"noThread,omitempty"`
	// MaxSteps above 1 lets the client ask again on its own after a tool call
	// whose result it has.
	MaxSteps int `json:"maxSteps,omitempty"`
	// Audit has every reply read by all generations of the SDK that speak its
	// protocol.
	Audit bool `json:"audit,omitempty"`
	// Timeout is in milliseconds; 0: 120,000.
	Timeout int `json:"timeout,omitempty"`
}

// Step is something the reader does.
type Step struct {
	// Do is send (the default), regenerate or resume.
	Do     string `json:"do,omitempty"`
	Prompt string `json:"prompt,omitempty"`
	File   *File  `json:"file,omitempty"`
	// Stop has the reader press stop once there is some text.
	Stop bool `json:"stop,omitempty"`
}

// File is a file that the reader attaches.
type File struct {
	Name      string `json:"name"`
	MediaType string `json:"mediaType"`
	Text      string `json:"text"`
}

// Result is what the app saw.
type Result struct {
	Name  string    `json:"name"`
	Steps []Outcome `json:"steps"`
	// Refused holds, of an audit, the error of each generation that refused
	// a reply: ai5first, ai5strict, ai5, ai6strict …, uiutils4.
	Refused map[string]string `json:"refused"`
	// Problem is set if the scenario could not be run to its end.
	Problem string `json:"problem"`
}

// Outcome is what the app saw after a step.
type Outcome struct {
	Do string `json:"do"`
	// Requests is the number of requests the step made; what follows is of
	// the first.
	Requests   int               `json:"requests"`
	Method     string            `json:"method"`
	HTTPStatus int               `json:"httpStatus"`
	Headers    map[string]string `json:"headers"`
	Request    map[string]any    `json:"request"`
	// Raw is the body of the response.
	Raw string `json:"raw"`

	// Status is the hook's: ready or error; Error is the message that the
	// app shows.
	Status string `json:"status"`
	Error  string `json:"error"`
	// Messages is the number of messages in the chat; what follows is of the
	// last, if the assistant wrote it.
	Messages  int      `json:"messages"`
	MessageID string   `json:"messageId"`
	Text      string   `json:"text"`
	Reasoning string   `json:"reasoning"`
	Parts     []string `json:"parts"`
	// Streaming are the types of the parts shown as still being written.
	Streaming []string `json:"streaming"`
	Sources   []struct {
		URL   string `json:"url"`
		Title string `json:"title"`
	} `json:"sources"`
	Tools []struct {
		Name   string `json:"name"`
		State  string `json:"state"`
		Input  any    `json:"input"`
		Output any    `json:"output"`
	} `json:"tools"`
	// ToolCalls are the tools that the app was asked to run itself.
	ToolCalls []string `json:"toolCalls"`
	// Metadata is the message's metadata, of major 4 the finish annotation.
	Metadata map[string]any `json:"metadata"`
	// Data are the data parts, of major 4 the hook's data of this step.
	Data []any `json:"data"`

	// ThreadID is the thread as the app can know it without reading the
	// stream itself, ThreadPlaces where it is. ThreadIDs has more than
	// one entry if those places contradict each other.
	ThreadID     string   `json:"threadId"`
	ThreadIDs    []string `json:"threadIds"`
	ThreadPlaces []string `json:"threadPlaces"`

	// Finished is true if onFinish was called.
	Finished     bool   `json:"finished"`
	FinishReason string `json:"finishReason"`
	// Usage is what major 4 passes to onFinish; -1 means NaN.
	Usage   map[string]float64 `json:"usage"`
	IsAbort bool               `json:"isAbort"`
	IsError bool               `json:"isError"`
}

func dir() string { return npm.Folder("caddytest/aisdk") }

// Install installs the clients next to this package.
func Install(ctx context.Context) error { return npm.Install(ctx, dir()) }

// Run installs the clients, runs the scenarios, some at the same time in one
// Node process, and returns their results in order.
func Run(ctx context.Context, scenarios []Scenario) ([]Result, error) {
	if err := Install(ctx); err != nil {
		return nil, err
	}
	input, err := json.Marshal(map[string]any{"scenarios": scenarios})
	if err != nil {
		return nil, fmt.Errorf("writing the scenarios: %w", err)
	}
	cmd := exec.CommandContext(ctx, "node", "client.mjs")
	cmd.Dir = dir()
	cmd.Stdin = bytes.NewReader(input)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("running the chat SDK clients: %w: %s", err, npm.Last(stderr.Bytes()))
	}
	var output struct {
		Results   []Result
		Unhandled []string
	}
	if err := json.Unmarshal(stdout.Bytes(), &output); err != nil {
		return nil, fmt.Errorf("reading what the chat SDK clients say: %w: %s", err, npm.Last(stdout.Bytes()))
	}
	if len(output.Results) != len(scenarios) {
		return nil, fmt.Errorf("%d results of %d scenarios", len(output.Results), len(scenarios))
	}
	if len(output.Unhandled) > 0 {
		return output.Results, fmt.Errorf("a chat SDK client failed without telling its app: %s", strings.Join(output.Unhandled, "; "))
	}
	return output.Results, nil
}

// Complete reports whether the last message was read to its end, as the manual
// shows it: its stream may have been cut.
func Complete(c Client, o *Outcome) bool {
	if c.Major == 4 {
		return o.Metadata["type"] == "finish"
	}
	return o.Metadata["finishReason"] != nil
}
