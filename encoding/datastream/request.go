package datastream

import (
	"github.com/caddy-docs/caddy-docs/assistant/reply"
	"github.com/caddy-docs/caddy-docs/encoding"
)

var dialect = encoding.Dialect{Field: readField, Part: readPart, Finish: checkContent}

// Decode reads the body of a v1 message request. It returns an
// *encoding.Error if the body is invalid. Clients of releases 4.0 and 4.1 send
// no parts; the text is then the content.
func Decode(body []byte) (*reply.Request, error) {
	return encoding.DecodeRequest(body, &dialect)
}

// readField reads the fields that only v1 messages have.
func readField(d *encoding.Decoder, m *encoding.Message, name []byte) {
	switch string(name) {
	case "content":
		// Which types are allowed depends on the role, which may come later.
		m.Content, m.Extra = "", nil
		if d.Is('"') {
			m.Content = d.ContentText()
		} else if !d.Null() {
			m.Extra = d.Raw()
		}
	case "data":
		// The chat hook's data messages have their value here.
		if m.Data = nil; !d.Null() {
			m.Data = d.Raw()
		}
	case "annotations":
		m.ThreadID = ""
		if !d.Null() {
			d.Array(func(int) { readAnnotation(d, m) })
		}
	case "experimental_attachments":
		m.Attachments = nil
		if !d.Null() {
			d.Array(func(int) { readAttachment(d, m) })
		}
	}
}

// readAnnotation finds the thread of an earlier reply. Apps may add annotations
// of any kind.
func readAnnotation(d *encoding.Decoder, m *encoding.Message) {
	if !d.Is('{') {
		return
	}
	d.Object(func(name []byte) {
		if string(name) == "threadId" && d.Is('"') {
			m.ThreadID = d.Name()
		}
	})
}

func readAttachment(d *encoding.Decoder, m *encoding.Message) {
	var name, contentType string
	var url []byte
	d.Object(func(field []byte) {
		switch string(field) {
		case "name":
			name = d.Name()
		case "contentType":
			contentType = d.Name()
		case "url":
			url = d.Raw()
		}
	})
	m.Attach(name, contentType, url)
}

// readPart takes text and sources; reasoning, tool invocations and steps of
// earlier replies are not used.
func readPart(d *encoding.Decoder, m *encoding.Message, p *encoding.Part) {
	switch p.Type {
	case "text":
		m.AddText(d.PartText(p))
	case "source":
		if len(p.Source) == 0 || p.Source[0] != '{' {
			return
		}
		source := encoding.NewDecoder(p.Source)
		source.Object(func(name []byte) {
			if string(name) == "url" {
				m.AddSource(encoding.Address(source.Raw()))
			}
		})
	case "file":
		m.AttachPart(p)
	}
}

// checkContent refuses a content that is not text, except for data messages,
// whose content may be any JSON.
func checkContent(d *encoding.Decoder, m *encoding.Message) {
	switch {
	case m.RoleName != "data":
		if m.Extra != nil {
			d.Fail("content", "a string")
		}
	case m.Extra == nil:
		m.Extra = m.Data
	}
}
