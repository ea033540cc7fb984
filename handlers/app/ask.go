package app

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
	"github.com/caddy-docs/caddy-docs/insights"
	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/eval"
)

// Refresh looks for changes of a site's pages and waits for the end.
func (a *App) Refresh(ctx context.Context, name string) (retrieval.Report, error) {
	site, err := a.adminSite(name)
	if err != nil {
		return retrieval.Report{}, err
	}
	report, err := site.index.refresher.Refresh(ctx)
	if err != nil {
		return report, fmt.Errorf("refreshing %s: %w", site.Name, err)
	}
	return report, nil
}

// Reindex is Refresh for an operator: it also compares each section with an
// index in servers, and restores what differs. With full, all pages are read
// and written again.
func (a *App) Reindex(ctx context.Context, name string, full bool) (retrieval.Report, error) {
	site, err := a.adminSite(name)
	if err != nil {
		return retrieval.Report{}, err
	}
	refresh := site.index.refresher.Refresh
	if full {
		refresh = site.index.refresher.Rebuild
	}
	report, err := refresh(ctx)
	if r, ok := site.index.index.(retrieval.Restorer); ok && err == nil && report.Held == "" {
		report.Restored, err = r.Restore(ctx, full)
	}
	if err != nil {
		return report, fmt.Errorf("refreshing %s: %w", site.Name, err)
	}
	return report, nil
}

// reindexSoon is Reindex in the background.
func (a *App) reindexSoon(site *LiveSite, full bool) {
	a.goBackground(func(ctx context.Context) {
		if _, err := a.Reindex(ctx, site.Name, full); err != nil && ctx.Err() == nil {
			a.log.Error("the index could not be refreshed", zap.String("site", site.Name), zap.Error(err))
		}
	})
}

// RefreshSoon looks for changes of a site's pages in the background.
func (a *App) RefreshSoon(name string) error {
	site, err := a.adminSite(name)
	if err == nil {
		a.refreshSoon(site)
	}
	return err
}

func (a *App) refreshSoon(site *LiveSite) {
	a.goBackground(func(ctx context.Context) { _, _ = site.index.refresher.Refresh(ctx) }) // it logs errors
}

// searchSite answers the body of a search request, for an operator.
func (a *App) searchSite(ctx context.Context, name string, body []byte, recorded bool) ([]encoding.Result, error) {
	site, err := a.adminSite(name)
	if err != nil {
		return nil, err
	}
	q, err := encoding.DecodeSearch(body)
	if err != nil {
		return nil, err
	}
	results, _, err := site.Results(ctx, q)
	if err == nil && recorded {
		a.Searched(site, Asker{Source: insights.Command}, q, results)
	}
	return results, err
}

// askSite answers the body of a v2 message request with a v2 stream, for an
// operator: the conversation is kept in no thread.
func (a *App) askSite(ctx context.Context, name string, body []byte, w io.Writer, flush func() error) error {
	site, err := a.adminSite(name)
	if err != nil {
		return err
	}
	req, err := uimessage.Decode(body)
	if err != nil {
		return err
	}
	release, ok := site.Acquire()
	if !ok {
		return retrieval.ErrNotReady
	}
	defer release()
	began, message := time.Now(), "msg_"+rand.Text()
	enc := uimessage.NewEncoder(w, flush, uimessage.Options{FinishEvent: uimessage.Literal})
	res, err := a.Run(ctx, site, 1, &assistant.Input{Request: req, MessageID: message, RequestID: rand.Text()[:9]}, enc)
	if res != nil {
		a.recordReply(&Reply{
			Site: site, From: Asker{Source: insights.Command}, Page: req.CurrentPath, Message: message,
			Took: time.Since(began), Result: res, Err: err, Gone: ctx.Err() != nil,
		}, res)
	}
	return err
}

// ExplainSite returns what askSite would answer the body of a v2 message
// request from: the query, the passages with their scores, the prompt.
func (a *App) ExplainSite(ctx context.Context, name string, body []byte) (*assistant.Explanation, error) {
	site, err := a.adminSite(name)
	if err != nil {
		return nil, err
	}
	req, err := uimessage.Decode(body)
	if err != nil {
		return nil, err
	}
	release, ok := site.Acquire()
	if !ok {
		return nil, retrieval.ErrNotReady
	}
	defer release()
	return site.Assistant().Explain(ctx, &assistant.Input{Request: req, RequestID: rand.Text()[:9]})
}

// Queries proposes queries to evaluate a site's search with, made from its
// pages.
func (a *App) Queries(ctx context.Context, name string) ([]eval.Query, error) {
	site, err := a.adminSite(name)
	if err != nil {
		return nil, err
	}
	documents := site.index.index.Documents()
	if l, ok := site.index.index.(retrieval.Loader); ok {
		if documents, err = l.Load(ctx); err != nil {
			return nil, err
		}
	}
	return eval.Generate(documents), nil
}
