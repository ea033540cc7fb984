package stream

import (
	"fmt"
	"strings"
)

// keys are the fields of each event as the first strict release of the SDK
// has them: those with * must be there, no others may. finish is apart.
var keys = map[string]string{
	"start":                 "messageId messageMetadata",
	"start-step":            "",
	"finish-step":           "",
	"text-start":            "id*",
	"text-delta":            "id* delta*",
	"text-end":              "id*",
	"reasoning-start":       "id*",
	"reasoning-delta":       "id* delta*",
	"reasoning-end":         "id*",
	"source-url":            "sourceId* url* title",
	"tool-input-start":      "toolCallId* toolName* providerExecuted",
	"tool-input-available":  "toolCallId* toolName* input* providerExecuted",
	"tool-output-available": "toolCallId* output* providerExecuted",
	"data-":                 "data*",
	"message-metadata":      "messageMetadata*",
	"error":                 "errorText*",
	"finish":                "messageMetadata finishReason threadId",
}

// checkKeys checks an event's fields.
func checkKeys(e Event) error {
	kind := e.Type
	if strings.HasPrefix(kind, "data-") {
		kind = "data-"
	}
	known, ok := keys[kind]
	if !ok {
		return fmt.Errorf("no client knows the event %q", e.Type)
	}
	allowed := map[string]bool{"type": true}
	object := e.Value.(map[string]any)
	for name := range strings.FieldsSeq(known) {
		name, required := strings.CutSuffix(name, "*")
		allowed[name] = true
		value, there := object[name]
		if !there && required {
			return fmt.Errorf("%s without %s", e.Type, name)
		}
		switch name {
		case "input", "output", "data", "messageMetadata", "providerExecuted":
		default:
			if _, isString := value.(string); there && !isString {
				return fmt.Errorf("%s with %s = %v", e.Type, name, value)
			}
		}
	}
	for name := range object {
		if !allowed[name] {
			return fmt.Errorf("%s with the unknown field %s", e.Type, name)
		}
	}
	return nil
}

// ReadV2 reads a whole UI message stream. An error says what a client of
// some release would refuse; Reply is then what was read before it. The fields of
// the finish event that only later releases accept are allowed: see
// Reply.Finish.
func ReadV2(body string) (*Reply, error) {
	r := &Reply{}
	events, err := ParseV2(body)
	if err != nil {
		return r, err
	}
	var (
		inStep, done bool
		part, id     string // the open part's kind and id
		used         = map[string]bool{}
	)
	for i, e := range events {
		if done {
			return r, fmt.Errorf("%s after [DONE]", e.Type)
		}
		if e.Type == "[DONE]" {
			if !r.Finished && r.Error == "" {
				return r, fmt.Errorf("[DONE] without finish or error")
			}
			done = true
			continue
		}
		if r.Finished || r.Error != "" {
			return r, fmt.Errorf("%s after the end", e.Type)
		}
		if err := checkKeys(e); err != nil {
			return r, err
		}
		kind, what, _ := strings.Cut(e.Type, "-")
		valid := true
		switch e.Type {
		case "start":
			valid = i == 0
			r.MessageID = e.String("messageId")
			r.EarlyThreadID = Event{Value: e.Field("messageMetadata")}.String("threadId")
		case "start-step":
			valid = !inStep && part == ""
			inStep = true
			r.Steps++
		case "finish-step":
			valid = inStep && part == ""
			inStep = false
		case "text-start", "text-delta", "text-end", "reasoning-start", "reasoning-delta", "reasoning-end":
			valid = inStep && r.piece(&part, &id, kind, what, e, used)
		case "source-url":
			valid = inStep && titled(e.Value.(map[string]any))
			r.Sources = append(r.Sources, Source{e.String("sourceId"), e.String("url"), e.String("title")})
		case "tool-input-start":
			valid = inStep && part == "" && r.call(e.String("toolCallId"), e.String("toolName"), nil) && e.Field("providerExecuted") == true
		case "tool-input-available":
			input, isObject := e.Field("input").(map[string]any)
			valid = isObject && part == "" && r.input(e.String("toolCallId"), input) && e.Field("providerExecuted") == true
		case "tool-output-available":
			valid = inStep && part == "" && r.result(e.String("toolCallId"), e.Field("output")) && e.Field("providerExecuted") == true
		case "error":
			r.Error = e.String("errorText")
			valid = r.Error != "" && part == ""
		case "finish":
			valid = !inStep && part == ""
			r.finish(e)
			if reason, there := e.Value.(map[string]any)["finishReason"]; there && !reasons[fmt.Sprint(reason)] {
				valid = false
			}
		default:
			r.Data = append(r.Data, Data{strings.TrimPrefix(e.Type, "data-"), e.Field("data")})
		}
		if !valid {
			return r, fmt.Errorf("a client refuses event %d: %v", i, e.Value)
		}
	}
	return r, nil
}

// piece takes a start, delta or end of a text or reasoning part.
func (r *Reply) piece(part, id *string, kind, what string, e Event, used map[string]bool) bool {
	switch what {
	case "start":
		if *part != "" || used[e.String("id")] {
			return false
		}
		*part, *id = kind, e.String("id")
		used[*id] = true
		return true
	case "delta":
		if kind == "text" {
			r.Text += e.String("delta")
			r.Deltas++
		} else {
			r.Reasoning += e.String("delta")
		}
		return *part == kind && *id == e.String("id") && e.String("delta") != ""
	}
	ok := *part == kind && *id == e.String("id")
	*part = ""
	return ok
}

func (r *Reply) input(id string, input any) bool {
	for i := range r.Tools {
		if t := &r.Tools[i]; t.ID == id && t.Input == nil {
			t.Input = input
			return true
		}
	}
	return false
}

func (r *Reply) finish(e Event) {
	r.Finished = true
	r.Finish, _ = e.Value.(map[string]any)
	r.Metadata, _ = e.Field("messageMetadata").(map[string]any)
	metadata := Event{Value: r.Metadata}
	r.ThreadID = metadata.String("threadId")
	r.FinishReason = metadata.String("finishReason")
	r.Usage, _ = metadata.Field("usage").(map[string]any)
}
