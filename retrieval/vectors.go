package retrieval

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"sync"
)

// VectorKey names a text as a model saw it.
type VectorKey [sha256.Size]byte

// KeyOf returns the key of a text under a model.
func KeyOf(model, text string) VectorKey {
	h := sha256.New()
	fmt.Fprintf(h, "%d\n%s%s", len(model), model, text)
	return VectorKey(h.Sum(nil))
}

// The cache's file: a header (magic, the vectors' length, checksum), then
// records of equal size: key, vector as little-endian float32, CRC-32C of
// both. Records are only appended, several in one write, so a crash can
// leave nothing worse than a cut last record.
const (
	vectorMagic  = "docvec1\n"
	vectorHeader = len(vectorMagic) + 8
	// maxDimensions bounds what a damaged header can make us allocate; the
	// longest embeddings on offer have 4,096 numbers.
	maxDimensions = 1 << 16
	// compactFrom is the number of records below which dead ones are left.
	compactFrom = 1000
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// VectorCache keeps the vectors of one model on disk, so that a text is
// embedded once in its life. Vectors that can't be written (a full disk)
// are kept in memory. It is safe for concurrent use, also of several caches
// on one file: each finds the others' vectors when it writes its own, and
// checks every record that it reads.
type VectorCache struct {
	path string

	mu         sync.Mutex
	file       *os.File
	dimensions int
	offsets    map[VectorKey]int64
	memory     map[VectorKey][]float32
	size       int64
	record     []byte
}

// OpenVectorCache opens or creates the cache at path; "" keeps it in memory.
// Damaged records are dropped, a file of another kind is replaced. The
// returned cache can be used also where the error is not nil: it then keeps
// to memory.
func OpenVectorCache(path string) (*VectorCache, error) {
	c := &VectorCache{path: path, offsets: map[VectorKey]int64{}, memory: map[VectorKey][]float32{}}
	if path == "" {
		return c, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return c, fmt.Errorf("opening the vector cache: %w", err)
	}
	if err := c.open(); err != nil {
		return c, fmt.Errorf("opening the vector cache: %w", err)
	}
	return c, nil
}

// open reads the file's keys and checks every record.
func (c *VectorCache) open() error {
	file, err := os.OpenFile(c.path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	c.file, c.size, c.dimensions = file, 0, 0
	clear(c.offsets)
	r := bufio.NewReaderSize(file, 1<<18)
	head := make([]byte, vectorHeader)
	if _, err := io.ReadFull(r, head); err != nil {
		if errors.Is(err, io.EOF) {
			return nil // new
		}
		return c.file.Truncate(0)
	}
	dimensions := int(binary.LittleEndian.Uint32(head[len(vectorMagic):]))
	if string(head[:len(vectorMagic)]) != vectorMagic || dimensions < 1 || dimensions > maxDimensions ||
		crc32.Checksum(head[:vectorHeader-4], castagnoli) != binary.LittleEndian.Uint32(head[vectorHeader-4:]) {
		return c.file.Truncate(0)
	}
	c.dimensions, c.size = dimensions, int64(vectorHeader)
	record := c.recordBuffer()
	for {
		if _, err := io.ReadFull(r, record); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return c.file.Truncate(c.size) // cut in mid-record
		}
		if intact(record) {
			c.offsets[VectorKey(record)] = c.size
		}
		c.size += int64(len(record))
	}
}

func intact(record []byte) bool {
	body := len(record) - 4
	return crc32.Checksum(record[:body], castagnoli) == binary.LittleEndian.Uint32(record[body:])
}

func (c *VectorCache) recordBuffer() []byte {
	n := sha256.Size + 4*c.dimensions + 4
	if cap(c.record) < n {
		c.record = make([]byte, n)
	}
	return c.record[:n]
}

// Has reports whether a vector is there.
func (c *VectorCache) Has(key VectorKey) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.has(key)
}

func (c *VectorCache) has(key VectorKey) bool {
	if _, ok := c.offsets[key]; ok {
		return true
	}
	_, ok := c.memory[key]
	return ok
}

// Len is the number of vectors.
func (c *VectorCache) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.offsets) + len(c.memory)
}

