package encoding

import (
	"strings"
	"unicode/utf8"

	"github.com/caddy-docs/caddy-docs/assistant/reply"
)

// Bounds of a request. Those of SPEC.md and DESIGN.md are errors; the others
// are cut silently, and bound the memory of a request.
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

// Dialect is how one of the two generations of messages differs.
type Dialect struct {
	// AnyRole lets messages of unknown roles be ignored, instead of an error.
	AnyRole bool
	// Tag says that the filter has a tag.
	Tag bool
	// Field reads a field of a message other than id, role and parts, or
	// leaves it unread.
	Field func(d *Decoder, m *Message, name []byte)
	// Part takes a part of a message.
	Part func(d *Decoder, m *Message, p *Part)
	// Finish, where not nil, is called at the end of each message.
	Finish func(d *Decoder, m *Message)
}

// Message is a message while it is read.
type Message struct {
	reply.Message
	// RoleName is the role in the body.
	RoleName string
	// Content is the text of a message without text parts.
	Content string
	// Extra, for notes, is JSON that joins the text. Data is the message's
	// field of that name.
	Extra, Data []byte
	// ThreadID is the thread that the message names, unchecked.
	ThreadID string

	parts strings.Builder // the text of the text parts
	long  bool            // there was more text than maxText
}

// AddText adds the text of a text part on a new line: clients show parts as
// blocks.
func (m *Message) AddText(s string) {
	if s == "" {
		return
	}
	if m.parts.Len() > 0 {
		m.parts.WriteByte('\n')
	}
	// A character has at most four bytes.
	if m.parts.Len() > 4*maxText {
		m.long = true
		return
	}
	m.parts.WriteString(s)
}

// AddSource adds the URL of a source of an earlier answer.
func (m *Message) AddSource(url string) {
	if url != "" && len(m.Sources) < maxSources {
		m.Sources = append(m.Sources, url)
	}
}

// Attach adds a file: its name, its declared type, and its URL as Raw returned
// it, nil for none. A data URL of a text is decoded; nothing is fetched.
func (m *Message) Attach(name, mediaType string, url []byte) {
	if len(m.Attachments) < maxAttachments {
		m.Attachments = append(m.Attachments, attachment(name, mediaType, url))
	}
}

// AttachPart adds the file of a file part.
func (m *Message) AttachPart(p *Part) {
	name, _ := rawText(p.Filename, maxName)
	mediaType, _ := rawText(p.MediaType, maxName)
	m.Attach(name, mediaType, p.URL)
}

// Part is a part of a message, its values as Raw returns them, nil for those
// that are missing.
type Part struct {
	// Type is "" if the part has none.
	Type                                   string
	Text, URL, MediaType, Filename, Source []byte
}

// PartText returns the text of a part of type text; anything but a string is
// an error.
func (d *Decoder) PartText(p *Part) string {
	s, ok := rawText(p.Text, maxText+1)
	if !ok {
		d.Fail("text", "a string")
	}
	return s
}

// ContentText reads a text that may be as long as a message's.
func (d *Decoder) ContentText() string { return d.Text(maxText + 1) }

// Name reads a name if a string is next, and leaves anything else unread.
func (d *Decoder) Name() string {
	if !d.Is('"') {
		return ""
	}
	return d.Text(maxName)
}

// Address returns the URL in a value that Raw returned, "" if it can't be a
// source's.
func Address(raw []byte) string {
	s, _ := rawText(raw, maxAddress+1)
	if utf8.RuneCountInString(s) > maxAddress {
		return ""
	}
	return s
}

// DecodeRequest reads the body of an assistant message. It returns an *Error
// if the body is invalid.
func DecodeRequest(body []byte, dialect *Dialect) (*reply.Request, error) {
	d := NewDecoder(body)
	r := request{Request: reply.Request{PageSize: DefaultPageSize}, d: d, dialect: dialect, question: -1}
	if d.peek() == 0 && d.pos >= len(d.data) {
		return nil, errorf("", "the body is empty: it must be a JSON object with fp and messages")
	}
	d.Object(r.field)
	d.End()
	if err := d.Err(); err != nil {
		return nil, err
	}
	return r.finish()
}

