package model

import (
	"errors"
	"fmt"
	"io"
)

// chunks takes HTTP/1.1's chunked transfer coding (RFC 9112 §7.1) off a body,
// in the buffer that the body was read into, however its reads cut it.
// net/http's reader for it wants a buffer of its own, which every stream that
// waits would hold and every token would be copied from. Like that one it
// wants CRLF behind a size, and bounds what is no data; a trailer is passed
// over without a look at its fields.
type chunks struct {
	at     chunkPlace
	digits int8   // of the size at hand, read so far
	line   int16  // bytes since the last data, or since the trailer began
	left   uint64 // bytes of the chunk that are still to come
	excess int64  // how much more there was of other bytes than the data explains
}

type chunkPlace uint8

const (
	chunkSize      chunkPlace = iota
	chunkSpace                // behind the size
	chunkExtension            // up to the line's end
	chunkSizeEnd              // CR came
	chunkData
	chunkDataCR
	chunkDataEnd // CR came
	trailerStart // of a line; an empty one is the last
	trailerLine
	trailerLineEnd // CR came
	trailerEnd     // CR of the empty line came
	chunksOver
)

const (
	maxChunk       = 1 << 60
	maxChunkExcess = 16 << 10
	maxChunkLine   = 8 << 10 // also of all lines of a trailer
	chunkAllowance = 16      // bytes of a size's line that are no excess
)

var (
	errChunks      = errors.New("malformed chunked encoding")
	errChunkSize   = errors.New("malformed chunked encoding: a size beyond all bounds")
	errChunkExcess = errors.New("malformed chunked encoding: more of it than of the data")
	errTrailer     = fmt.Errorf("the trailer of the answer is longer than %d kB", maxChunkLine>>10)
)

// strip moves the data that b holds to its front, and returns how much that
// is. Once the body is over the error is io.EOF, and rest the number of bytes
// behind it.
func (c *chunks) strip(b []byte) (n, rest int, err error) {
	for i := 0; i < len(b); {
		if c.at == chunkData {
			m := int(min(c.left, uint64(len(b)-i)))
			copy(b[n:], b[i:i+m])
			n, i = n+m, i+m
			if c.left -= uint64(m); c.left == 0 {
				c.at = chunkDataCR
			}
			continue
		}
		if c.at == chunksOver {
			return n, len(b) - i, io.EOF
		}
		if err := c.sign(b[i]); err != nil {
			return n, 0, err
		}
		i++
	}
	if c.at == chunksOver {
		return n, 0, io.EOF
	}
	return n, 0, nil
}

// sign takes a byte that is no data.
func (c *chunks) sign(b byte) error {
	c.line++
	if c.line > maxChunkLine {
		if c.at >= trailerStart {
			return errTrailer
		}
		return errChunkExcess
	}
	switch c.at {
	case chunkSize:
		if d, ok := hexDigit(b); ok {
			c.left = c.left<<4 | uint64(d)
			if c.digits++; c.digits > 16 || c.left > maxChunk {
				return errChunkSize
			}
			return nil
		}
		if c.digits == 0 {
			return errChunks
		}
		return c.afterSize(b)
	case chunkSpace:
		return c.afterSize(b)
	case chunkExtension:
		switch b {
		case '\r':
			c.at = chunkSizeEnd
		case '\n':
			return errChunks
		}
	case chunkSizeEnd:
		if b != '\n' {
			return errChunks
		}
		c.excess = max(0, c.excess+int64(c.line)-chunkAllowance-2*int64(c.left))
		if c.excess > maxChunkExcess {
			return errChunkExcess
		}
		c.at, c.digits, c.line = chunkData, 0, 0
		if c.left == 0 {
			c.at = trailerStart
		}
	case chunkDataCR:
		if b != '\r' {
			return errChunks
		}
		c.at = chunkDataEnd
	case chunkDataEnd:
		if b != '\n' {
			return errChunks
		}
		c.at = chunkSize
	case trailerStart:
		c.at = trailerLine
		if b == '\r' {
			c.at = trailerEnd
		}
	case trailerLine:
		if b == '\r' {
			c.at = trailerLineEnd
		}
	case trailerLineEnd:
		switch b {
		case '\n':
			c.at = trailerStart
		case '\r':
		default:
			c.at = trailerLine
		}
	case trailerEnd:
		if b != '\n' {
			return errChunks
		}
		c.at = chunksOver
	}
	return nil
}

// afterSize takes a byte behind a chunk's size.
func (c *chunks) afterSize(b byte) error {
	switch b {
	case '\r':
		c.at = chunkSizeEnd
	case ';':
		c.at = chunkExtension
	case ' ', '\t':
		c.at = chunkSpace
	default:
		return errChunks
	}
	return nil
}

func hexDigit(b byte) (d byte, ok bool) {
	switch {
	case b >= '0' && b <= '9':
		return b - '0', true
	case b|0x20 >= 'a' && b|0x20 <= 'f':
		return b | 0x20 - 'a' + 10, true
	}
	return 0, false
}
