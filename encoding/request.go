package encoding

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/caddy-docs/caddy-docs/assistant/reply"
	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/short"
)

// Bounds of a request. More text in the question, a longer path and a larger
// page are errors; everything else is cut silently, which bounds the memory of
// a request.
const (
	DefaultPageSize = 5
	MaxPageSize     = 50

	maxText        = 100_000 // characters of one message; older ones are cut
	maxCurrentPath = 200     // characters
	maxThreadID    = 128     // characters

	maxMessages    = 500    // newest ones that are kept
	maxContext     = 100    // entries that are read
	maxValue       = 20_000 // characters of one context entry, the rest is cut
	maxName        = 1_000  // characters of names, paths and element ids
	maxAddress     = 2_048  // characters of a source's URL
	maxSources     = 100    // of one message
	maxAttachments = 20     // of one message
)

// The two generations of messages.
const V1, V2 = 1, 2

// message is a message of either version. What only one of them reads, and what
// applications may fill with anything, is decoded later.
type message struct {
	ID    string `json:"id"`
	Role  string `json:"role"`
	Parts []part `json:"parts"`

	Content jsontext.Value `json:"content"`
	// Of v1. The chat hook's data messages have their value in Data.
	Data        jsontext.Value `json:"data"`
	Annotations jsontext.Value `json:"annotations"`
	Attachments jsontext.Value `json:"experimental_attachments"`
	// Of v2.
	Metadata jsontext.Value `json:"metadata"`
}

// part is a part of a message: text, a file or a source. Reasoning, tool calls
// and data of earlier replies are not used.
type part struct {
	Type      jsontext.Value `json:"type"`
	Text      jsontext.Value `json:"text"`
	URL       jsontext.Value `json:"url"`
	MediaType jsontext.Value `json:"mediaType"`
	Filename  jsontext.Value `json:"filename"`
	Source    jsontext.Value `json:"source"` // of v1
}

// DecodeRequest reads the body of an assistant message. It returns an *Error
// if the body is invalid. Unknown parts and fields are ignored, and so are
// unknown roles in v2, since newer clients send them. Clients of releases 4.0
// and 4.1 send no parts; the text is then the content.
func DecodeRequest(body []byte, version int) (*reply.Request, error) {
	var b struct {
		Fingerprint string         `json:"fp"`
		Messages    *[]message     `json:"messages"`
		ThreadID    *string        `json:"threadId"`
		ThreadKey   string         `json:"threadKey"`
		PageSize    *float64       `json:"retrievalPageSize"`
		Filter      filter         `json:"filter"`
		CurrentPath string         `json:"currentPath"`
		ID          jsontext.Value `json:"id"`
		Trigger     jsontext.Value `json:"trigger"`
		Context     []struct {
			Type      jsontext.Value `json:"type"`
			Value     *string        `json:"value"`
			Path      string         `json:"path"`
			ElementID string         `json:"elementId"`
		} `json:"context"`
	}
	err := decode(body, &b, "fp and messages")
	if err != nil {
		return nil, err
	}
	r := &reply.Request{
		Fingerprint: strings.TrimSpace(b.Fingerprint),
		CurrentPath: strings.TrimSpace(b.CurrentPath),
		Filter:      retrieval.Filter(b.Filter.trimmed()),
		ThreadKey:   short.Runes(b.ThreadKey, maxThreadID),
		ChatID:      text(b.ID, maxName),
		Transport:   b.Trigger.Kind() == '"',
		Regenerate:  text(b.Trigger, maxName) == "regenerate-message",
	}
	if version == V1 {
		r.Filter.Tag, r.Filter.Site = "", ""
	}
	r.PageSize, err = whole("retrievalPageSize", b.PageSize, 1, MaxPageSize, DefaultPageSize)
	switch {
	case err != nil:
		return nil, err
	case r.Fingerprint == "":
		return nil, errorf("fp", `fp must be a string that is not empty: "anonymous" or an identifier of the user`)
	case b.ThreadID != nil && *b.ThreadID != "" && !validThreadID(*b.ThreadID):
		return nil, mustBe("threadId", "")
	case utf8.RuneCountInString(b.CurrentPath) > maxCurrentPath:
		return nil, mustBe("currentPath", fmt.Sprintf("at most %d characters long", maxCurrentPath))
	case b.Messages == nil:
		return nil, errorf("messages", "messages must be an array with at least one message of role user")
	}
	for i, c := range b.Context {
		kind := text(c.Type, maxName)
		switch at := fmt.Sprintf("context[%d]", i); {
		case kind != "code" && kind != "textSelection":
			return nil, mustBe(at+".type", `"code" or "textSelection"`)
		case c.Value == nil:
			return nil, mustBe(at+".value", "a string: the code or the selected text")
		case strings.TrimSpace(*c.Value) != "" && len(r.Context) < maxContext:
			r.Context = append(r.Context, reply.Context{
				Type: kind, Value: short.Runes(*c.Value, maxValue), Path: short.Runes(c.Path, maxName), ElementID: short.Runes(c.ElementID, maxName),
			})
		}
	}

	question := -1
	var at string // the question's path
	var named string
	for i := range *b.Messages {
		m := &(*b.Messages)[i]
		path := fmt.Sprintf("messages[%d]", i)
		read, known, err := m.read(version, path)
		switch {
		case err != nil:
			return nil, err
		case !known:
			continue
		case read.Role == reply.User:
			question, at = len(r.Messages), path
		case read.Text == "" && read.Attachments == nil && read.Sources == nil:
			continue
		}
		if id := m.threadID(version); read.Role == reply.Assistant && validThreadID(id) {
			named = id
		}
		r.Messages = append(r.Messages, *read)
	}
	if question < 0 {
		return nil, errorf("messages", "messages must hold at least one message of role user with text")
	}
	for i := range r.Messages {
		asked := utf8.RuneCountInString(r.Messages[i].Text)
		switch {
		case i == question && asked == 0:
			return nil, errorf(at, "%s, the last user message, must have text in its text parts or content", at)
		case i == question && asked > maxText:
			return nil, errorf(at, "%s, the last user message, must have at most %d characters of text", at, maxText)
		}
		r.Messages[i].Text = short.Runes(r.Messages[i].Text, maxText)
	}
	if r.ThreadID = named; b.ThreadID != nil && *b.ThreadID != "" {
		r.ThreadID = *b.ThreadID
	}
	if r.Transport || r.ChatID != "" {
		r.QuestionID = r.Messages[question].ID
	}
	if first := min(question, len(r.Messages)-maxMessages); first > 0 {
		r.Messages = r.Messages[first:]
	}
	return r, nil
}

