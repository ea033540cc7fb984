package datastream_test

import (
	"io"
	"testing"

	"github.com/caddy-docs/caddy-docs/caddytest/encodertest"
	"github.com/caddy-docs/caddy-docs/caddytest/stream"
	"github.com/caddy-docs/caddy-docs/encoding/datastream"
)

var protocol = encodertest.Protocol{
	New: func(w io.Writer, flush func() error) encodertest.Encoder {
		return datastream.NewEncoder(w, flush)
	},
	Read: stream.ReadV1, SetHeader: datastream.SetHeader,
}

func TestEncoder(t *testing.T) { protocol.Test(t) }

func FuzzRoundTrip(f *testing.F) { protocol.FuzzRoundTrip(f) }

func BenchmarkToken(b *testing.B) { protocol.BenchmarkToken(b) }

func BenchmarkTokenOfFive(b *testing.B) { protocol.BenchmarkTokenOfFive(b) }
