package meiliserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// refusal is the status and message of an error code.
type refusal struct {
	status  int
	message string
}

var refusals = map[string]refusal{
	"bad_request":                        {400, "%s"},
	"index_already_exists":               {409, "Index `%s` already exists."},
	"index_not_found":                    {404, "Index `%s` not found."},
	"index_primary_key_already_exists":   {400, "Index already has a primary key: `%s`."},
	"invalid_api_key":                    {403, "The provided API key is invalid."},
	"invalid_content_type":               {415, "The Content-Type `%s` is invalid. Accepted values for the Content-Type header are: `application/json`"},
	"invalid_document_id":                {400, "Document identifier `%q` is invalid. A document identifier can be of type integer or string, only composed of alphanumeric characters (a-z A-Z 0-9), hyphens (-) and underscores (_), and can not be more than 511 bytes."},
	"invalid_index_uid":                  {400, "Invalid value at `.uid`: `%s` is not a valid index uid."},
	"invalid_search_distinct":            {400, "Attribute `%s` is not filterable and thus, cannot be used as distinct attribute."},
	"invalid_search_embedder":            {400, "Cannot find embedder with name `%s`."},
	"invalid_search_filter":              {400, "Was expecting an operation `=`, `!=`, `>=`, `>`, `<=`, `<`, `IN`, `NOT IN`, … at `%s`."},
	"invalid_search_semantic_ratio":      {400, "the value of `semanticRatio` is invalid, expected a float between `0.0` and `1.0`."},
	"invalid_settings_ranking_rules":     {400, "`%s` ranking rule is invalid."},
	"invalid_swap_indexes":               {400, "Two indexes must be given for each swap. The list `[%q]` contains 1 indexes."},
	"invalid_swap_duplicate_index_found": {400, "Indexes must be declared only once during a swap. `%s` was specified several times."},
	"invalid_vector_dimensions":          {400, "Invalid vector dimensions: expected: `%v`, found: `%d`."},
	"malformed_payload":                  {400, "The json payload provided is malformed. `%s`."},
	"missing_authorization_header":       {401, "The Authorization header is missing. It must use the bearer authorization method."},
	"missing_content_type":               {415, "A Content-Type header is missing. Accepted values for the Content-Type header are: `application/json`"},
	"missing_document_id":                {400, "Document doesn't have a `%s` attribute."},
	"missing_search_hybrid":              {400, "Invalid request: missing `hybrid` parameter when `vector` or `media` are present."},
	"no_space_left_on_device":            {422, "There is no more space left on the device. Consider increasing the size of the disk/partition."},
	"payload_too_large":                  {413, "The provided payload reached the size limit. The maximum accepted payload size is 100 MB."},
	"task_not_found":                     {404, "Task `%s` not found."},
	"too_many_search_requests":           {503, "Too many search requests running at the same time: 1000. Retry after 10s."},
	vectorEmbeddingError:                 {400, "While embedding documents for embedder `%s`: no vectors provided for document."},
}

// problem returns an error in the server's form.
func problem(code string, with ...any) map[string]any {
	r := refusals[code]
	kind := "invalid_request"
	switch {
	case r.status == 401 || r.status == 403:
		kind = "auth"
	case r.status >= 500 || code == "no_space_left_on_device":
		kind = "system"
	}
	message := r.message
	if n := strings.Count(message, "%"); n > 0 {
		for len(with) < n {
			with = append(with, "?")
		}
		message = fmt.Sprintf(message, with[:n]...)
	}
	return map[string]any{"message": message, "code": code, "type": kind, "link": "https://docs.meilisearch.com/errors#" + code}
}

func fail(w http.ResponseWriter, code string, with ...any) {
	reply(w, refusals[code].status, problem(code, with...))
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// payloadLimit is the server's limit of a body, in bytes.
const payloadLimit = 100 << 20

func read(w http.ResponseWriter, r *http.Request, v any) bool {
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	switch {
	case kind == "":
		fail(w, "missing_content_type")
		return false
	case kind != "application/json":
		fail(w, "invalid_content_type", kind)
		return false
	case r.ContentLength > payloadLimit:
		fail(w, "payload_too_large")
		return false
	}
	if err := json.NewDecoder(r.Body).Decode(v); err != nil {
		fail(w, "malformed_payload", err)
		return false
	}
	return true
}
