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
