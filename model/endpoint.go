package model

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/caddy-docs/caddy-docs/assistant"
)

// Endpoint is a model at an address.
type Endpoint struct {
	// URL of the API up to and with /v1; for Azure's older addresses the
	// deployment's, with its api-version:
	// https://NAME.openai.azure.com/openai/deployments/NAME?api-version=…
	URL    string
	Model  string
	APIKey string
}

// endpoint is an Endpoint with what is remembered of it.
type endpoint struct {
	Endpoint
	url     *url.URL
	name    string // for logs: without credentials and query
	breaker breaker
	learned learned
	tools   writtenTools
	client  *http.Client
}

func newEndpoint(e Endpoint, client *http.Client) (*endpoint, error) {
	u, err := url.Parse(strings.TrimSpace(e.URL))
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, errors.New(`a model's address must be that of its API, such as https://api.openai.com/v1 or http://127.0.0.1:11434/v1`)
	}
	if strings.TrimSpace(e.Model) == "" {
		return nil, fmt.Errorf("the endpoint %s needs the name of a model", publicAddress(u))
	}
	u.Path = strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/chat/completions")
	u.RawPath, u.Fragment = "", ""
	ep := &endpoint{Endpoint: e, url: u, client: client, name: publicAddress(u) + " " + e.Model}
	ep.learned.set(firstParameters(e, u))
	return ep, nil
}

// publicAddress is an address without credentials and query.
func publicAddress(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

func (e *endpoint) fail(k Kind, message string, cause error) *Error {
	message = redact(message, e.APIKey)
	if pw, ok := e.url.User.Password(); ok && pw != "" {
		message = strings.ReplaceAll(message, pw, "[redacted]")
	}
	return &Error{Endpoint: e.name, Kind: k, Message: message, Err: e.safe(cause)}
}

// errorf is fail, as an error.
func (e *endpoint) errorf(k Kind, message string, cause error) error {
	return e.fail(k, message, cause)
}

// safe returns a cause only if its own words hold no secret.
func (e *endpoint) safe(err error) error {
	if err == nil || redact(err.Error(), e.APIKey) != strings.Join(strings.Fields(err.Error()), " ") {
		return nil
	}
	return err
}

// newRequest addresses a path below the endpoint's URL.
func (e *endpoint) newRequest(ctx context.Context, method, path string, body *outgoing) (*http.Request, error) {
	u := *e.url
	u.Path += path
	req, err := http.NewRequestWithContext(ctx, method, u.String(), nil)
	if err != nil {
		return nil, e.fail(Unreachable, transportError(err).Error(), nil)
	}
	if body != nil {
		req.ContentLength = int64(body.size)
		req.GetBody = body.reader
		req.Body, _ = body.reader()
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "text/event-stream, application/json")
	}
	req.Header.Set("User-Agent", "caddy-docs")
	switch {
	case e.APIKey == "":
	case isAzure(e.url):
		req.Header.Set("Api-Key", e.APIKey)
	default:
		req.Header.Set("Authorization", "Bearer "+e.APIKey)
	}
	return req, nil
}

// send asks, again without what the endpoint refuses, and returns the body of
// an answer with a status of success.
func (e *endpoint) send(ctx context.Context, p *assistant.Prompt, maxTokens int) (io.ReadCloser, error) {
	params := e.learned.get()
	for {
		out, err := e.body(p, maxTokens, params)
		if err != nil {
			return nil, e.fail(Rejected, "writing the request: "+err.Error(), err)
		}
		req, err := e.newRequest(ctx, http.MethodPost, "/chat/completions", out)
		if err != nil {
			return nil, err
		}
		resp, err := e.client.Do(req)
		if err != nil {
			return nil, err
		}
		out.release()
		if resp.StatusCode >= 200 && resp.StatusCode < 300 {
			return resp.Body, nil
		}
		answer, fail := e.refusal(resp)
		if fail.Kind != Rejected && fail.Kind != Failed {
			return nil, fail
		}
		next, ok := params.refused(resp.StatusCode, answer)
		if !ok || next == params || params&withTools != 0 && next&withTools == 0 && len(p.Tools) == 0 {
			return nil, fail
		}
		params = next
		e.learned.set(next)
	}
}

