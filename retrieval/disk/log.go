package disk

import (
	"cmp"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// Log keeps data by keys that identify it, so that memory has only where it is.
// Each process appends to its own file: during a reload, two use one folder.
// Nothing is read at the start: Use tells where the data of an earlier run is.
type Log struct {
	dir       string
	temporary bool // dir is removed at the end

	mu    sync.Mutex
	files map[string]*os.File // by name, open for reading
	own   string              // the file that is appended to, "" before the first data
	size  int64               // of own
	refs  Refs
}

// Ref is where data is.
type Ref struct {
	File   string
	Offset int64
	Length uint32
}

// Refs is where data is, by a hash of its key.
type Refs map[Key]Ref

// Of returns where the data of a key is.
func (r Refs) Of(key string) (at Ref, ok bool) {
	at, ok = r[KeyOf("", key)]
	return at, ok
}

// Set says where the data of a key is.
func (r Refs) Set(key string, at Ref) { r[KeyOf("", key)] = at }

const (
	storePattern = "pages-*.bin"
	// compactLogFrom is from how many bytes on that are no longer used the store
	// is written again, if they are more than half of it.
	compactLogFrom = 4 << 20
	// staleAge is when files that no process refers to are removed: another
	// process may be about to.
	staleAge = time.Hour
	// maxStored limits what a damaged length can make us allocate.
	maxStored = 256 << 20
)

// ErrMissing is returned for data that is no longer in the folder.
var ErrMissing = errors.New("it is no longer in the data folder")

// NewLog returns the log of a folder, which is created when it is needed; "" is
// a temporary one.
func NewLog(dir string) *Log {
	return &Log{dir: dir, files: map[string]*os.File{}, refs: Refs{}}
}

// Use makes known where data of an earlier run is.
func (s *Log) Use(refs Refs) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refs = refs
}

// Put keeps data.
func (s *Log) Put(key string, data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at, ok := s.refs.Of(key); ok {
		if _, err := s.read(at); err == nil { // what fails and is tried again must not fill the disk
			return nil
		}
	}
	at, err := s.append(data)
	if err == nil {
		s.refs.Set(key, at)
	}
	return err
}

// Get returns what was put with a key. Its error is ErrMissing.
func (s *Log) Get(key string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at, ok := s.refs.Of(key); ok {
		if data, err := s.read(at); err == nil {
			return data, nil
		}
	}
	return nil, ErrMissing
}

// append writes a record: length, checksum, data. The caller holds the lock.
func (s *Log) append(data []byte) (Ref, error) {
	if s.own == "" {
		if err := s.create(); err != nil {
			return Ref{}, err
		}
	}
	record := binary.BigEndian.AppendUint32(nil, uint32(len(data)))
	record = binary.BigEndian.AppendUint32(record, crc32.Checksum(data, castagnoli))
	record = append(record, data...)
	if _, err := s.files[s.own].WriteAt(record, s.size); err != nil {
		return Ref{}, err
	}
	at := Ref{s.own, s.size, uint32(len(data))}
	s.size += int64(len(record))
	return at, nil
}

func (s *Log) create() (err error) {
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

// read reads a record. The caller holds the lock.
func (s *Log) read(at Ref) ([]byte, error) {
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

// Retain forgets all data except that of keys, and writes the files again if
// they are mostly unused. It returns where the data is.
func (s *Log) Retain(keys iter.Seq[string]) (Refs, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	live, used := Refs{}, int64(0)
	for key := range keys {
		if at, ok := s.refs.Of(key); ok {
			live.Set(key, at)
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
	if unused := total - used; unused > compactLogFrom && unused > used {
		return live, s.compact()
	}
	return live, nil
}

// compact writes all data to a new file. The caller holds the lock.
func (s *Log) compact() error {
	if err := s.create(); err != nil {
		return err
	}
	inOrder := func(a, b Key) int {
		return cmp.Or(cmp.Compare(s.refs[a].File, s.refs[b].File), cmp.Compare(s.refs[a].Offset, s.refs[b].Offset))
	}
	for _, key := range slices.SortedFunc(maps.Keys(s.refs), inOrder) {
		data, err := s.read(s.refs[key])
		if err != nil {
			delete(s.refs, key) // it is made again
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

// Clean removes the files of earlier processes that are not in use.
func (s *Log) Clean() {
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

// Close closes the files.
func (s *Log) Close() {
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
