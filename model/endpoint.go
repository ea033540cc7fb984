package model

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/caddy-docs/caddy-docs/assistant"
	"github.com/caddy-docs/caddy-docs/retrieval"
)

// Endpoint is a model at a URL.
type Endpoint struct {
	// URL of the API, up to and including /v1. For Azure's older APIs it is the
	// URL of the deployment, with its api-version:
	// https://NAME.openai.azure.com/openai/deployments/NAME?api-version=…
	URL    string
	Model  string
	APIKey string
}

const (
	// breakAfter consecutive failures open a breaker for breakFor, or for the
	// endpoint's Retry-After up to maxBreak.
	breakAfter = 5
	breakFor   = 15 * time.Second
	maxBreak   = 5 * time.Minute
)

// endpoint is an Endpoint and what was learned about it.
type endpoint struct {
	Endpoint
	url        *url.URL
	publicURL  string // without credentials and query, for logs and metrics
	client     *http.Client
	breaker    retrieval.Breaker
	parameters atomic.Uint32
}

func newEndpoint(e Endpoint, client *http.Client) (*endpoint, error) {
	u, err := url.Parse(strings.TrimSpace(e.URL))
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, errors.New("the URL of a model must be that of its API, such as https://api.openai.com/v1 or http://127.0.0.1:11434/v1")
	}
	if strings.TrimSpace(e.Model) == "" {
		return nil, fmt.Errorf("endpoint %s: no model is named", publicURL(u))
	}
	u.Path = strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/chat/completions")
	u.RawPath, u.Fragment = "", ""
	ep := &endpoint{
		Endpoint: e, url: u, publicURL: publicURL(u), client: client,
		breaker: retrieval.Breaker{After: breakAfter, First: breakFor, Last: breakFor},
	}
	ep.parameters.Store(uint32(firstParameters(e, u)))
	return ep, nil
}

// publicURL is a URL without credentials and query.
func publicURL(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// newClient returns the client for options that have none. It bounds
// everything except the length of a reply.
func newClient() *http.Client {
	return &http.Client{Transport: &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    5 * time.Second,
		IdleConnTimeout:        90 * time.Second,
		MaxIdleConns:           4096,
		MaxIdleConnsPerHost:    2048, // over HTTP/1.1 each stream has its own connection
		MaxResponseHeaderBytes: 64 << 10,
		WriteBufferSize:        1 << 10, // enough for headers; held for as long as a stream
		DisableCompression:     true,    // a compressed stream arrives in blocks
	}}
}

// withoutRedirects returns a copy of the client, newClient's for nil, that
// follows no redirects: a redirected POST becomes a GET, or takes the key
// elsewhere.
func withoutRedirects(c *http.Client) *http.Client {
	clone := *cmp.Or(c, newClient())
	clone.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &clone
}

