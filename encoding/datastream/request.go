package datastream

import (
	"github.com/caddy-docs/caddy-docs/assistant/reply"
	"github.com/caddy-docs/caddy-docs/encoding"
)

// Decode reads the body of a v1 message request. It returns an
// *encoding.Error if the body is invalid.
func Decode(body []byte) (*reply.Request, error) {
	return encoding.DecodeRequest(body, encoding.V1)
}
