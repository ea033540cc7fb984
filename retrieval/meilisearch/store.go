package meilisearch

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// store keeps the documents of a site on disk, so that memory has their
// outlines only. Each process appends to its own file: during a reload, two
// use one folder.
type store struct {
	dir       string
	temporary bool // dir is removed at the end

	mu    sync.Mutex
	files map[string]*os.File // by name, open for reading
	own   string              // the file that is appended to, "" before the first document
	size  int64               // of own
	refs  map[string]ref      // by storeKey
}

// ref is where a document is.
type ref struct {
	File   string
	Offset int64
	Length uint32
}

const (
	storePattern = "pages-*.bin"
	// compactFrom is from how many bytes on that are no longer used the store
	// is written again, if they are more than half of it.
	compactFrom = 4 << 20
	// staleAge is when files that no process refers to are removed: another
	// process may be about to.
	staleAge = time.Hour
	// maxStored limits what a damaged length can make us allocate.
	maxStored = 256 << 20
)

var errNotStored = errors.New("the page is no longer in the data folder")

func newStore(dir string) *store {
	return &store{dir: dir, files: map[string]*os.File{}, refs: map[string]ref{}}
}

// storeKey identifies a page's own content.
func storeKey(d *retrieval.Document) string {
	return d.Page + "\n" + d.OwnHash()
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// keep writes a document, and returns its outline.
func (s *store) keep(d *retrieval.Document) (*retrieval.Document, error) {
	data, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if at, ok := s.refs[storeKey(d)]; ok && d.Hash != "" {
		if _, err := s.read(at); err == nil { // a refresh that fails and is tried again must not fill the disk
			return d.NewOutline(), nil
		}
	}
	at, err := s.append(data)
	if err != nil {
		return nil, fmt.Errorf("keeping the page %q on disk: %w", d.Page, err)
	}
	s.refs[storeKey(d)] = at
	return d.NewOutline(), nil
}

// append writes a record: length, checksum, data. The caller holds the lock.
func (s *store) append(data []byte) (ref, error) {
	if s.own == "" {
		if err := s.create(); err != nil {
			return ref{}, err
		}
	}
	record := binary.BigEndian.AppendUint32(nil, uint32(len(data)))
	record = binary.BigEndian.AppendUint32(record, crc32.Checksum(data, castagnoli))
	record = append(record, data...)
	if _, err := s.files[s.own].WriteAt(record, s.size); err != nil {
		return ref{}, err
	}
	at := ref{s.own, s.size, uint32(len(data))}
	s.size += int64(len(record))
	return at, nil
}

func (s *store) create() (err error) {
	if s.dir == "" {
		if s.dir, err = os.MkdirTemp("", "caddy-docs-"); err != nil {
			return err
		}
		s.temporary = true
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(s.dir, storePattern)
	if err != nil {
		return err
	}
	s.own, s.size = filepath.Base(f.Name()), 0
	s.files[s.own] = f
	return nil
}

// whole returns the document of an outline.
func (s *store) whole(d *retrieval.Document) (*retrieval.Document, error) {
	if !d.Outline {
		return d, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := s.refs[storeKey(d)]
	if !ok {
		return nil, fmt.Errorf("%w: %s", errNotStored, d.Page)
	}
	data, err := s.read(at)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", errNotStored, d.Page, err)
	}
	var full retrieval.Document
	if err := json.Unmarshal(data, &full); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", errNotStored, d.Page, err)
	}
	return d.Whole(&full), nil
}

// read reads a record. The caller holds the lock.
func (s *store) read(at ref) ([]byte, error) {
	f := s.files[at.File]
	if f == nil {
		var err error
		if f, err = os.Open(filepath.Join(s.dir, at.File)); err != nil {
			return nil, err
		}
		s.files[at.File] = f
	}
	if at.Length > maxStored {
		return nil, errors.New("the length is damaged")
	}
	record := make([]byte, 8+int(at.Length))
	if _, err := f.ReadAt(record, at.Offset); err != nil {
		return nil, err
	}
	if data := record[8:]; crc32.Checksum(data, castagnoli) == binary.BigEndian.Uint32(record[4:]) {
		return data, nil
	}
	return nil, errors.New("the checksum is wrong")
}

// retain forgets all documents except those of outlines, and writes the files
// again if they are mostly unused. It returns where the documents are.
func (s *store) retain(outlines []*retrieval.Document) (map[string]ref, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	live, used := make(map[string]ref, len(outlines)), int64(0)
	for _, d := range outlines {
		if at, ok := s.refs[storeKey(d)]; ok {
			live[storeKey(d)] = at
			used += int64(at.Length) + 8
		}
	}
	s.refs = live
	total := int64(0)
	for name, f := range s.files {
		if info, err := f.Stat(); err == nil && name != "" {
			total += info.Size()
		}
	}
	if unused := total - used; unused > compactFrom && unused > used {
		return live, s.compact()
	}
	return live, nil
}

// compact writes all documents to a new file. The caller holds the lock.
func (s *store) compact() error {
	if err := s.create(); err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(s.refs)) {
		data, err := s.read(s.refs[key])
		if err != nil {
			delete(s.refs, key) // it is read from the site again
			continue
		}
		at, err := s.append(data)
		if err != nil {
			return err
		}
		s.refs[key] = at
	}
	for name, f := range s.files {
		if name != s.own {
			_ = f.Close()
			delete(s.files, name)
		}
	}
	return nil
}

// clean removes the files of earlier processes that are not in use.
func (s *store) clean() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dir == "" {
		return
	}
	used := map[string]bool{s.own: true}
	for _, at := range s.refs {
		used[at.File] = true
	}
	found, _ := filepath.Glob(filepath.Join(s.dir, storePattern)) // the pattern is valid
	for _, path := range found {
		if info, err := os.Stat(path); err == nil && !used[filepath.Base(path)] && time.Since(info.ModTime()) > staleAge {
			_ = os.Remove(path)
		}
	}
}

func (s *store) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.files {
		_ = f.Close()
	}
	clear(s.files)
	if s.temporary {
		_ = os.RemoveAll(s.dir)
	}
}
