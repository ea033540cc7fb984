package model

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	openai "github.com/sashabaranov/go-openai"

	"github.com/caddy-docs/caddy-docs/assistant"
)

// Kind says in one word how an attempt at a model ended. The words are few,
// so that they can label metrics.
type Kind string

const (
	OK          Kind = "ok"
	Cancelled   Kind = "cancelled"   // the client went away, or its sink failed
	Resting     Kind = "resting"     // not asked: its breaker is open
	Unreachable Kind = "unreachable" // refused, DNS, TLS, connection lost before an answer
	Late        Kind = "late"        // no first token within FirstToken
	Idle        Kind = "idle"        // silent longer than Idle within a reply
	Cut         Kind = "cut"         // the stream ended before the reply did
	Empty       Kind = "empty"       // a reply without anything in it
	Nonsense    Kind = "nonsense"    // HTML, broken JSON, a line without end
	Denied      Kind = "denied"      // 401, 403
	Limited     Kind = "limited"     // 429
	Rejected    Kind = "rejected"    // another 4xx: the request's fault, not the model's health
	Failed      Kind = "failed"      // 5xx, an error object in the stream
	Filtered    Kind = "filtered"    // a content filter left nothing of the reply
)

// Error is a model's failure. It wraps assistant.ErrModel. Its text is for
// the log: it may quote the endpoint (at most 2 KB, keys removed) and must
// not be shown to readers.
type Error struct {
	// Endpoint is the address without credentials and query, with the model.
	Endpoint string
	Kind     Kind
	// Status is the HTTP status, 0 if there was none.
	Status  int
	Message string
	// RetryAfter is how long the endpoint asked to be left alone, 0 if it didn't.
	RetryAfter time.Duration
	// Err is the cause, where there is one: an *openai.APIError, a net error.
	Err error
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("model ")
	b.WriteString(e.Endpoint)
	b.WriteString(": ")
	b.WriteString(string(e.Kind))
	if e.Status != 0 {
		b.WriteString(" (status ")
		b.WriteString(strconv.Itoa(e.Status))
		b.WriteByte(')')
	}
	if e.Message != "" {
		b.WriteString(": ")
		b.WriteString(e.Message)
	}
	return b.String()
}

// Unwrap makes errors.Is(err, assistant.ErrModel) true.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{assistant.ErrModel}
	}
	return []error{assistant.ErrModel, e.Err}
}

// counts reports whether the error says something about the endpoint's
// health, so that the breaker counts it.
func (e *Error) counts() bool {
	switch e.Kind {
	case Rejected, Filtered, Cancelled, Resting:
		return e.Status == http.StatusNotFound || e.Status == http.StatusRequestTimeout
	}
	return true
}

// maxMessage bounds what an error quotes of an endpoint's answer.
const maxMessage = 2 << 10

// secrets finds what looks like a key: vendors quote the key they refuse.
var secrets = regexp.MustCompile(`(?i)\b(?:(?:sk|gsk|xai|key|pk|rk|hf|nvapi|csk|pplx|svc_dsc)[-_][A-Za-z0-9_*.\-]{6,}|AIza[A-Za-z0-9_\-]{10,})|\bBearer\s+[^\s"']{6,}|://[^/\s:@]+:[^/\s@]+@`)

// redact removes keys, control characters and what is beyond maxMessage.
func redact(s, key string) string {
	if key != "" {
		s = strings.ReplaceAll(s, key, "[redacted]")
	}
	s = secrets.ReplaceAllStringFunc(s, func(m string) string {
		if strings.HasPrefix(m, "://") {
			return "://[redacted]@"
		}
		return "[redacted]"
	})
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == utf8.RuneError || r == 0x7f {
			return ' '
		}
		return r
	}, s)
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > maxMessage {
		s = s[:maxMessage]
		for !utf8.ValidString(s) {
			s = s[:len(s)-1]
		}
		s += "…"
	}
	return s
}

// apiError makes go-openai's error of an error body in any of the shapes
// seen: {"error":{…}}, {"error":"text"}, {"message":…}, {"detail":…},
// [{"error":{…}}], an object that is the error itself, or plain text.
func apiError(body []byte) *openai.APIError {
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	var outer struct {
		Error   json.RawMessage `json:"error"`
		Message json.RawMessage `json:"message"`
		Detail  json.RawMessage `json:"detail"`
		Type    any             `json:"type"`
		Code    any             `json:"code"`
	}
	if json.Unmarshal(body, &outer) != nil {
		return &openai.APIError{Message: string(body)}
	}
	inner := outer.Error
	if len(inner) == 0 || string(inner) == "null" {
		e := &openai.APIError{Code: outer.Code}
		e.Type, _ = outer.Type.(string)
		for _, m := range []json.RawMessage{outer.Message, outer.Detail} {
			if e.Message == "" && len(m) > 0 {
				e.Message = plain(m)
			}
		}
		if e.Message == "" {
			e.Message = string(body)
		}
		return e
	}
	if inner[0] == '{' {
		e := new(openai.APIError)
		if err := json.Unmarshal(inner, e); err == nil && e.Message != "" {
			return e
		}
	}
	e := &openai.APIError{Message: plain(inner), Code: outer.Code}
	return e
}

// plain is a JSON string's text, or any other value as it stands.
func plain(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// retryAfter reads a Retry-After header: seconds or a date.
func retryAfter(h http.Header, now time.Time) time.Duration {
	v := strings.TrimSpace(h.Get("Retry-After"))
	if v == "" {
		return 0
	}
	if s, err := strconv.ParseFloat(v, 64); err == nil {
		if s > 0 && s < 1e7 {
			return time.Duration(s * float64(time.Second))
		}
		return 0
	}
	if t, err := http.ParseTime(v); err == nil {
		return max(0, t.Sub(now))
	}
	return 0
}

// statusKind is the kind of a status that is not a success.
func statusKind(status int) Kind {
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return Denied
	case status == http.StatusTooManyRequests:
		return Limited
	case status >= 400 && status < 500:
		return Rejected
	}
	return Failed
}

// transportError drops what net/http wraps around a cause: its url.Error
// repeats the address with user name and query.
func transportError(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// sinkError marks an error that came from the caller's own function.
type sinkError struct{ err error }

func (e *sinkError) Error() string { return e.err.Error() }
func (e *sinkError) Unwrap() error { return e.err }

// kindOf is the kind of any error of an attempt.
func kindOf(err error) Kind {
	var e *Error
	var s *sinkError
	switch {
	case err == nil:
		return OK
	case errors.As(err, &e):
		return e.Kind
	case errors.As(err, &s), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return Cancelled
	}
	return Failed
}
