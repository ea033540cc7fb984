package uimessage

import (
	"github.com/caddy-docs/caddy-docs/assistant/reply"
	"github.com/caddy-docs/caddy-docs/encoding"
)

var dialect = encoding.Dialect{AnyRole: true, Tag: true, Field: readField, Part: readPart}

// Decode reads the body of a v2 message request. It returns an
// *encoding.Error if the body is invalid. Unknown parts, fields and roles,
// which newer clients send, are ignored.
func Decode(body []byte) (*reply.Request, error) {
	return encoding.DecodeRequest(body, &dialect)
}

// readField reads the fields of a message that the protocol names besides
// its parts, and the content that a client made by hand may send instead of
// them.
func readField(d *encoding.Decoder, m *encoding.Message, name []byte) {
	switch string(name) {
	case "content":
		if m.Content = ""; d.Is('"') {
			m.Content = d.ContentText()
		}
	case "metadata":
		// Apps add metadata of any kind.
		if m.ThreadID = ""; d.Is('{') {
			d.Object(func(name []byte) {
				if string(name) == "threadId" {
					m.ThreadID = d.Name()
				}
			})
		}
	}
}

// readPart takes text, files and sources; reasoning, tool and data parts of
// earlier replies are not used.
func readPart(d *encoding.Decoder, m *encoding.Message, p *encoding.Part) {
	switch p.Type {
	case "text":
		m.AddText(d.PartText(p))
	case "file":
		m.AttachPart(p)
	case "source-url":
		m.AddSource(encoding.Address(p.URL))
	}
}
