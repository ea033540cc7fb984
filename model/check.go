package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/caddy-docs/caddy-docs/assistant"
)

// Check asks each endpoint whether it is there and knows its model: by its
// list of models, or, where it has none, by a reply of one token. It returns
// the errors of all that fail, joined, first endpoint first. It doesn't touch
// the breakers. Each endpoint has FirstToken to answer.
func (c *Chain) Check(ctx context.Context) error {
	var errs []error
	for _, e := range c.endpoints {
		if err := c.check(ctx, e); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (c *Chain) check(ctx context.Context, e *endpoint) error {
	cctx, cancel := context.WithTimeout(ctx, c.o.FirstToken)
	defer cancel()
	req, err := e.newRequest(cctx, http.MethodGet, "/models", nil)
	if err != nil {
		return err
	}
	resp, err := e.client.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if cctx.Err() != nil {
			return e.errorf(Late, fmt.Sprintf("no answer within %v", c.o.FirstToken), nil)
		}
		err = transportError(err)
		return e.errorf(Unreachable, err.Error(), err)
	}
	if resp.StatusCode != http.StatusOK {
		_, fail := e.refusal(resp)
		if fail.Kind == Rejected {
			return c.checkByAsking(cctx, e)
		}
		return fail
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxLine))
	resp.Body.Close()
	if err != nil {
		return e.errorf(Unreachable, transportError(err).Error(), nil)
	}
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if json.Unmarshal(body, &list) != nil || len(list.Data) == 0 {
		return c.checkByAsking(cctx, e)
	}
	names := make([]string, len(list.Data))
	for i, m := range list.Data {
		if names[i] = m.ID; sameModel(m.ID, e.Model) {
			return nil
		}
	}
	if len(names) > 12 {
		names = append(names[:12], "…")
	}
	return e.errorf(Rejected, fmt.Sprintf("the endpoint has no model %q; it has: %s", e.Model, strings.Join(names, ", ")), nil)
}

// sameModel compares names as endpoints do: Ollama's tag :latest may be left
// out, Gemini's list says models/NAME.
func sameModel(listed, wanted string) bool {
	bare := func(s string) string {
		return strings.TrimSuffix(strings.TrimPrefix(strings.ToLower(s), "models/"), ":latest")
	}
	return bare(listed) == bare(wanted)
}

func (c *Chain) checkByAsking(ctx context.Context, e *endpoint) error {
	p := &assistant.Prompt{MaxTokens: 1, Messages: []assistant.PromptMessage{{Role: "user", Content: assistant.Content{"Say yes."}}}}
	_, _, err := e.attempt(ctx, p, &c.o, func(*assistant.Delta) error { return nil }, nil)
	var model *Error
	if errors.As(err, &model) && (model.Kind == Empty || model.Kind == Filtered) {
		return nil // it answered, if with nothing
	}
	return err
}
