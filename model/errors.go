package model

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	openai "github.com/sashabaranov/go-openai"

	"github.com/caddy-docs/caddy-docs/assistant"
	"github.com/caddy-docs/caddy-docs/short"
)

// Kind is the outcome of an attempt, as the label of a metric has it.
type Kind string

const (
	OK                Kind = "ok"
	Canceled          Kind = "canceled"            // the client went away, or writing to it failed
	CircuitOpen       Kind = "circuit_open"        // not asked
	Unreachable       Kind = "unreachable"         // refused, DNS, TLS, connection lost before an answer
	Timeout           Kind = "timeout"             // no answer to a request that is not for a reply
	FirstTokenTimeout Kind = "first_token_timeout" // no token within Options.FirstToken
	IdleTimeout       Kind = "idle_timeout"        // silent for Options.Idle within a reply
	Truncated         Kind = "truncated"           // the stream ended before the reply did
	Empty             Kind = "empty"               // a reply with nothing in it
	Malformed         Kind = "malformed"           // HTML, broken JSON, an endless line
	Unauthorized      Kind = "unauthorized"        // 401, 403
	RateLimited       Kind = "rate_limited"        // 429
	BadRequest        Kind = "bad_request"         // another 4xx: the request is at fault, not the endpoint
	ServerError       Kind = "server_error"        // 5xx, an error in the stream
	ContentFilter     Kind = "content_filter"      // a content filter removed the whole reply
)

// Error is the failure of an endpoint. It wraps assistant.ErrModel. Its text is
// for the log: it may quote the endpoint (at most 2 kB, without keys) and must not be shown to readers.
type Error struct {
	// Endpoint is the URL without credentials and query, and the model.
	Endpoint string
	Kind     Kind
	// Status is the HTTP status, 0 if there was none.
	Status  int
	Message string
	// RetryAfter is the wait that the endpoint asked for, 0 for none.
	RetryAfter time.Duration
}

func (e *Error) Error() string {
	text := "model " + e.Endpoint + ": " + string(e.Kind)
	if e.Status != 0 {
		text += fmt.Sprintf(" (status %d)", e.Status)
	}
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text
}

// Unwrap returns assistant.ErrModel.
func (e *Error) Unwrap() error { return assistant.ErrModel }

// fail returns an Error without secrets.
func (e *endpoint) fail(k Kind, format string, args ...any) *Error {
	message := fmt.Sprintf(format, args...)
	if pw, ok := e.url.User.Password(); ok && pw != "" {
		message = strings.ReplaceAll(message, pw, "[redacted]")
	}
	return &Error{Endpoint: e.publicURL + " " + e.Model, Kind: k, Message: redact(message, e.APIKey)}
}

// counts reports whether the breaker counts the error, because it says something
// about the endpoint's health.
func (e *Error) counts() bool {
	switch e.Kind {
	case BadRequest, ContentFilter:
		return e.Status == http.StatusNotFound || e.Status == http.StatusRequestTimeout
	}
	return true
}

// Free reports whether a Chain.Stream that failed without a token cost nothing:
// no endpoint accepted the request.
func Free(err error) bool {
	switch err := err.(type) {
	case *Error:
		switch err.Kind {
		case CircuitOpen, Unreachable, Unauthorized, RateLimited, BadRequest:
			return true
		}
	case interface{ Unwrap() []error }: // one of each endpoint
		return !slices.ContainsFunc(err.Unwrap(), func(err error) bool { return !Free(err) })
	}
	return false
}

// maxMessage is the longest message of an Error, in bytes.
const maxMessage = 2 << 10

// secrets matches what looks like a key: vendors quote the key they refuse.
var secrets = regexp.MustCompile(`(?i)\b(?:(?:sk|gsk|xai|key|pk|rk|hf|nvapi|csk|pplx|svc_dsc)[-_][A-Za-z0-9_*.\-]{6,}|AIza[A-Za-z0-9_\-]{10,})|\bBearer\s+[^\s"']{6,}|://[^/\s:@]+:[^/\s@]+@`)

// redact removes keys and control characters, and cuts s at maxMessage.
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
	if s = short.Line(s); len(s) > maxMessage {
		s = short.Bytes(s, maxMessage) + "…"
	}
	return s
}

// parseError reads an error body in any of the shapes that vendors use:
// {"error":{…}}, {"error":"text"}, {"detail":…}, an object that is the error
// itself, a list of these, or plain text.
func parseError(b []byte) openai.APIError {
	b = bytes.TrimSpace(b)
	if !isJSON(b) {
		return openai.APIError{Message: string(b)}
	}
	for _, first := range elements(b) {
		return parseError(first)
	}
	var outer struct {
		Error  jsontext.Value `json:"error"`
		Detail jsontext.Value `json:"detail"`
		Code   any            `json:"code"`
	}
	var e openai.APIError
	if json.Unmarshal(b, &outer, lenient) == nil && !isNull(outer.Error) {
		if e = parseError(outer.Error); e.Code == nil {
			e.Code = outer.Code
		}
		return e
	}
	_ = json.Unmarshal(b, &e, lenient)
	if e.Code == 0 {
		e.Code = nil // go-openai reads null as 0
	}
	if e.Message == "" && !isNull(outer.Detail) {
		e.Message = plain(outer.Detail)
	}
	e.Message = cmp.Or(e.Message, plain(b))
	return e
}

// describe returns what an endpoint's error says.
func describe(e openai.APIError) string {
	message := e.Message
	if e.Type != "" {
		message += " (type " + e.Type + ")"
	}
	if e.Code != nil && e.Code != "" {
		message += fmt.Sprintf(" (code %v)", e.Code)
	}
	return message
}

// retryAfter reads a Retry-After header: seconds or a date. Anything else is 0.
func retryAfter(h http.Header, now time.Time) time.Duration {
	v := strings.TrimSpace(h.Get("Retry-After"))
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

// statusKind returns the kind of a status without success.
func statusKind(status int) Kind {
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return Unauthorized
	case status == http.StatusTooManyRequests:
		return RateLimited
	case status >= 400 && status < 500:
		return BadRequest
	}
	return ServerError
}

// failTransport is fail for an error of net/http, without the URL that it
// repeats with credentials and query.
func (e *endpoint) failTransport(k Kind, err error) *Error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	return e.fail(k, "%v", err)
}

// kindOf returns the kind of any error of an attempt.
func kindOf(err error) Kind {
	if err == nil {
		return OK
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return Canceled
}