// refusal reads an answer without success and closes it.
func (e *endpoint) refusal(resp *http.Response) ([]byte, *Error) {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 4*maxMessage))
	resp.Body.Close()
	api := apiError(body)
	api.HTTPStatusCode, api.HTTPStatus = resp.StatusCode, resp.Status
	message := describeAPIError(api)
	if resp.StatusCode >= 300 && resp.StatusCode < 400 {
		message = "the endpoint redirects; configure the address that it redirects to"
		if u, err := resp.Location(); err == nil {
			message += ": " + publicAddress(u)
		}
	}
	fail := e.fail(statusKind(resp.StatusCode), message, api)
	fail.Status = resp.StatusCode
	fail.RetryAfter = retryAfter(resp.Header, time.Now())
	return body, fail
}

// attempt asks the endpoint for one reply. sent tells whether each was
// called. Its stack stands as long as the
// reply lasts, so what comes before and after has functions of its own.
func (e *endpoint) attempt(ctx context.Context, p *assistant.Prompt, o *Options, each func(*assistant.Delta) error, onFirst func()) (c *assistant.Completion, sent bool, err error) {
	a, err := e.ask(ctx, p, o, each, onFirst)
	if err != nil {
		return nil, false, err
	}
	defer a.watch.stop() // also where each panics: its timer would set itself again for ever
	c, err = a.end(a.run())
	return c, a.sent, err
}

// answer is an endpoint's answer while it is read.
type answer struct {
	stream
	e         *endpoint
	ctx, rctx context.Context // the caller's, and that of the request
	cancel    context.CancelCauseFunc
	unlink    func() bool
	body      io.ReadCloser
}

// ask sends the request. What it returns is read with run, and ended with
// end.
func (e *endpoint) ask(ctx context.Context, p *assistant.Prompt, o *Options, each func(*assistant.Delta) error, onFirst func()) (*answer, error) {
	a := &answer{e: e, ctx: ctx}
	// The request has a context of its own, so that the connection can be
	// read to its end, and used again, after the caller's has ended.
	a.rctx, a.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	a.unlink = context.AfterFunc(ctx, func() { a.cancel(context.Cause(ctx)) })
	a.watch.begin(o.FirstToken, func() error { return e.fail(Late, fmt.Sprintf("no token within %v", o.FirstToken), nil) }, a.cancel)
	a.each, a.onFirst, a.idle, a.describe = each, onFirst, o.Idle, e.errorf
	if a.maxTokens = p.MaxTokens; a.maxTokens <= 0 {
		a.maxTokens = o.MaxTokens
	}
	var err error
	a.body, err = e.send(a.rctx, p, a.maxTokens)
	if err != nil {
		a.watch.stop()
		err = e.why(ctx, a.rctx, err, Unreachable)
		a.unlink()
		a.cancel(nil)
		return nil, err
	}
	a.in = newLines(a.body)
	return a, nil
}

// end lets go of an answer that was read, or broke off with err.
func (a *answer) end(err error) (*assistant.Completion, error) {
	a.in.release()
	a.watch.stop()
	switch {
	case err != nil || a.finish == "length":
		if err != nil {
			err = a.e.why(a.ctx, a.rctx, err, Cut)
		}
		a.unlink()
		a.cancel(nil) // first: Close would wait for a body that is being written
		a.body.Close()
		if err != nil {
			return nil, err
		}
	case a.unlink():
		drain(a.body, a.cancel)
	default:
		a.cancel(nil)
		a.body.Close()
	}
	c := a.completion()
	c.Model = a.e.Model
	return c, nil
}

// drain reads what follows [DONE], mostly the end of the last chunk, so that
// the connection can be used again; but not for long.
func drain(body io.ReadCloser, cancel context.CancelCauseFunc) {
	t := time.AfterFunc(250*time.Millisecond, func() { cancel(nil) })
	_, _ = io.CopyN(io.Discard, body, 16<<10)
	t.Stop()
	body.Close()
	cancel(nil)
}

// why finds the reason behind an error of the transport.
func (e *endpoint) why(ctx, rctx context.Context, err error, k Kind) error {
	var model *Error
	var sink *sinkError
	switch {
	case errors.As(err, &sink):
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(context.Cause(rctx), &model):
		return model // the watch: what the transport makes of it is no news
	case errors.As(err, &model):
		return err
	}
	err = transportError(err)
	return e.fail(k, err.Error(), err)
}

// withoutRedirects returns the client, or one like it that follows no
// redirect: a redirected POST becomes a GET, or takes the key elsewhere.
func withoutRedirects(c *http.Client) *http.Client {
	if c.CheckRedirect != nil {
		return c
	}
	like := *c
	like.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &like
}
