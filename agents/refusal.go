package agents

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// Malformed answers a body that is no message of JSON-RPC, and reports whether
// it did.
func Malformed(w http.ResponseWriter, body []byte) bool {
	if json.Valid(body) {
		return false
	}
	writeRefusal(w, http.StatusBadRequest, nil, jsonrpc.CodeParseError, "the body is not valid JSON")
	return true
}

// MaxBatch is how many messages a request may have. Only the protocol's revision
// 2025-03-26 has batches.
const MaxBatch = 20

// Tools returns for each message of a request the tool that it calls, "" for
// other messages and "other" for unknown tools. Names are compared as the SDK
// does, with their case: what is not counted here must not be called there.
func Tools(body []byte) (tools []string) {
	var batch []json.RawMessage
	if json.Unmarshal(body, &batch) != nil {
		batch = []json.RawMessage{body}
	}
	for _, message := range batch {
		var call, params map[string]json.RawMessage
		var method, name string
		_ = json.Unmarshal(message, &call) // other messages have no tool
		_ = json.Unmarshal(call["method"], &method)
		_ = json.Unmarshal(call["params"], &params)
		_ = json.Unmarshal(params["name"], &name)
		switch {
		case method != "tools/call":
			name = ""
		case name != "search" && name != "fetch":
			name = "other"
		}
		tools = append(tools, name)
	}
	return tools
}

func writeRefusal(w http.ResponseWriter, status int, id json.RawMessage, code int, message string) {
	var text string
	var number int64
	if json.Unmarshal(id, &text) != nil && json.Unmarshal(id, &number) != nil {
		id = json.RawMessage("null") // an id is a string or an integer
	}
	body, _ := json.Marshal(map[string]any{ // what was decoded can be encoded
		"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": message},
	})
	h := w.Header()
	h.Del("Content-Length")
	h.Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // an error means that the client is gone
}

// Refusals returns a writer that turns the texts with which the SDK refuses a
// message into errors of JSON-RPC, which clients can tell apart.
func Refusals(w http.ResponseWriter, message []byte) http.ResponseWriter {
	return &refusals{ResponseWriter: w, message: message}
}

type refusals struct {
	http.ResponseWriter
	message []byte
	status  int // of a text
}

func (w *refusals) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *refusals) WriteHeader(status int) {
	if status >= 400 && strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
		w.status = status
		return
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *refusals) Write(p []byte) (int, error) {
	if w.status == 0 {
		return w.ResponseWriter.Write(p)
	}
	var call struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	_ = json.Unmarshal(w.message, &call) // a batch has neither
	text, code := strings.TrimSpace(string(p)), jsonrpc.CodeInvalidRequest
	if strings.HasSuffix(text, fmt.Sprintf("%q unsupported", call.Method)) {
		if len(call.ID) == 0 { // an unknown notification
			w.ResponseWriter.WriteHeader(http.StatusAccepted)
			return len(p), nil
		}
		// Clients throw the body of another status away.
		w.status, code, text = http.StatusOK, jsonrpc.CodeMethodNotFound, fmt.Sprintf("this server has no method %q", call.Method)
	}
	writeRefusal(w.ResponseWriter, w.status, call.ID, code, text)
	return len(p), nil
}
