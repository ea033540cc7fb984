package disk

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestTheLogKeepsDataOnce(t *testing.T) {
	t.Parallel()
	s := NewLog(t.TempDir())
	defer s.Close()
	for range 3 {
		if err := s.Put("a", []byte("some data")); err != nil {
			t.Fatal(err)
		}
	}
	if want := int64(8 + len("some data")); s.size != want {
		t.Errorf("the file has %d bytes, want %d", s.size, want)
	}
	if data, err := s.Get("a"); err != nil || string(data) != "some data" {
		t.Errorf("read %q, %v", data, err)
	}
	if _, err := s.Get("b"); !errors.Is(err, ErrMissing) {
		t.Errorf("what was never put: %v", err)
	}

	// Another process reads it once it knows where it is.
	refs, err := s.Retain(slices.Values([]string{"a", "b"}))
	if err != nil || len(refs) != 1 {
		t.Fatalf("%v, %v", refs, err)
	}
	other := NewLog(s.dir)
	defer other.Close()
	other.Use(refs)
	if data, err := other.Get("a"); err != nil || string(data) != "some data" {
		t.Errorf("another process reads %q, %v", data, err)
	}

	// A damaged file is noticed, and what is put again replaces it.
	path := filepath.Join(s.dir, s.own)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)-2] ^= 1
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get("a"); !errors.Is(err, ErrMissing) {
		t.Errorf("a damaged file: %v", err)
	}
	if err := s.Put("a", []byte("some data")); err != nil {
		t.Fatal(err)
	}
	if data, err := s.Get("a"); err != nil || string(data) != "some data" {
		t.Errorf("after it is put again: %q, %v", data, err)
	}
}