// Get returns a vector, nil if it is not there or can't be read any more.
// It is the caller's own.
func (c *VectorCache) Get(key VectorKey) []float32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if v, ok := c.memory[key]; ok {
		return append([]float32(nil), v...)
	}
	offset, ok := c.offsets[key]
	if !ok || c.file == nil {
		return nil
	}
	record := c.recordBuffer()
	if _, err := c.file.ReadAt(record, offset); err != nil || !intact(record) || VectorKey(record) != key {
		delete(c.offsets, key)
		return nil
	}
	v := make([]float32, c.dimensions)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(record[sha256.Size+4*i:]))
	}
	return v
}

// Put adds vectors. All have one length; where it differs from that of the
// vectors before, the model has changed behind its name, and those are
// dropped. After an error the vectors are kept in memory.
func (c *VectorCache) Put(keys []VectorKey, vectors [][]float32) error {
	if len(keys) != len(vectors) {
		return fmt.Errorf("%d vectors for %d texts", len(vectors), len(keys))
	}
	if len(keys) == 0 {
		return nil
	}
	dimensions := len(vectors[0])
	for _, v := range vectors {
		if len(v) == 0 || len(v) != dimensions || len(v) > maxDimensions {
			return fmt.Errorf("a vector of length %d beside one of %d", len(v), dimensions)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.follow()
	if c.dimensions != dimensions {
		c.dimensions, c.size = dimensions, 0
		clear(c.offsets)
		clear(c.memory)
		if c.file != nil {
			if err := c.file.Truncate(0); err != nil {
				c.close()
			}
		}
	}
	for i, key := range keys {
		c.memory[key] = vectors[i]
	}
	return c.flush()
}

// follow opens the file anew if somebody else has added to it or replaced
// it: while a configuration is reloaded, the old and the new site work with
// the same file.
func (c *VectorCache) follow() {
	if c.file == nil {
		return
	}
	ours, err := c.file.Stat()
	if err == nil && ours.Size() == c.size {
		if there, err := os.Stat(c.path); err == nil && os.SameFile(ours, there) {
			return
		}
	}
	c.close()
	if err := c.open(); err != nil {
		c.close()
	}
}

// flush writes what stands in memory.
func (c *VectorCache) flush() error {
	if c.path == "" {
		return nil
	}
	if c.file == nil {
		return fmt.Errorf("writing the vector cache %q: %w", c.path, fs.ErrClosed)
	}
	var b []byte
	if c.size == 0 {
		b = appendHeader(b, c.dimensions)
	}
	offset := c.size + int64(len(b))
	added := make(map[VectorKey]int64, len(c.memory))
	for key, v := range c.memory {
		added[key] = offset
		start := len(b)
		b = appendRecord(b, key, v)
		offset += int64(len(b) - start)
	}
	if _, err := c.file.Write(b); err != nil {
		// What was written in part is cut off again.
		if c.file.Truncate(c.size) != nil {
			c.close()
		}
		return fmt.Errorf("writing the vector cache: %w", err)
	}
	maps.Copy(c.offsets, added)
	clear(c.memory)
	c.size = offset
	return nil
}

func appendHeader(b []byte, dimensions int) []byte {
	start := len(b)
	b = append(b, vectorMagic...)
	b = binary.LittleEndian.AppendUint32(b, uint32(dimensions))
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b[start:], castagnoli))
}

func appendRecord(b []byte, key VectorKey, v []float32) []byte {
	start := len(b)
	b = append(b, key[:]...)
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b[start:], castagnoli))
}

// Compact drops what is no longer live, once that is more than half of the
// file. Pages that come back after that are embedded again.
func (c *VectorCache) Compact(live func(VectorKey) bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.file == nil || c.dimensions == 0 {
		return nil
	}
	record := c.recordBuffer()
	records := (c.size - int64(vectorHeader)) / int64(len(record))
	kept := make([]VectorKey, 0, len(c.offsets))
	for key := range c.offsets {
		if live(key) {
			kept = append(kept, key)
		}
	}
	if records < compactFrom || 2*int64(len(kept)) > records {
		return nil
	}
	err := replaceFile(c.path, func(w *bufio.Writer) error {
		if _, err := w.Write(appendHeader(nil, c.dimensions)); err != nil {
			return err
		}
		for _, key := range kept {
			if _, err := c.file.ReadAt(record, c.offsets[key]); err != nil {
				return err
			}
			if _, err := w.Write(record); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("compacting the vector cache: %w", err)
	}
	c.close()
	return c.open()
}

// Close closes the file. What comes after it is kept in memory.
func (c *VectorCache) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.close()
}

func (c *VectorCache) close() error {
	if c.file == nil {
		return nil
	}
	err := c.file.Close()
	c.file = nil
	return err
}
