package disk

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// Key identifies data, such as a text as a model reads it: the first half of a
// SHA-256.
type Key [sha256.Size / 2]byte

func KeyOf(model, text string) Key {
	h := sha256.New()
	fmt.Fprintf(h, "%d\n%s%s", len(model), model, text)
	return Key(h.Sum(nil))
}

// The file of a Vectors has a header (magic, number of dimensions,
// checksum) and then records of equal size: key in a field of keyField bytes,
// vector as little-endian float32, CRC-32C of both. Records are only appended,
// so a crash can damage no more than the last one.
const (
	vectorMagic      = "docvec1\n"
	vectorHeaderSize = len(vectorMagic) + 8
	keyField         = sha256.Size // earlier releases wrote the whole hash
	// maxDimensions limits what a damaged header can make us allocate. The
	// longest embeddings on offer have 4,096 dimensions.
	maxDimensions = 1 << 16
	// compactFrom is the number of records from which a file is compacted.
	compactFrom = 1000
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Vectors keeps the vectors of one model in a file, so that each text is
// embedded once. Vectors that can't be written are kept in memory. Several
// caches may use one file, as during a reload: every record is checked when it
// is read.
type Vectors struct {
	path string // "" keeps all vectors in memory

	mu         sync.Mutex
	dimensions int
	offsets    map[Key]int64
	memory     map[Key][]float32
}

// OpenVectors reads the keys of the file at path, if there is one. Damaged
// records are left out. The cache can be used even if the error is not nil.
func OpenVectors(path string) (*Vectors, error) {
	c := &Vectors{path: path, offsets: map[Key]int64{}, memory: map[Key][]float32{}}
	if path == "" {
		return c, nil
	}
	if err := c.load(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return c, fmt.Errorf("opening the vector cache: %w", err)
	}
	return c, nil
}

func (c *Vectors) load() error {
	f, err := os.Open(c.path)
	if err != nil {
		return err
	}
	defer f.Close()
	c.dimensions = readVectorHeader(f)
	clear(c.offsets)
	if c.dimensions == 0 {
		return nil // empty or of another kind; Put replaces it
	}
	r := bufio.NewReaderSize(f, 1<<18)
	record := make([]byte, vectorRecordSize(c.dimensions))
	for offset := int64(vectorHeaderSize); ; offset += int64(len(record)) {
		if _, err := io.ReadFull(r, record); err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				return nil
			}
			return err
		}
		zeros := len(bytes.Trim(record[keyField:len(record)-4], "\x00")) == 0 // which earlier releases kept
		if !zeros && intact(record) {
			c.offsets[Key(record)] = offset
		}
	}
}

// readVectorHeader returns the number of dimensions, 0 if the file has no
// valid header.
func readVectorHeader(r io.Reader) int {
	header := make([]byte, vectorHeaderSize)
	if _, err := io.ReadFull(r, header); err != nil {
		return 0
	}
	dimensions := int(binary.LittleEndian.Uint32(header[len(vectorMagic):]))
	if dimensions < 1 || dimensions > maxDimensions || !bytes.Equal(header, vectorHeader(dimensions)) {
		return 0
	}
	return dimensions
}

func vectorHeader(dimensions int) []byte {
	b := binary.LittleEndian.AppendUint32([]byte(vectorMagic), uint32(dimensions))
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

func vectorRecordSize(dimensions int) int64 { return int64(keyField + 4*dimensions + 4) }

func intact(record []byte) bool {
	body := len(record) - 4
	return crc32.Checksum(record[:body], castagnoli) == binary.LittleEndian.Uint32(record[body:])
}

// Has reports whether the cache has a vector.
func (c *Vectors) Has(key Key) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, onDisk := c.offsets[key]
	return onDisk || c.memory[key] != nil
}