type request struct {
	reply.Request
	d       *Decoder
	dialect *Dialect

	hasMessages bool
	question    int    // index in Messages of the last user message, -1
	place       string // its path
	long        bool   // its text is too long
	named       string // thread that the last assistant message names
}

func (r *request) field(name []byte) {
	d := r.d
	switch string(name) {
	case "trigger":
		if d.Is('"') {
			r.Transport = true
			r.Regenerate = d.Name() == "regenerate-message"
		}
		return
	case "id":
		r.ChatID = d.Name()
		return
	case "fp", "messages", "threadId", "retrievalPageSize", "filter", "context", "currentPath":
	default:
		return
	}
	if d.Null() {
		// The last of several fields of one name counts.
		switch string(name) {
		case "fp":
			r.Fingerprint = ""
		case "messages":
			r.hasMessages = false
		case "threadId":
			r.ThreadID = ""
		case "retrievalPageSize":
			r.PageSize = DefaultPageSize
		case "filter":
			r.Filter = reply.Filter{}
		case "context":
			r.Context = nil
		case "currentPath":
			r.CurrentPath = ""
		}
		return
	}
	switch string(name) {
	case "fp":
		r.Fingerprint = strings.TrimSpace(d.String())
	case "messages":
		r.messages()
	case "threadId":
		if !d.Is('"') {
			d.wrong(wantedThreadID)
			return
		}
		r.ThreadID = d.Text(maxThreadID + 1)
		if !validThreadID(r.ThreadID) {
			d.Fail("", wantedThreadID)
		}
	case "retrievalPageSize":
		r.PageSize = d.Integer(1, MaxPageSize)
	case "filter":
		r.Filter = reply.Filter{}
		r.Filter.Version, r.Filter.Language, r.Filter.Tag = d.filter(r.dialect.Tag)
	case "context":
		r.context()
	case "currentPath":
		r.CurrentPath = d.Text(maxCurrentPath + 1)
		if utf8.RuneCountInString(r.CurrentPath) > maxCurrentPath {
			d.Fail("", "at most 200 characters long")
		}
		r.CurrentPath = strings.TrimSpace(r.CurrentPath)
	}
}

const wantedThreadID = "the threadId of an earlier reply (letters, digits, - and _), or left out for a new thread"

// validThreadID reports whether id has the form of a thread's id.
func validThreadID(id string) bool {
	if id == "" || len(id) > maxThreadID {
		return false
	}
	for i := range len(id) {
		switch c := id[i]; {
		case c >= '0' && c <= '9', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '-', c == '_':
		default:
			return false
		}
	}
	return true
}

// filter reads a filter.
func (d *Decoder) filter(hasTag bool) (version, language, tag string) {
	d.Object(func(name []byte) {
		var to *string
		switch string(name) {
		case "version":
			to = &version
		case "language":
			to = &language
		case "tag":
			if hasTag {
				to = &tag
			}
		}
		if to == nil {
			return
		}
		if *to = ""; !d.Null() {
			*to = strings.TrimSpace(d.Text(maxName))
		}
	})
	return version, language, tag
}

// context reads the extra context, except entries with an empty value.
func (r *request) context() {
	d := r.d
	r.Context = nil
	d.Array(func(int) {
		var c reply.Context
		hasValue := false
		d.Object(func(name []byte) {
			switch string(name) {
			case "type":
				if c.Type = ""; d.Is('"') {
					c.Type = d.Text(maxName)
				}
			case "value":
				if hasValue = !d.Null(); hasValue {
					c.Value = d.Text(maxValue)
				}
			case "path":
				if c.Path = ""; !d.Null() {
					c.Path = d.Text(maxName)
				}
			case "elementId":
				if c.ElementID = ""; !d.Null() {
					c.ElementID = d.Text(maxName)
				}
			}
		})
		if c.Type != "code" && c.Type != "textSelection" {
			d.Fail("type", `"code" or "textSelection"`)
		}
		if !hasValue {
			d.Fail("value", "a string: the code or the selected text")
		}
		if strings.TrimSpace(c.Value) != "" && len(r.Context) < maxContext {
			r.Context = append(r.Context, c)
		}
	})
}

