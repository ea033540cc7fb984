package meilisearch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
)

// errTooOld is wrapped by the error of a server below minimumVersion.
var errTooOld = errors.New("is too old")

// errNoVectors means that sections were added without vectors because the
// embedder in the server's settings failed.
var errNoVectors = errors.New("the server's embedder is failing; until it works, only keyword search finds the new sections")

// ServerError is a call that a server refused or did not answer. Its message
// may reveal settings of the server and must not reach a client.
type ServerError struct {
	URL     string `json:"-"`
	Status  int    `json:"-"` // 0 if there was no answer
	Code    string `json:"code"`
	Message string `json:"message"`
	cause   error
}

func (e *ServerError) Error() string {
	switch {
	case e.Status == 0:
		return fmt.Sprintf("%s is not responding: %v", e.URL, e.cause)
	case e.Code != "":
		return fmt.Sprintf("%s responded with %d %s: %s", e.URL, e.Status, e.Code, e.Message)
	case e.cause != nil:
		return fmt.Sprintf("%s responded with %d: %v", e.URL, e.Status, e.cause)
	}
	return fmt.Sprintf("%s responded with %d", e.URL, e.Status)
}

func (e *ServerError) Unwrap() error { return e.cause }

// TaskError is a task that failed on a server.
type TaskError struct{ serverTask }

func (e *TaskError) Error() string {
	if indexNotFound(e) && e.Type != "indexDeletion" {
		return fmt.Sprintf("task %d (%s) could not create %s: the api_key lacks the action indexes.create", e.UID, e.Type, e.IndexUID)
	}
	return fmt.Sprintf("task %d (%s) %s: %s %s", e.UID, e.Type, e.Status, e.Problem.Code, e.Problem.Message)
}

// unavailable reports whether the server can't answer at the moment.
func unavailable(err error) bool {
	e, ok := errors.AsType[*ServerError](err)
	if !ok {
		return errors.Is(err, context.DeadlineExceeded)
	}
	switch e.Status {
	case 0, http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// unauthorized reports whether the server refuses the key.
func unauthorized(err error) bool {
	if _, ok := errors.AsType[*keyError](err); ok {
		return true
	}
	e, ok := errors.AsType[*ServerError](err)
	return ok && (e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden)
}

// refused reports whether the server will refuse the request again, because
// of its key or its form.
func refused(err error) bool {
	if _, ok := errors.AsType[*ownerError](err); ok {
		return true
	}
	e, ok := errors.AsType[*ServerError](err)
	return unauthorized(err) || ok && e.Status == http.StatusBadRequest && e.Code != "" && !indexNotFound(err)
}

// codeOf returns the server's code of a refused call or failed task, or "".
func codeOf(err error) string {
	if e, ok := errors.AsType[*ServerError](err); ok {
		return e.Code
	}
	if e, ok := errors.AsType[*TaskError](err); ok {
		return e.Problem.Code
	}
	return ""
}

func indexNotFound(err error) bool { return codeOf(err) == "index_not_found" }

// noVectors reports whether the index has no vectors, or none that can be
// compared with the query's.
func noVectors(err error) bool {
	switch codeOf(err) {
	case "invalid_search_embedder", "invalid_vector_dimensions", "vector_embedding_error":
		return true
	}
	return false
}
