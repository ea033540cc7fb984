package access

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
)

// memory is a Store. Its zero value is empty.
type memory struct {
	mu         sync.Mutex
	values     map[string]string
	err        error // of every call
	getErr     error
	listed     func([]string) []string // what List makes of the names
	gets, puts int
}

var errDown = errors.New("storage is down")

func (m *memory) Get(_ context.Context, key string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.gets++
	if err := cmpErr(m.err, m.getErr); err != nil {
		return nil, err
	}
	v, ok := m.values[key]
	if !ok {
		return nil, &fs.PathError{Op: "get", Path: key, Err: fs.ErrNotExist}
	}
	return []byte(v), nil
}

func (m *memory) Put(_ context.Context, key string, value []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		return m.err
	}
	m.puts++
	if m.values == nil {
		m.values = map[string]string{}
	}
	m.values[key] = string(value)
	return nil
}

func (m *memory) Delete(_ context.Context, key string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		return m.err
	}
	if _, ok := m.values[key]; !ok {
		return fs.ErrNotExist
	}
	delete(m.values, key)
	return nil
}

func (m *memory) List(_ context.Context, prefix string) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		return nil, m.err
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(m.values)) {
		if strings.HasPrefix(name, prefix+"/") {
			names = append(names, name)
		}
	}
	if m.listed != nil {
		names = m.listed(names)
	}
	if names == nil {
		return nil, fs.ErrNotExist
	}
	return names, nil
}

func (m *memory) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.err = err
}

func (m *memory) names() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.values))
}

func (m *memory) written() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.puts
}

func cmpErr(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
