// Package encoding is what the wire formats of this project's endpoints have
// in common: a lenient decoder of request bodies, whose errors say what to
// write instead, the request and the results of a search, and the output that
// both stream encoders write through. Its subpackages are the two generations of
// assistant messages: datastream (v1) and uimessage (v2).
package encoding

import "fmt"

// Error is an error in a request body. Its Message goes to the client, with
// status 400.
type Error struct {
	// Field is the path of the field, such as "messages[2].role", or "" for
	// the body as a whole.
	Field string
	// Message is one sentence that names the field and says what it may be. It
	// quotes nothing of the body except names of fields.
	Message string
}

func (e *Error) Error() string { return e.Message }

func errorf(field, format string, args ...any) *Error {
	return &Error{Field: field, Message: fmt.Sprintf(format, args...)}
}
