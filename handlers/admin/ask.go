package admin

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"time"

	"go.uber.org/zap"

	"github.com/caddy-docs/caddy-docs/assistant"
	"github.com/caddy-docs/caddy-docs/encoding"
	"github.com/caddy-docs/caddy-docs/encoding/uimessage"
	"github.com/caddy-docs/caddy-docs/handlers/site"
	"github.com/caddy-docs/caddy-docs/insights"
	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/eval"
	"github.com/caddy-docs/caddy-docs/retrieval/meilisearch"
)

// Refresh looks for changes of a site's pages and waits for the end.
func (a API) Refresh(ctx context.Context, name string) (retrieval.Report, error) {
	r, err := a.site(name)
	if err != nil {
		return retrieval.Report{}, err
	}
	report, err := r.Index.Refresher.Refresh(ctx)
	if err != nil {
		return report, fmt.Errorf("refreshing %s: %w", r.Name, err)
	}
	return report, nil
}

// Reindex is Refresh for an operator: it also compares each section with an
// index in servers, and restores what differs. With full, all pages are read
// and written again.
func (a API) Reindex(ctx context.Context, name string, full bool) (retrieval.Report, error) {
	r, err := a.site(name)
	if err != nil {
		return retrieval.Report{}, err
	}
	refresh := r.Index.Refresher.Refresh
	if full {
		refresh = r.Index.Refresher.Rebuild
	}
	report, err := refresh(ctx)
	if x, ok := r.Index.Index.(*meilisearch.Index); ok && err == nil && report.Held == "" {
		report.Restored, err = x.Restore(ctx, full)
	}
	if err != nil {
		return report, fmt.Errorf("refreshing %s: %w", r.Name, err)
	}
	return report, nil
}

// reindexSoon is Reindex in the background.
func (a API) reindexSoon(r *site.Site, full bool) {
	a.Go(func(ctx context.Context) {
		if _, err := a.Reindex(ctx, r.Name, full); err != nil && ctx.Err() == nil {
			a.Shared().Log.Error("the index could not be refreshed", zap.String("site", r.Name), zap.Error(err))
		}
	})
}

// RefreshSoon looks for changes of a site's pages in the background.
func (a API) RefreshSoon(name string) error {
	r, err := a.site(name)
	if err == nil {
		a.refreshSoon(r)
	}
	return err
}

func (a API) refreshSoon(r *site.Site) {
	a.Go(func(ctx context.Context) { _, _ = r.Index.Refresher.Refresh(ctx) }) // it logs errors
}

// search answers the body of a search request, for an operator.
func (a API) search(ctx context.Context, name string, body []byte, recorded bool) ([]encoding.Result, error) {
	r, err := a.site(name)
	if err != nil {
		return nil, err
	}
	q, err := encoding.DecodeSearch(body)
	if err != nil {
		return nil, err
	}
	results, _, err := r.Results(ctx, q)
	if err == nil && recorded {
		r.Searched(site.Asker{Source: insights.Command}, q, results)
	}
	return results, err
}

// ask answers the body of a v2 message request with a v2 stream, for an
// operator: the conversation is kept in no thread.
func (a API) ask(ctx context.Context, name string, body []byte, w io.Writer, flush func() error) error {
	r, err := a.site(name)
	if err != nil {
		return err
	}
	req, err := encoding.DecodeRequest(body, encoding.V2)
	if err != nil {
		return err
	}
	release, ok := r.Acquire()
	if !ok {
		return retrieval.ErrNotReady
	}
	defer release()
	began, message := time.Now(), "msg_"+rand.Text()
	enc := uimessage.NewEncoder(w, flush, uimessage.Literal)
	res, err := r.Run(ctx, 1, &assistant.Input{Request: req, MessageID: message, RequestID: rand.Text()[:9]}, enc)
	if res != nil {
		reply := site.Reply{
			Site: r, From: site.Asker{Source: insights.Command}, Page: req.CurrentPath, Message: message,
			Took: time.Since(began), Result: res, Err: err, Gone: ctx.Err() != nil,
		}
		reply.Record(res)
	}
	return err
}

// Explain returns what ask would answer the body of a v2 message
// request from: the query, the passages with their scores, the prompt.
func (a API) Explain(ctx context.Context, name string, body []byte) (*assistant.Explanation, error) {
	r, err := a.site(name)
	if err != nil {
		return nil, err
	}
	req, err := encoding.DecodeRequest(body, encoding.V2)
	if err != nil {
		return nil, err
	}
	release, ok := r.Acquire()
	if !ok {
		return nil, retrieval.ErrNotReady
	}
	defer release()
	return r.Assistant().Explain(ctx, &assistant.Input{Request: req, RequestID: rand.Text()[:9]})
}

// Queries proposes queries to evaluate a site's search with, made from its
// pages.
func (a API) Queries(ctx context.Context, name string) ([]eval.Query, error) {
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
