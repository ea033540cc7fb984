package stream

import "fmt"

// Reply is what an app knows of a reply once the stream has ended.
type Reply struct {
	MessageID string
	// EarlyThreadID came before the text, ThreadID with the finish event.
	EarlyThreadID, ThreadID string
	Text, Reasoning         string
	Sources                 []Source
	Tools                   []Tool
	Data                    []Data
	// Steps is the number of steps.
	Steps int
	// Error is the error that ended the reply.
	Error string
	// Finished is true if a finish event came: a clean end.
	Finished     bool
	FinishReason string
	// Usage is the count of tokens; nil if the stream has none.
	Usage map[string]any
	// Metadata is what the finish event's metadata (v2) or the last
	// annotation (v1) holds.
	Metadata map[string]any
	// Finish is the finish event itself.
	Finish map[string]any
	// Deltas is the number of pieces the text came in.
	Deltas int
}

// Source is a source part.
type Source struct{ ID, URL, Title string }

// Tool is a tool call. Output is nil until a result came.
type Tool struct {
	ID, Name      string
	Input, Output any
	Done          bool
}

// Data is an application's data part.
type Data struct {
	Name  string
	Value any
}

// ReadV1 reads a whole data stream. An error says what a client of some
// release would refuse; Reply is then what was read before it.
func ReadV1(body string) (*Reply, error) {
	r := &Reply{}
	events, err := ParseV1(body)
	inStep := false
	for _, e := range events {
		if r.Error != "" || r.Finished {
			return r, fmt.Errorf("%s after the end", e.Type)
		}
		object, isObject := e.Value.(map[string]any)
		list, isList := e.Value.([]any)
		s, isString := e.Value.(string)
		var valid bool
		switch e.Type {
		case "0":
			valid = isString && s != ""
			r.Text += s
			r.Deltas++
		case "g":
			valid = isString && s != ""
			r.Reasoning += s
		case "2", "8":
			valid = isList
			for _, entry := range list {
				r.entry(e.Type, entry)
			}
		case "3":
			valid = isString && s != ""
			r.Error = s
		case "9":
			args, ok := object["args"].(map[string]any)
			valid = ok && e.String("toolCallId") != "" && r.call(e.String("toolCallId"), e.String("toolName"), args)
		case "a":
			result, ok := object["result"]
			valid = ok && r.result(e.String("toolCallId"), result)
		case "h":
			valid = isObject && e.String("sourceType") == "url" && titled(object)
			r.Sources = append(r.Sources, Source{e.String("id"), e.String("url"), e.String("title")})
		case "f":
			valid = isObject && e.String("messageId") != "" && !inStep
			r.MessageID = e.String("messageId")
			r.Steps++
			inStep = true
		case "e":
			continued, ok := object["isContinued"].(bool)
			valid = ok && !continued && reasons[e.String("finishReason")] && counts(object["usage"]) && (inStep || r.MessageID == "")
			inStep = false
		case "d":
			valid = !inStep && reasons[e.String("finishReason")] && counts(object["usage"]) && e.String("type") == "finish"
			r.Finished, r.Finish = true, object
			r.FinishReason = e.String("finishReason")
			r.Usage, _ = object["usage"].(map[string]any)
			if r.ThreadID != e.String("threadId") {
				return r, fmt.Errorf("thread %q in d, %q before", e.String("threadId"), r.ThreadID)
			}
		}
		if !valid {
			return r, fmt.Errorf("a client refuses %s: %v", e.Type, e.Value)
		}
	}
	return r, err
}

func (r *Reply) entry(code string, entry any) {
	e := Event{Value: entry}
	thread := e.String("threadId")
	switch kind := e.String("type"); {
	case kind == "thread" && code == "8":
		r.EarlyThreadID = thread
	case kind == "finish" && thread != "":
		r.ThreadID = thread
		fallthrough
	case kind == "finish":
		if code == "8" {
			r.Metadata, _ = entry.(map[string]any)
		}
	case code == "2":
		r.Data = append(r.Data, Data{kind, e.Field("data")})
	}
}

func (r *Reply) call(id, name string, input any) bool {
	for _, t := range r.Tools {
		if t.ID == id {
			return false
		}
	}
	r.Tools = append(r.Tools, Tool{ID: id, Name: name, Input: input})
	return true
}

func (r *Reply) result(id string, output any) bool {
	for i := range r.Tools {
		if t := &r.Tools[i]; t.ID == id && !t.Done {
			t.Output, t.Done = output, true
			return true
		}
	}
	return false
}

// reasons are the finish reasons that all releases accept.
var reasons = map[string]bool{
	"stop": true, "length": true, "content-filter": true, "tool-calls": true, "error": true, "other": true,
}

// titled reports whether title is absent or a string with something in it.
func titled(object map[string]any) bool {
	title, ok := object["title"]
	s, _ := title.(string)
	return !ok || s != ""
}

// counts reports whether usage makes sense to a v1 client, which would
// otherwise compute with NaN.
func counts(usage any) bool {
	u, _ := usage.(map[string]any)
	_, in := u["promptTokens"].(float64)
	_, out := u["completionTokens"].(float64)
	return in && out
}
