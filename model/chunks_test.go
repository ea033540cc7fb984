package model

import (
	"bufio"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
)

// stripped reads a body that comes in pieces, each cut off the front of
// what is left as cut says.
func stripped(body string, cut func(left int) int) (data string, rest int, err error) {
	var c chunks
	for err == nil {
		if body == "" {
			return data, 0, io.ErrUnexpectedEOF
		}
		n := min(max(1, cut(len(body))), len(body))
		piece := []byte(body[:n])
		body = body[n:]
		n, rest, err = c.strip(piece)
		data += string(piece[:n])
	}
	return data, rest + len(body), err
}

func whole(left int) int { return left }
func byByte(int) int     { return 1 }

// byNetHTTP is what net/http makes of a body.
func byNetHTTP(body string) (string, error) {
	resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"+body)), nil)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return string(data), err
}

var chunkedBodies = map[string]struct {
	body, data string
	rest       int   // bytes behind a body that is whole
	err        error // of one that is not
}{
	"one chunk":                {"4\r\nwell\r\n0\r\n\r\n", "well", 0, nil},
	"several":                  {"4\r\nwell\r\n1\r\n,\r\n5\r\n then\r\n0\r\n\r\n", "well, then", 0, nil},
	"none":                     {"0\r\n\r\n", "", 0, nil},
	"hexadecimal sizes":        {"1A\r\nabcdefghijklmnopqrstuvwxyz\r\n1a\r\nabcdefghijklmnopqrstuvwxyz\r\n00\r\n\r\n", strings.Repeat("abcdefghijklmnopqrstuvwxyz", 2), 0, nil},
	"line ends in the data":    {"6\r\na\r\n0\r\n\r\n0\r\n\r\n", "a\r\n0\r\n", 0, nil},
	"an extension":             {"4;name=\"value;\"\r\nwell\r\n0;last\r\n\r\n", "well", 0, nil},
	"spaces behind the size":   {"4 \t\r\nwell\r\n0 \r\n\r\n", "well", 0, nil},
	"a trailer":                {"4\r\nwell\r\n0\r\nServer-Timing: a\r\nX: y\r\n\r\n", "well", 0, nil},
	"something behind its end": {"4\r\nwell\r\n0\r\n\r\nHTTP/1.1", "well", 8, nil},
	"long extensions of chunks that are long later": {strings.Repeat("1;"+strings.Repeat("x", 1000)+"\r\na\r\n", 16) + "7d0;" + strings.Repeat("x", 3000) + "\r\n" + strings.Repeat("b", 2000) + "\r\n0\r\n\r\n", strings.Repeat("a", 16) + strings.Repeat("b", 2000), 0, nil},
	"no end":                     {"4\r\nwell\r\n", "well", 0, io.ErrUnexpectedEOF},
	"cut in a chunk":             {"4\r\nwe", "we", 0, io.ErrUnexpectedEOF},
	"cut in the last line":       {"4\r\nwell\r\n0\r\n", "well", 0, io.ErrUnexpectedEOF},
	"a size that is no number":   {"4\r\nwell\r\nx\r\n", "well", 0, errChunks},
	"no size":                    {"\r\n", "", 0, errChunks},
	"a negative size":            {"-4\r\nwell\r\n", "", 0, errChunks},
	"words behind the size":      {"4 x\r\nwell\r\n", "", 0, errChunks},
	"a line that ends with LF":   {"4\nwell\r\n", "", 0, errChunks},
	"an extension that does":     {"4;x\nwell\r\n", "", 0, errChunks},
	"CR alone":                   {"4\rwell\r\n", "", 0, errChunks},
	"a chunk longer than said":   {"3\r\nwell\r\n", "wel", 0, errChunks},
	"a size beyond all bounds":   {"fffffffffffffffff\r\n", "", 0, errChunkSize},
	"an extension without end":   {"4;" + strings.Repeat("x", 32<<10), "", 0, errChunkExcess},
	"extensions instead of data": {strings.Repeat("1;"+strings.Repeat("x", 100)+"\r\na\r\n", 400), strings.Repeat("a", 400), 0, errChunkExcess},
	"a trailer without end":      {"0\r\n" + strings.Repeat("X: y\r\n", 8<<10), "", 0, errTrailer},
}

func TestChunksAreTakenOff(t *testing.T) {
	for name, c := range chunkedBodies {
		for how, cut := range map[string]func(int) int{"whole": whole, "byte by byte": byByte} {
			data, rest, err := stripped(c.body, cut)
			switch {
			case c.err == nil && (!errors.Is(err, io.EOF) || data != c.data || rest != c.rest):
				t.Errorf("%s, %s: %q, %d behind it, %v", name, how, data, rest, err)
			case c.err != nil && (!errors.Is(err, c.err) || !strings.HasPrefix(c.data, data)):
				t.Errorf("%s, %s: %.50q, %v, want %v", name, how, data, err, c.err)
			}
		}
		data, err := byNetHTTP(c.body)
		if c.err == nil && (err != nil || data != c.data) {
			t.Errorf("%s: net/http reads %q, %v", name, data, err)
		} else if c.err != nil && err == nil {
			t.Errorf("%s: net/http takes it: %q", name, data)
		}
	}
}

// Many chunks of one byte are no attack.
func TestShortChunksAreRead(t *testing.T) {
	const n = 100_000
	data, _, err := stripped(strings.Repeat("1\r\na\r\n", n)+"0\r\n\r\n", func(int) int { return 1000 })
	if len(data) != n || !errors.Is(err, io.EOF) {
		t.Error(len(data), err)
	}
}

// What net/http takes is taken, with the same data, however it is cut.
func FuzzChunks(f *testing.F) {
	for _, c := range chunkedBodies {
		f.Add(c.body, uint64(1))
	}
	f.Fuzz(func(t *testing.T, body string, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 0))
		data, rest, err := stripped(body, func(left int) int { return 1 + random.IntN(left) })
		again, restAgain, errAgain := stripped(body, whole)
		if errors.Is(err, io.EOF) != errors.Is(errAgain, io.EOF) || err == nil || errors.Is(err, io.EOF) && (data != again || rest != restAgain) {
			t.Fatalf("cut: %q %d %v, whole: %q %d %v", data, rest, err, again, restAgain, errAgain)
		}
		want, wantErr := byNetHTTP(body)
		if wantErr == nil && (!errors.Is(err, io.EOF) || data != want) {
			t.Fatalf("%q: %q, %v; net/http reads %q", body, data, err, want)
		}
	})
}
