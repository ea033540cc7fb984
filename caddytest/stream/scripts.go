package stream

import "github.com/caddy-docs/caddy-docs/assistant/reply"

// Script is a reply as the events that make it; the nil event is a flush.
type Script struct {
	Name   string
	Events []*reply.Event
}

func start() *reply.Event {
	return &reply.Event{Kind: reply.Start, MessageID: "msg_1", ThreadID: "thread_1"}
}

func text(s string) *reply.Event {
	return &reply.Event{Kind: reply.Text, Text: []byte(s)}
}

func finish(reason string) *reply.Event {
	return &reply.Event{Kind: reply.Finish, Reason: reason, Usage: usage()}
}

func usage() reply.Usage { return reply.Usage{InputTokens: 12, OutputTokens: 34, Known: true} }

func step() *reply.Event { return &reply.Event{Kind: reply.StepStart} }

func stepEnd(reason string) *reply.Event {
	return &reply.Event{Kind: reply.StepFinish, Reason: reason, Usage: usage()}
}

func source(id, url, title string) *reply.Event {
	return &reply.Event{Kind: reply.Source, SourceID: id, URL: url, Title: title}
}

// Scripts are the replies whose bytes the golden files of both encoders hold.
func Scripts() []Script {
	return []Script{
		{"text", []*reply.Event{
			start(), step(), nil, text("Run "), text("`caddy"), nil, text(" run`."), stepEnd("stop"), finish("stop"),
		}},
		{"unicode", []*reply.Event{
			start(), step(),
			text("Grüße 漢字 \"quoted\" \\ back\nline"), text("😀"), text(" and "), nil,
			text("🚀"), nil, nil, text("tab\t, bell\a, separator\u2028, not UTF-8 \xff"), nil, text("."),
			finish("stop"),
		}},
		{"reasoning", []*reply.Event{
			start(), step(),
			{Kind: reply.Reasoning, Text: []byte("Need ")},
			{Kind: reply.Reasoning, Text: []byte("docs")},
			nil,
			text("Yes."), finish("stop"),
		}},
		{"sources", []*reply.Event{
			start(), step(), source("s1", "https://docs.example.com/install#linux", "Install"), source("s2", "https://docs.example.com/faq", ""), nil,
			text("See [Install](https://docs.example.com/install#linux)."),
			{Kind: reply.Data, Name: "suggestions", JSON: []byte("[\"And on\\nWindows?\"]")},
			finish("stop"),
		}},
		{"tool", []*reply.Event{
			start(), step(),
			{Kind: reply.ToolCall, ToolCallID: "call_1", ToolName: "search", JSON: []byte("{\n \"query\": \"install\"\n}")},
			nil,
			{Kind: reply.ToolResult, ToolCallID: "call_1", JSON: []byte(`{"results": [{"path":"install","title":"Install"}]}`)},
			stepEnd("tool-calls"), step(), nil, text("Use the quickstart."), stepEnd("stop"), finish("stop"),
		}},
		{"error-first", []*reply.Event{start(), nil, {Kind: reply.Error, Message: "The model is down. Please ask again."}}},
		{"error-mid", []*reply.Event{
			start(), step(), text("partial"), nil, {Kind: reply.Error, Message: `It "broke" off.`}, text("never"), finish("stop"),
		}},
		{"error-code", []*reply.Event{
			start(), step(), text("partial"), nil, {Kind: reply.Error, Code: "broke_off", RequestID: "0f3c1f0e", Message: "It broke off."},
		}},
		{"error-wordless", []*reply.Event{{Kind: reply.Error}}},
		{"length", []*reply.Event{start(), step(), text("cut"), finish("length")}},
		{"empty", []*reply.Event{start(), step(), finish("")}},
		{"no-thread", []*reply.Event{
			{Kind: reply.Start, MessageID: "msg_1"}, step(), text("hi"), {Kind: reply.Finish, Reason: "banana"},
		}},
		{"full", []*reply.Event{
			start(), step(), nil,
			{Kind: reply.Reasoning, Text: []byte("hm")},
			{Kind: reply.ToolCall, ToolCallID: "c1", ToolName: "search", JSON: []byte(`{"query":"a"}`)},
			{Kind: reply.ToolResult, ToolCallID: "c1", JSON: []byte(`[]`)},
			nil,
			stepEnd("tool-calls"), step(),
			source("s1", "https://docs.example.com/a", "A"),
			text("One"), nil, text(" two."), nil,
			stepEnd("stop"),
			{Kind: reply.Finish, Reason: "stop", Usage: usage(), Outcome: &reply.Outcome{
				Answered: "partly", Model: "gpt-5-mini", Cited: []string{"s1"}, Unverified: []string{"--foo"}, Notice: "Search was <down>.",
			}},
		}},
	}
}

// Play sends a script and the last flush.
func (s *Script) Play(sink reply.Sink) error {
	for _, e := range s.Events {
		var err error
		if e == nil {
			err = sink.Flush()
		} else {
			err = sink.Send(e)
		}
		if err != nil {
			return err
		}
	}
	return sink.Flush()
}

// Random makes a script of any bytes: events in any order, with any flushes.
func Random(data []byte) Script {
	pieces := []string{"a", "word ", "\n", "\x00", "\"", "é", `\`, `\u0041`, "漢", "😀", "", "]:"}
	ids := []string{"c1", "c2", ""}
	values := []string{`{"a":1}`, `[1, 2]`, "null", "", "{", "{\n}", `"x"`}
	s := Script{Name: "random"}
	for i := 0; i+1 < len(data); i += 2 {
		n := int(data[i+1])
		var e *reply.Event
		switch data[i] % 16 {
		case 0:
			e = start()
		case 1:
			e = step()
		case 2:
			e = stepEnd([]string{"stop", "", "banana"}[n%3])
		case 3:
			e = &reply.Event{Kind: reply.ToolCall, ToolCallID: ids[n%3], ToolName: "search", JSON: []byte(values[n%len(values)])}
		case 4:
			e = &reply.Event{Kind: reply.ToolResult, ToolCallID: ids[n%3], JSON: []byte(values[n%len(values)])}
		case 5:
			e = source("s"+ids[n%3], "https://example.com/\n\x00\xff", ids[n%3])
		case 6, 7:
			e = &reply.Event{Kind: reply.Reasoning, Text: []byte(pieces[n%len(pieces)])}
		case 8:
			e = &reply.Event{Kind: reply.Data, Name: "d" + ids[n%3], JSON: []byte(values[n%len(values)])}
		case 9:
			if n < 32 {
				e = &reply.Event{Kind: reply.Error, Message: "broken\n\n"}
			}
		case 10:
			if n < 32 {
				e = finish("stop")
			}
		case 11:
			e = &reply.Event{Kind: reply.Kind(n)}
			if e.Kind <= reply.Finish {
				e = nil
			}
		default:
			e = text(pieces[n%len(pieces)])
		}
		s.Events = append(s.Events, e)
	}
	return s
}

// Want are the answer and the reasoning that a client must have read when the
// script has been played; a conversion to runes replaces what is not UTF-8.
func (s *Script) Want() (answer, reasoning string) {
	for _, e := range s.Events {
		switch {
		case e == nil:
		case e.Kind == reply.Text:
			answer += string([]rune(string(e.Text)))
		case e.Kind == reply.Reasoning:
			reasoning += string([]rune(string(e.Text)))
		case e.Kind == reply.Error || e.Kind == reply.Finish:
			return answer, reasoning
		}
	}
	return answer, reasoning
}
