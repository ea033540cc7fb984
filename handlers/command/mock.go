package command

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/caddy-docs/caddy-docs/assistant/reply"
	"github.com/caddy-docs/caddy-docs/contract"
	"github.com/caddy-docs/caddy-docs/encoding"
	"github.com/caddy-docs/caddy-docs/encoding/datastream"
	"github.com/caddy-docs/caddy-docs/encoding/uimessage"
)

func mockCommand(*target) *cobra.Command {
	var listen string
	cmd := &cobra.Command{
		Use: "mock [--listen ADDRESS]", Short: "Serves the API with recorded replies, to test front ends", Args: takes(0, 0),
		Long: `Serves the API with recorded replies, to test front ends: for any site, without
pages, a key or a model, and for pages of every origin. The question selects the
reply: tool, follow-up, slow, error, error midway, cut, or the status
of an error, such as 401 or 503. Any other question gets an answer.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := net.Listen("tcp", listen)
			if err != nil {
				return err
			}
			mock, err := newMock()
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "The API with recorded replies is at http://%s; end it with Ctrl-C.\n", l.Addr())
			return (&http.Server{Handler: mock, ReadHeaderTimeout: 10 * time.Second}).Serve(l)
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:8080", "The address to listen on")
	return cmd
}

// mockResponse is a response in the OpenAPI document.
type mockResponse struct {
	Ref     string `json:"$ref"`
	Content map[string]struct {
		Example json.RawMessage `json:"example"`
	} `json:"content"`
}

// newMock returns the API that answers with the examples of its OpenAPI document,
// and with streams that mockEvents has.
func newMock() (http.Handler, error) {
	var document struct {
		Paths      map[string]map[string]json.RawMessage
		Components struct{ Responses map[string]mockResponse }
	}
	if err := json.Unmarshal(contract.OpenAPI("http://localhost:8080", "acme"), &document); err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	for path, methods := range document.Paths {
		for method, raw := range methods {
			var operation struct{ Responses map[string]mockResponse }
			if json.Unmarshal(raw, &operation) != nil || strings.HasSuffix(path, ".js") { // parameters; no pattern of net/http
				continue
			}
			for status, response := range operation.Responses {
				if name, shared := strings.CutPrefix(response.Ref, "#/components/responses/"); shared {
					operation.Responses[status] = document.Components.Responses[name]
				}
			}
			mux.HandleFunc(strings.ToUpper(method)+" "+path, func(w http.ResponseWriter, r *http.Request) {
				mockOperation(w, r, path, operation.Responses)
			})
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Access-Control-Allow-Origin", cmp.Or(r.Header.Get("Origin"), "*"))
		h.Set("Access-Control-Allow-Headers", cmp.Or(r.Header.Get("Access-Control-Request-Headers"), "*"))
		h.Set("Access-Control-Expose-Headers", "X-Thread-Id, X-Thread-Key, X-Total-Count, Retry-After, X-Docs-Release")
		if r.Method == http.MethodOptions {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		mux.ServeHTTP(w, r)
	}), nil
}

// mockOperation answers one operation. What is asked may be the status to answer
// with.
func mockOperation(w http.ResponseWriter, r *http.Request, path string, responses map[string]mockResponse) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 20<<20))
	var asked struct{ Query, Path string }
	_ = json.Unmarshal(body, &asked) // of other shapes nothing is asked
	question, version := cmp.Or(asked.Query, asked.Path), encoding.V1
	var request *reply.Request
	message := r.Method == http.MethodPost && strings.HasSuffix(path, "/message")
	if message {
		if strings.HasPrefix(path, "/v2/") {
			version = encoding.V2
		}
		if request, err = encoding.DecodeRequest(body, version); err == nil {
			question = request.Messages[len(request.Messages)-1].Text
		}
	}
	question = strings.ToLower(strings.TrimSpace(question))
	status := question
	if _, ok := responses[status]; !ok || err != nil {
		status = "200"
		if err != nil {
			status = "400"
		} else if _, ok := responses["200"]; !ok {
			status = "204"
		}
	}
	if status == "200" && message {
		mockReply(w, version, !request.Transport, question)
		return
	}
	code, _ := strconv.Atoi(status)
	example := responses[status].Content["application/json"].Example
	if example != nil {
		w.Header().Set("Content-Type", "application/json")
	}
	if code == http.StatusTooManyRequests || code == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "5")
	}
	w.WriteHeader(code)
	_, _ = w.Write(example) // an error means that the client is gone
}

// mockReply streams a reply of the kind that the question names. In version 2 it
// ends with a literal finish event for clients other than the AI SDK.
func mockReply(w http.ResponseWriter, version int, literal bool, question string) {
	w.Header().Set("X-Thread-Id", "thread_mock")
	w.Header().Set("X-Thread-Key", "anonymous")
	flush := http.NewResponseController(w).Flush
	var out interface {
		reply.Sink
		Flush() error
	}
	if version == encoding.V2 {
		uimessage.SetHeader(w.Header())
		out = uimessage.NewEncoder(w, flush, literal)
	} else {
		datastream.SetHeader(w.Header())
		out = datastream.NewEncoder(w, flush)
	}
	for _, event := range mockEvents(question) {
		if out.Send(event) != nil || out.Flush() != nil {
			return
		}
		if question == "slow" {
			time.Sleep(time.Second)
		}
	}
}

// mockEvents are the events of a reply.
func mockEvents(question string) []*reply.Event {
	text := func(pieces ...string) (events []*reply.Event) {
		for _, p := range pieces {
			events = append(events, &reply.Event{Kind: reply.Text, Text: []byte(p)})
		}
		return events
	}
	usage := reply.Usage{InputTokens: 900, OutputTokens: 40, Known: true}
	start := []*reply.Event{{Kind: reply.Start, MessageID: "msg_mock", ThreadID: "thread_mock"}}
	if question == "error" {
		return append(start, &reply.Event{Kind: reply.Error, Message: "Neither the assistant nor the search is available at the moment. Please ask again in a minute.", Code: "unavailable", RequestID: "mock"})
	}
	events := append(start, &reply.Event{Kind: reply.StepStart})
	if question == "tool" {
		events = append(
			events,
			&reply.Event{Kind: reply.ToolCall, ToolCallID: "call_mock", ToolName: "search", JSON: []byte(`{"query":"install"}`)},
			&reply.Event{Kind: reply.ToolResult, ToolCallID: "call_mock", ToolName: "search", JSON: []byte(`[{"path":"install#linux","title":"Install","url":"https://docs.acme.com/install#linux","score":0.6,"metadata":{"title":"Install"}}]`)},
			&reply.Event{Kind: reply.StepFinish, Reason: "tool-calls", Usage: usage}, &reply.Event{Kind: reply.StepStart},
		)
	}
	events = append(events, &reply.Event{Kind: reply.Source, SourceID: "s1", URL: "https://docs.acme.com/install#linux", Title: "Install"})
	events = append(events, text("Run ", "`apt install", " acme`, as [Install]", "(https://docs.acme.com/install#linux) says.\n\n")...)
	switch question {
	case "error midway":
		return append(events, &reply.Event{Kind: reply.Error, Message: "The answer broke off. Asking again may help.", Code: "broke_off", RequestID: "mock"})
	case "cut": // as a proxy cuts it
		return events
	case "follow-up":
		events = append(events, &reply.Event{Kind: reply.Data, Name: "suggestions", JSON: []byte(`{"questions":["And on a Mac?","How do I upgrade?"]}`)})
	}
	return append(
		events,
		&reply.Event{Kind: reply.StepFinish, Reason: "stop", Usage: usage},
		&reply.Event{Kind: reply.Finish, Reason: "stop", Usage: usage, Outcome: &reply.Outcome{Answered: "yes", Model: "mock", Cited: []string{"s1"}}},
	)
}
