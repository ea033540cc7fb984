// Package stream reads the streams of both generations of assistant messages
// in tests, as strictly as the strictest release of the chat SDK: what any
// of them would refuse is an error.
package stream

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Event is one line of a data stream or one event of a UI message stream.
type Event struct {
	// Type is the code of a v1 line ("0", "d") or the type of a v2 event;
	// "[DONE]" for the end of a v2 stream.
	Type string
	// Value is the JSON.
	Value any
}

// Field returns a field of an event whose value is an object.
func (e Event) Field(name string) any {
	object, _ := e.Value.(map[string]any)
	return object[name]
}

// String returns a field that is a string, "" if it is none.
func (e Event) String(name string) string {
	s, _ := e.Field(name).(string)
	return s
}

// ParseV1 splits a data stream into its lines. Empty lines are keep-alives.
func ParseV1(body string) ([]Event, error) {
	if !utf8.ValidString(body) {
		return nil, errors.New("the stream is not UTF-8")
	}
	var events []Event
	for n := 1; body != ""; n++ {
		line, rest, whole := strings.Cut(body, "\n")
		if !whole {
			return events, fmt.Errorf("line %d has no end: %q", n, line)
		}
		body = rest
		if line == "" {
			continue
		}
		code, text, ok := strings.Cut(line, ":")
		if !ok || len(code) != 1 {
			return events, fmt.Errorf("line %d has no code: %q", n, line)
		}
		e := Event{Type: code}
		if err := json.Unmarshal([]byte(text), &e.Value); err != nil {
			return events, fmt.Errorf("line %d: %w: %q", n, err, line)
		}
		events = append(events, e)
	}
	return events, nil
}

// ParseV2 splits a UI message stream into its events. Comments are
// keep-alives.
func ParseV2(body string) ([]Event, error) {
	if !utf8.ValidString(body) {
		return nil, errors.New("the stream is not UTF-8")
	}
	var events []Event
	for n := 1; body != ""; n++ {
		frame, rest, whole := strings.Cut(body, "\n\n")
		if !whole {
			return events, fmt.Errorf("event %d has no end: %q", n, frame)
		}
		body = rest
		if strings.HasPrefix(frame, ":") && !strings.Contains(frame, "\n") {
			continue
		}
		text, ok := strings.CutPrefix(frame, "data: ")
		if !ok || strings.ContainsAny(text, "\r\n") {
			return events, fmt.Errorf("event %d is not one data line: %q", n, frame)
		}
		if text == "[DONE]" {
			events = append(events, Event{Type: "[DONE]"})
			continue
		}
		var e Event
		if err := json.Unmarshal([]byte(text), &e.Value); err != nil {
			return events, fmt.Errorf("event %d: %w: %q", n, err, frame)
		}
		if e.Type = e.String("type"); e.Type == "" {
			return events, fmt.Errorf("event %d has no type: %q", n, frame)
		}
		events = append(events, e)
	}
	return events, nil
}