func validThreadID(id string) bool {
	return id != "" && len(id) <= maxThreadID && strings.IndexFunc(id, func(c rune) bool {
		return (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '-' && c != '_'
	}) < 0
}

// read returns what is used of a message; known is false for roles that are
// ignored.
func (m *message) read(version int, path string) (out *reply.Message, known bool, err error) {
	out = &reply.Message{ID: short.Runes(m.ID, maxName)}
	switch m.Role {
	case "user":
		out.Role = reply.User
	case "assistant":
		out.Role = reply.Assistant
	case "system", "data":
		out.Role = reply.Note
	default:
		if m.Role == "" || version == V1 {
			return nil, false, errorf(path+".role", "%s.role must be one of system, assistant, data and user", path)
		}
		return nil, false, nil
	}
	var lines []string
	for i, p := range m.Parts {
		switch kind := text(p.Type, maxName); {
		case kind == "text" && p.Text.Kind() != '"':
			return nil, false, mustBe(fmt.Sprintf("%s.parts[%d].text", path, i), "a string")
		case kind == "text":
			// Clients show parts as blocks.
			if line := text(p.Text, maxText+1); line != "" {
				lines = append(lines, line)
			}
		case kind == "file":
			out.Attachments = attach(out.Attachments, p.Filename, p.MediaType, p.URL)
		case kind == "source-url" && version == V2:
			out.Sources = addSource(out.Sources, p.URL)
		case kind == "source" && version == V1:
			out.Sources = addSource(out.Sources, field(p.Source, "url"))
		}
	}
	if out.Role != reply.Assistant {
		out.Sources = nil
	}
	if out.Text = strings.Join(lines, "\n"); strings.TrimSpace(out.Text) == "" {
		out.Text = text(m.Content, maxText+1)
	}
	if version == V1 {
		if err := m.readV1(out, path); err != nil {
			return nil, false, err
		}
	}
	if strings.TrimSpace(out.Text) == "" {
		out.Text = ""
	}
	return out, true, nil
}

// readV1 reads what only v1 has: attachments beside the parts, and data
// messages, whose content or data may be any JSON.
func (m *message) readV1(out *reply.Message, path string) error {
	for _, a := range elements(m.Attachments) {
		out.Attachments = attach(out.Attachments, field(a, "name"), field(a, "contentType"), field(a, "url"))
	}
	extra := m.Content
	switch kind := m.Content.Kind(); {
	case m.Role == "data" && (len(extra) == 0 || kind == '"' || kind == 'n'):
		extra = m.Data
	case len(extra) == 0 || kind == '"' || kind == 'n':
		return nil
	case m.Role != "data":
		return mustBe(path+".content", "a string")
	}
	if len(extra) > 0 && extra.Kind() != 'n' {
		if out.Text != "" {
			out.Text += "\n"
		}
		out.Text += strings.ToValidUTF8(string(extra), "\uFFFD")
	}
	return nil
}

// threadID returns the thread that a reply of ours named: in an annotation in
// v1, in the metadata in v2. Applications may add both of any kind.
func (m *message) threadID(version int) (id string) {
	if version == V2 {
		return text(field(m.Metadata, "threadId"), maxName)
	}
	for _, a := range elements(m.Annotations) {
		if v := field(a, "threadId"); v.Kind() == '"' {
			id = text(v, maxName)
		}
	}
	return id
}

// elements returns the elements of an array, none of any other value.
func elements(array jsontext.Value) (all []jsontext.Value) {
	_ = json.Unmarshal(array, &all, lenient)
	return all
}

// field returns a field of an object, nil of any other value.
func field(object jsontext.Value, name string) jsontext.Value {
	var fields map[string]jsontext.Value
	_ = json.Unmarshal(object, &fields, lenient)
	return fields[name]
}

// addSource adds the URL of a source of an earlier answer.
func addSource(sources []string, url jsontext.Value) []string {
	s := text(url, maxAddress+1)
	if s == "" || len(sources) == maxSources || utf8.RuneCountInString(s) > maxAddress {
		return sources
	}
	return append(sources, s)
}

// attach adds a file. A data URL of a text is decoded; nothing is fetched.
func attach(files []reply.Attachment, name, mediaType, url jsontext.Value) []reply.Attachment {
	if len(files) == maxAttachments {
		return files
	}
	return append(files, attachment(text(name, maxName), text(mediaType, maxName), url))
}
