package encoding

// Reason returns a finish reason that every client knows. Some releases of the
// chat SDK reject all others, "unknown" and "interrupted" included.
func Reason(reason string) string {
	switch reason {
	case "stop", "length", "content-filter", "tool-calls", "error", "other":
		return reason
	case "":
		return "stop"
	}
	return "other"
}

// BrokeOff is the message of an error in a reply that has none.
const BrokeOff = "The answer broke off. Please ask again."