// do sends a request to a path below the endpoint's URL. The body is JSON; nil
// for none.
func (e *endpoint) do(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	u := *e.url
	u.Path += path
	req, err := http.NewRequestWithContext(ctx, method, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept", "text/event-stream, application/json")
	req.Header.Set("User-Agent", "caddy-docs")
	switch {
	case e.APIKey == "":
	case isAzure(e.url):
		req.Header.Set("Api-Key", e.APIKey)
	default:
		req.Header.Set("Authorization", "Bearer "+e.APIKey)
	}
	return e.client.Do(req)
}

// ask sends a prompt. If the endpoint refuses a parameter, the prompt is sent
// again without it. The response has a status of success.
func (e *endpoint) ask(ctx context.Context, p *assistant.Prompt, maxTokens int) (*http.Response, error) {
	params := parameters(e.parameters.Load())
	for {
		resp, err := e.do(ctx, http.MethodPost, "/chat/completions", e.body(p, maxTokens, params))
		if err != nil {
			return nil, err
		}
		if isSuccess(resp) {
			return resp, nil
		}
		answer, failure := e.refusal(resp)
		next := params
		if failure.Kind == BadRequest || failure.Kind == ServerError {
			next = params.without(resp.StatusCode, answer, len(p.Tools) > 0)
		}
		if next == params {
			return nil, failure
		}
		params = next
		e.parameters.Store(uint32(next))
	}
}

// reply asks for one reply and passes it on. It calls onFirst with the first
// token. sent reports whether each was called.
func (e *endpoint) reply(ctx context.Context, p *assistant.Prompt, o *Options, onFirst func(), each func(*assistant.Delta) error) (c *assistant.Completion, sent bool, err error) {
	reqCtx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s := &stream{e: e, each: each, onFirst: onFirst, maxTokens: p.MaxTokens, idle: o.Idle, limit: o.Idle}
	if s.maxTokens <= 0 {
		s.maxTokens = o.MaxTokens
	}
	s.deadline = time.Now().Add(o.FirstToken)
	s.timer = time.AfterFunc(o.FirstToken, func() { cancel(errTimeout) })
	defer s.timer.Stop()

	kind := Unreachable
	resp, err := e.ask(reqCtx, p, s.maxTokens)
	if err == nil {
		defer resp.Body.Close()
		kind = Truncated
		s.body = resp.Body
		err = s.run()
	}
	var failure *Error
	switch {
	case err == nil:
		return s.completion(), s.sent, nil
	case s.sendErr != nil:
		return nil, s.sent, s.sendErr
	case ctx.Err() != nil:
		return nil, s.sent, ctx.Err()
	case errors.Is(context.Cause(reqCtx), errTimeout) && s.begun:
		failure = e.fail(IdleTimeout, "silent for %v", s.limit)
	case errors.Is(context.Cause(reqCtx), errTimeout):
		failure = e.fail(FirstTokenTimeout, "no token within %v", o.FirstToken)
	case errors.As(err, &failure):
	default:
		failure = e.failTransport(kind, err)
	}
	return nil, s.sent, failure
}

// refusal reads and closes a response without success.
func (e *endpoint) refusal(resp *http.Response) (body []byte, failure *Error) {
	defer resp.Body.Close()
	body, _ = io.ReadAll(io.LimitReader(resp.Body, 4*maxMessage))
	message := describe(parseError(body))
	if resp.StatusCode >= 300 && resp.StatusCode < 400 {
		message = "the endpoint redirects; configure the URL that it redirects to"
		if u, err := resp.Location(); err == nil {
			message += ": " + publicURL(u)
		}
	}
	failure = e.fail(statusKind(resp.StatusCode), "%s", message)
	failure.Status = resp.StatusCode
	failure.RetryAfter = retryAfter(resp.Header, time.Now())
	return body, failure
}

func isSuccess(r *http.Response) bool { return r.StatusCode >= 200 && r.StatusCode < 300 }

// check asks the endpoint whether it has its model: by its list of models, or,
// where it has none, by a reply of one token.
func (e *endpoint) check(ctx context.Context, o *Options) error {
	checkCtx, cancel := context.WithTimeout(ctx, o.FirstToken)
	defer cancel()
	names, err := e.models(checkCtx)
	var failure *Error
	switch {
	case err == nil && len(names) > 0:
		if slices.ContainsFunc(names, func(name string) bool { return sameModel(name, e.Model) }) {
			return nil
		}
		if len(names) > 12 {
			names = append(names[:12], "…")
		}
		return e.fail(BadRequest, "the endpoint has no model %q; it has: %s", e.Model, strings.Join(names, ", "))
	case err == nil, errors.As(err, &failure) && failure.Kind == BadRequest:
		p := &assistant.Prompt{MaxTokens: 1, Messages: []assistant.PromptMessage{{Role: "user", Content: "Say yes."}}}
		_, _, err = e.reply(checkCtx, p, o, func() {}, func(*assistant.Delta) error { return nil })
		if errors.As(err, &failure) && (failure.Kind == Empty || failure.Kind == ContentFilter) {
			return nil // it answered
		}
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil && checkCtx.Err() != nil:
		return e.fail(Timeout, "no answer within %v", o.FirstToken)
	}
	return err
}

// models returns the names of the endpoint's models, none if it does not list
// them.
func (e *endpoint) models(ctx context.Context) ([]string, error) {
	resp, err := e.do(ctx, http.MethodGet, "/models", nil)
	if err != nil {
		return nil, e.failTransport(Unreachable, err)
	}
	if !isSuccess(resp) {
		_, failure := e.refusal(resp)
		return nil, failure
	}
	defer resp.Body.Close()
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxLine)).Decode(&list); err != nil {
		return nil, nil //nolint:nilerr // some answer with a page
	}
	names := make([]string, len(list.Data))
	for i, m := range list.Data {
		names[i] = m.ID
	}
	return names, nil
}

// sameModel compares names as endpoints do: Ollama's tag :latest may be left
// out, Gemini lists models/NAME.
func sameModel(listed, wanted string) bool {
	bare := func(s string) string {
		return strings.TrimSuffix(strings.TrimPrefix(strings.ToLower(s), "models/"), ":latest")
	}
	return bare(listed) == bare(wanted)
}
