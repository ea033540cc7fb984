package insights

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
)

// WriteLine writes an event as a line of JSON, its kind in front.
func WriteLine(w io.Writer, e Event) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(struct {
		Kind string `json:"kind"`
		Event
	}{e.Kind(), e})
}

// FileOutlet returns an outlet of a Recorder that appends lines to a file. It
// opens the file for each batch, so that the file may be moved away at any time.
func FileOutlet(file string) func(lines []byte) error {
	return func(lines []byte) error {
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return err
		}
		f, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
		if err != nil {
			return err
		}
		before, err := f.Stat()
		if err == nil {
			if _, err = f.Write(lines); err != nil {
				_ = f.Truncate(before.Size()) // no half lines on a full disk
			}
		}
		if closing := f.Close(); err == nil {
			err = closing
		}
		return err
	}
}
