package insights

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
)

// Outlet writes events as JSON, one on a line, for other programs to read. A
// nil Outlet writes nothing.
type Outlet struct {
	file string
	to   io.Writer // instead of file

	mu  sync.Mutex
	err error
}

// NewFileOutlet returns an Outlet that appends to a file. It opens the file for
// each batch, so that the file may be moved away at any time.
func NewFileOutlet(file string) *Outlet { return &Outlet{file: file} }

// NewOutlet returns an Outlet that writes to w.
func NewOutlet(w io.Writer) *Outlet { return &Outlet{to: w} }

// Write writes events. What can't be written is left out: see Err.
func (o *Outlet) Write(events []Event) {
	if o == nil {
		return
	}
	var b bytes.Buffer
	lines := NewLineWriter(&b)
	var err error
	for i := range events {
		if err = lines.Write(events[i]); err != nil {
			break
		}
	}
	if err == nil {
		err = o.write(b.Bytes())
	}
	o.mu.Lock()
	o.err = err
	o.mu.Unlock()
}

// LineWriter writes events as JSON, one on a line.
type LineWriter struct {
	enc   *json.Encoder
	lines int
}

// NewLineWriter returns a LineWriter to w.
func NewLineWriter(w io.Writer) *LineWriter {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return &LineWriter{enc: enc}
}

// Write writes an event, its kind in front.
func (w *LineWriter) Write(e Event) error {
	w.lines++
	return w.enc.Encode(struct {
		Kind string `json:"kind"`
		Event
	}{e.Kind(), e})
}

// Lines is how many events were written.
func (w *LineWriter) Lines() int { return w.lines }

func (o *Outlet) write(data []byte) error {
	if o.to != nil {
		_, err := o.to.Write(data)
		return err
	}
	if err := os.MkdirAll(filepath.Dir(o.file), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(o.file, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	before, err := f.Stat()
	if err == nil {
		if _, err = f.Write(data); err != nil {
			_ = f.Truncate(before.Size()) // no half lines on a full disk
		}
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	return err
}

// Err is the error of the last batch, nil if it was written.
func (o *Outlet) Err() error {
	if o == nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return fmt.Errorf("writing events as JSON: %w", o.err)
	}
	return nil
}
