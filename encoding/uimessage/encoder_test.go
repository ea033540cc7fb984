package uimessage_test

import (
	"io"
	"testing"

	"github.com/caddy-docs/caddy-docs/caddytest/encodertest"
	"github.com/caddy-docs/caddy-docs/caddytest/stream"
	"github.com/caddy-docs/caddy-docs/encoding/uimessage"
)

var protocol = encodertest.Protocol{
	New: func(w io.Writer, flush func() error) encodertest.Encoder {
		return uimessage.NewEncoder(w, flush, true)
	},
	Read: stream.ReadV2, SetHeader: uimessage.SetHeader,
}

func TestEncoder(t *testing.T) { protocol.Test(t) }

func FuzzRoundTrip(f *testing.F) { protocol.FuzzRoundTrip(f) }

func BenchmarkToken(b *testing.B) { protocol.BenchmarkToken(b) }

func BenchmarkTokenOfFive(b *testing.B) { protocol.BenchmarkTokenOfFive(b) }
