package app

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/caddy-docs/caddy-docs/assistant"
)

// tracerName names the instrumentation in every span of ours.
const tracerName = "github.com/caddy-docs/caddy-docs"

// startSpan begins a span below the one that Caddy's directive tracing put
// into the request's context. Without it, or where the trace is not sampled,
// the span is one that does nothing.
func startSpan(ctx context.Context, name string, attributes ...attribute.KeyValue) (context.Context, trace.Span) {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return ctx, trace.SpanFromContext(context.Background())
	}
	return parent.TracerProvider().Tracer(tracerName).Start(ctx, name, trace.WithAttributes(attributes...))
}

// endSpan ends a span. Errors keep their text to the log: it may quote what
// an endpoint said. A client that went away is no error.
func endSpan(s trace.Span, err error) {
	if err != nil && !errors.Is(err, context.Canceled) && s.IsRecording() {
		kind := "failed"
		if errors.Is(err, assistant.ErrModel) {
			kind = "model failed"
		}
		s.SetStatus(codes.Error, kind)
	}
	s.End()
}

// Step begins a step of answering a request, as a span where requests are
// traced; the function that it returns ends it. It is assistant.Input.Trace,
// and what the handlers do besides.
func (a *App) Step(ctx context.Context, name string) (context.Context, func(error)) {
	if !trace.SpanFromContext(ctx).IsRecording() {
		return ctx, untraced
	}
	ctx, s := startSpan(ctx, "docs."+name)
	return ctx, func(err error) { endSpan(s, err) }
}

func untraced(error) {}

// observed is a model whose requests are spans.
type observed struct{ assistant.Model }

// Stream is the model's, with what it counted on its span.
func (m observed) Stream(ctx context.Context, p *assistant.Prompt, each func(*assistant.Delta) error) (*assistant.Completion, error) {
	if !trace.SpanFromContext(ctx).IsRecording() {
		return m.Model.Stream(ctx, p, each)
	}
	return m.record(ctx, p, each)
}

func (m observed) record(ctx context.Context, p *assistant.Prompt, each func(*assistant.Delta) error) (*assistant.Completion, error) {
	ctx, s := startSpan(ctx, "docs.model", attribute.String("gen_ai.request.model", m.Name()))
	c, err := m.Model.Stream(ctx, p, each)
	if c != nil {
		s.SetAttributes(attribute.String("gen_ai.response.model", c.Model), attribute.String("gen_ai.response.finish_reason", c.Reason))
		if c.Usage.Known {
			s.SetAttributes(attribute.Int("gen_ai.usage.input_tokens", c.Usage.InputTokens), attribute.Int("gen_ai.usage.output_tokens", c.Usage.OutputTokens))
		}
	}
	endSpan(s, err)
	return c, err
}
