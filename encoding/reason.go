package encoding

// Reason returns a finish reason that every client knows. "unknown" and
// "interrupted" are errors to some releases of the chat SDK, and so is
// anything else that is not in their list.
func Reason(reason string) string {
	switch reason {
	case "stop", "length", "content-filter", "tool-calls", "error", "other":
		return reason
	case "":
		return "stop"
	}
	return "other"
}

// BrokeOff is the sentence for a reply that ends with an error that has no
// sentence of its own.
const BrokeOff = "The answer broke off. Please ask again."