// Get returns the vectors of keys, nil for each that is missing or damaged.
func (c *Vectors) Get(keys []Key) [][]float32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	vectors := make([][]float32, len(keys))
	var f *os.File
	var err error
	if len(c.offsets) > 0 {
		if f, err = os.Open(c.path); err == nil {
			defer f.Close()
		}
	}
	// A file that can't be read at the moment still has its vectors.
	gone := errors.Is(err, fs.ErrNotExist)
	record := make([]byte, vectorRecordSize(c.dimensions))
	for i, key := range keys {
		vectors[i] = slices.Clone(c.memory[key])
		offset, ok := c.offsets[key]
		if !ok {
			continue
		}
		if f == nil {
			if gone {
				delete(c.offsets, key)
			}
			continue
		}
		_, err := f.ReadAt(record, offset)
		if err != nil && !errors.Is(err, io.EOF) {
			continue
		}
		if err != nil || !intact(record) || Key(record) != key {
			delete(c.offsets, key)
			continue
		}
		vectors[i] = make([]float32, c.dimensions)
		for j := range vectors[i] {
			vectors[i][j] = math.Float32frombits(binary.LittleEndian.Uint32(record[keyField+4*j:]))
		}
	}
	return vectors
}

// Put adds vectors of equal length. If that length differs from the length of
// the vectors in the cache, the model behind the name has changed and those
// are dropped. After an error the new vectors are kept in memory.
func (c *Vectors) Put(keys []Key, vectors [][]float32) error {
	if err := CheckVectors(vectors, len(keys)); err != nil || len(keys) == 0 {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if dimensions := len(vectors[0]); dimensions != c.dimensions {
		c.dimensions = dimensions
		clear(c.offsets)
		clear(c.memory)
	}
	var err error
	if c.path != "" {
		if err = c.write(keys, vectors); err == nil {
			return nil
		}
		err = fmt.Errorf("writing the vector cache: %w", err)
	}
	for i, key := range keys {
		c.memory[key] = vectors[i]
	}
	return err
}

// write appends vectors to the file.
func (c *Vectors) write(keys []Key, vectors [][]float32) error {
	if err := os.MkdirAll(filepath.Dir(c.path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(c.path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	var b []byte
	var end int64
	if readVectorHeader(f) == c.dimensions {
		info, err := f.Stat()
		if err != nil {
			return err
		}
		end = info.Size() - (info.Size()-int64(vectorHeaderSize))%vectorRecordSize(c.dimensions)
	} else {
		b = vectorHeader(c.dimensions)
	}
	if err := f.Truncate(end); err != nil { // a record that a crash left incomplete
		return err
	}
	offsets := make([]int64, len(keys))
	for i, key := range keys {
		offsets[i] = end + int64(len(b))
		b = appendVectorRecord(b, key, vectors[i])
	}
	if _, err := f.Write(b); err != nil {
		return err
	}
	for i, key := range keys {
		c.offsets[key] = offsets[i]
	}
	return nil
}

func appendVectorRecord(b []byte, key Key, v []float32) []byte {
	start := len(b)
	b = append(b, key[:]...)
	b = append(b, make([]byte, keyField-len(key))...)
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b[start:], castagnoli))
}

// Compact removes the vectors that are not live from the file, once they are
// more than half of it.
func (c *Vectors) Compact(live map[Key]bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	f, err := os.Open(c.path)
	if err != nil {
		return nil // no file to compact
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	size := vectorRecordSize(c.dimensions)
	if records := info.Size() / size; records < compactFrom || 2*int64(len(live)) > records {
		return nil
	}
	if err := c.load(); err != nil { // others may have added vectors
		return err
	}
	err = WriteFile(c.path, func(w io.Writer) error {
		if _, err := w.Write(vectorHeader(c.dimensions)); err != nil {
			return err
		}
		for key, offset := range c.offsets {
			if !live[key] {
				continue
			}
			if _, err := io.Copy(w, io.NewSectionReader(f, offset, size)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("compacting the vector cache: %w", err)
	}
	return c.load()
}

// CheckVectors refuses vectors that can't be compared.
func CheckVectors(vectors [][]float32, texts int) error {
	if len(vectors) != texts {
		return fmt.Errorf("the embedder returned %d vectors for %d texts", len(vectors), texts)
	}
	for _, v := range vectors {
		if len(v) == 0 || len(v) > maxDimensions || len(v) != len(vectors[0]) {
			return fmt.Errorf("the embedder returned vectors of %d and %d dimensions", len(vectors[0]), len(v))
		}
		zeros := true
		for _, x := range v {
			zeros = zeros && x == 0
			if x64 := float64(x); math.IsNaN(x64) || math.IsInf(x64, 0) {
				return errors.New("the embedder returned a vector with a number that is not finite")
			}
		}
		if zeros {
			return errors.New("the embedder returned a vector of zeros, or of null")
		}
	}
	return nil
}