// messages reads the conversation.
func (r *request) messages() {
	r.hasMessages, r.Messages, r.question, r.named = true, nil, -1, ""
	r.d.Array(func(int) { r.message() })
}

func (r *request) message() {
	d := r.d
	var m Message
	d.Object(func(name []byte) {
		switch string(name) {
		case "id":
			if m.ID = ""; !d.Null() {
				m.ID = d.Text(maxName)
			}
		case "role":
			if m.RoleName = ""; !d.Null() {
				m.RoleName = d.Text(maxName)
			}
		case "parts":
			m.parts.Reset()
			m.Sources, m.long = nil, false
			if !d.Null() {
				d.Array(func(int) { r.part(&m) })
			}
		default:
			r.dialect.Field(d, &m, name)
		}
	})
	if d.err != nil {
		return
	}
	switch m.RoleName {
	case "user":
		m.Role = reply.User
	case "assistant":
		m.Role = reply.Assistant
	case "system", "data":
		m.Role = reply.Note
	default:
		if m.RoleName == "" || !r.dialect.AnyRole {
			d.Fail("role", "one of system, assistant, data and user")
		}
		return
	}
	if r.dialect.Finish != nil {
		r.dialect.Finish(d, &m)
		if d.err != nil {
			return
		}
	}
	r.add(&m)
}

func (r *request) part(m *Message) {
	d := r.d
	if !d.Is('{') {
		d.wrong("an object with a type")
		return
	}
	var p Part
	d.Object(func(name []byte) {
		switch string(name) {
		case "type":
			p.Type = d.Name()
		case "text":
			p.Text = d.Raw()
		case "url":
			p.URL = d.Raw()
		case "mediaType":
			p.MediaType = d.Raw()
		case "filename":
			p.Filename = d.Raw()
		case "source":
			p.Source = d.Raw()
		}
	})
	if d.err == nil {
		r.dialect.Part(d, m, &p)
	}
}

// add adds a message with a known role.
func (r *request) add(m *Message) {
	text := m.parts.String()
	if strings.TrimSpace(text) == "" {
		text = m.Content
	}
	if m.Role == reply.Note && len(m.Extra) > 0 {
		extra := string(m.Extra)
		if !utf8.ValidString(extra) {
			extra = string([]rune(extra))
		}
		if text != "" {
			text += "\n"
		}
		text += extra
	}
	m.Text = cut(text, maxText)
	m.long = m.long || len(m.Text) < len(text)
	if strings.TrimSpace(m.Text) == "" {
		m.Text = ""
	}
	if m.Role != reply.Assistant {
		m.Sources = nil
	} else if validThreadID(m.ThreadID) {
		r.named = m.ThreadID
	}
	if m.Role == reply.User {
		r.question, r.place, r.long = len(r.Messages), r.d.Path(), m.long
	} else if m.Text == "" && m.Attachments == nil && m.Sources == nil {
		return // it is empty
	}
	r.Messages = append(r.Messages, m.Message)
}

// finish checks what depends on the whole body.
func (r *request) finish() (*reply.Request, error) {
	switch {
	case r.Fingerprint == "":
		return nil, errorf("fp", `fp must be a string that is not empty: "anonymous" or an identifier of the user`)
	case !r.hasMessages:
		return nil, errorf("messages", "messages must be an array with at least one message of role user")
	case r.question < 0:
		return nil, errorf("messages", "messages must hold at least one message of role user with text")
	case r.Messages[r.question].Text == "":
		return nil, errorf(r.place, "%s, the last user message, must have text in its text parts or content", r.place)
	case r.long:
		return nil, errorf(r.place, "%s, the last user message, must have at most %d characters of text", r.place, maxText)
	}
	if r.ThreadID == "" {
		r.ThreadID = r.named
	}
	if r.Transport || r.ChatID != "" {
		r.QuestionID = r.Messages[r.question].ID
	}
	if first := min(r.question, len(r.Messages)-maxMessages); first > 0 {
		r.Messages = r.Messages[first:]
	}
	return &r.Request, nil
}
