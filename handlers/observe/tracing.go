package observe

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/caddy-docs/caddy-docs/assistant"
)

// tracerName names the instrumentation in every span of this module.
const tracerName = "github.com/caddy-docs/caddy-docs"

// Span begins a span below the one that Caddy's directive tracing put
// into the request's context. Without it, or if the trace is not sampled, the
// span does nothing.
func Span(ctx context.Context, name string, attributes ...attribute.KeyValue) (context.Context, trace.Span) {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return ctx, trace.SpanFromContext(context.Background())
	}
	return parent.TracerProvider().Tracer(tracerName).Start(ctx, name, trace.WithAttributes(attributes...))
}

// End ends a span. The text of an error is for the log alone, since it may
// quote an endpoint's answer. A client that went away is no error.
func End(s trace.Span, err error) {
	if err != nil && !errors.Is(err, context.Canceled) && s.IsRecording() {
		kind := "failed"
		if errors.Is(err, assistant.ErrModel) {
			kind = "model failed"
		}
		s.SetStatus(codes.Error, kind)
	}
	s.End()
}

// Step begins a step of answering a request, as a span if the request is
// traced; the function that it returns ends it. It is also
// assistant.Input.Trace.
func Step(ctx context.Context, name string) (context.Context, func(error)) {
	ctx, s := Span(ctx, "docs."+name)
	return ctx, func(err error) { End(s, err) }
}

// Model is a model whose requests are spans.
type Model struct{ assistant.Model }

// Stream asks the model.
func (m Model) Stream(ctx context.Context, p *assistant.Prompt, each func(*assistant.Delta) error) (*assistant.Completion, error) {
	ctx, s := Span(ctx, "docs.model", attribute.String("gen_ai.request.model", m.Name()))
	c, err := m.Model.Stream(ctx, p, each)
	if c != nil {
		s.SetAttributes(attribute.String("gen_ai.response.model", c.Model), attribute.String("gen_ai.response.finish_reason", c.Reason))
		if c.Usage.Known {
			s.SetAttributes(attribute.Int("gen_ai.usage.input_tokens", c.Usage.InputTokens), attribute.Int("gen_ai.usage.output_tokens", c.Usage.OutputTokens))
		}
	}
	End(s, err)
	return c, err
}
