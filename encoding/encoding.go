// Package encoding is what the wire formats of this project's endpoints have
// in common: reading request bodies leniently but with errors that say what
// to write instead, the body of a search, and the output that both stream
// encoders write through. Its subpackages are the two generations of
// assistant messages: datastream (v1) and uimessage (v2).
package encoding

import "fmt"

// Error says what is wrong with a request body. The request is answered with
// status 400 and Message.
type Error struct {
	// Field is the path of the field that is wrong, such as
	// "messages[2].role"; "" if the body as a whole is.
	Field string
	// Message is one sentence that names the field and says what it may be.
	// It holds nothing of the body but names of fields.
	Message string
}

func (e *Error) Error() string { return e.Message }

func errorf(field, format string, args ...any) *Error {
	return &Error{Field: field, Message: fmt.Sprintf(format, args...)}
}
