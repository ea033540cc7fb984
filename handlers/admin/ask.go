package admin

import (
	"context"
	"crypto/rand"
	"net/http"

	"github.com/caddy-docs/caddy-docs/assistant"
	"github.com/caddy-docs/caddy-docs/assistant/reply"
	"github.com/caddy-docs/caddy-docs/encoding"
	"github.com/caddy-docs/caddy-docs/encoding/uimessage"
	"github.com/caddy-docs/caddy-docs/handlers/site"
	"github.com/caddy-docs/caddy-docs/insights"
	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/eval"
)

// search answers the body of a search request, for an operator, perhaps with
// why each result is in its place.
func (a API) search(ctx context.Context, name string, body []byte, recorded, explain bool) (any, error) {
	r, err := a.site(name)
	if err != nil {
		return nil, err
	}
	q, err := encoding.DecodeSearch(body)
	if err != nil {
		return nil, err
	}
	q.Explain = explain
	results, _, err := r.Results(ctx, q)
	if err != nil {
		return nil, err
	}
	if recorded {
		site.Asker{Site: r, Source: insights.Command}.Searched(q, results)
	}
	if !explain {
		return results, nil
	}
	type explained struct {
		encoding.Result
		Why []string `json:"why"`
	}
	out := make([]explained, len(results))
	for i := range results {
		out[i] = explained{results[i], results[i].Why}
	}
	return out, nil
}

// question returns a site, held until release is called, and what the body of a
// v2 message request asks it.
func (a API) question(name string, body []byte) (r *site.Site, req *reply.Request, release func(), err error) {
	if r, err = a.site(name); err != nil {
		return nil, nil, nil, err
	}
	if req, err = encoding.DecodeRequest(body, encoding.V2); err != nil {
		return nil, nil, nil, err
	}
	release, ok := r.Acquire()
	if !ok {
		return nil, nil, nil, retrieval.ErrNotReady
	}
	return r, req, release, nil
}

// ask answers the body of a v2 message request with a v2 stream, for an
// operator: the conversation is kept in no thread.
func (a API) ask(ctx context.Context, name string, body []byte, recorded bool, w http.ResponseWriter) error {
	r, req, release, err := a.question(name, body)
	if err != nil {
		return err
	}
	defer release()
	uimessage.SetHeader(w.Header())
	asked := site.Asker{Site: r, Source: insights.Command}.Reply(2, req, rand.Text()[:9])
	asked.Run(ctx, 1, uimessage.NewEncoder(w, http.NewResponseController(w).Flush, true))
	if recorded {
		asked.Record()
	}
	return asked.Err
}

// Explain returns what ask would answer the body of a v2 message
// request from: the query, the passages with their scores, the prompt.
func (a API) Explain(ctx context.Context, name string, body []byte) (*assistant.Explanation, error) {
	r, req, release, err := a.question(name, body)
	if err != nil {
		return nil, err
	}
	defer release()
	return r.Assistant().Explain(ctx, &assistant.Input{Request: req, RequestID: rand.Text()[:9]})
}

// queries proposes queries to evaluate a site's search with, made from its
// pages.
func (a API) queries(ctx context.Context, name string) ([]eval.Query, error) {
	r, err := a.site(name)
	if err != nil {
		return nil, err
	}
	var documents []*retrieval.Document
	for _, d := range r.Index.Documents() {
		if d.Outline {
			if d, err = r.Index.Page(ctx, d.Page); err != nil {
				return nil, err
			}
		}
		if d != nil { // else it has just been removed
			documents = append(documents, d)
		}
	}
	return eval.Generate(documents), nil
}
