package embedded

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/disk"
)

// texts are the texts of a page's sections, and its links. Once they are in a
// snapshot, they are not held in memory: what is shown is read from the file.
type texts struct {
	whole *retrieval.Document // nil if they are in the file
	file  io.ReaderAt         // a finalizer closes it
	at    int64
	// ends are a 0 and where the sections and the links end, counted from at.
	ends []uint32
}

// pageTexts are a page's texts, shared by all generations that have the page.
type pageTexts = atomic.Pointer[texts]

// holdTexts is true where an open file can't be replaced.
const holdTexts = runtime.GOOS == "windows"

func hold(t *texts) *pageTexts {
	p := &pageTexts{}
	p.Store(t)
	return p
}

// withoutTexts returns a document without its texts, and without links unless it
// is the front page.
func withoutTexts(d *retrieval.Document) *retrieval.Document {
	c := *d
	c.Outline, c.Sections = true, make([]retrieval.Section, len(d.Sections))
	for i, s := range d.Sections {
		s.Text, s.Marks = "", nil
		c.Sections[i] = s
	}
	if c.Page != "" {
		c.Links = nil
	}
	return &c
}

// heldTexts is how many bytes of texts are held in memory before further ones go
// to a file.
const heldTexts = 1 << 20

// kept are the texts that Keep took since the last Replace.
type kept struct {
	size  int64                 // including those in memory
	file  *os.File              // nil if all are in memory
	texts map[string]*pageTexts // by Document.Key
}

// Keep writes a document's texts to a file until the next Replace. It returns the
// document itself while there are few texts, and if the file can't be written.
func (x *Index) Keep(d *retrieval.Document) (*retrieval.Document, error) {
	if x.dir == "" || holdTexts {
		return d, nil
	}
	data, ends, err := (&texts{whole: d}).record(nil)
	if err != nil {
		return d, err
	}
	x.replacing.Lock()
	defer x.replacing.Unlock()
	k := &x.kept
	at := k.size
	if k.size += int64(len(data)); k.size < heldTexts {
		return d, nil
	}
	if k.file == nil {
		k.texts = map[string]*pageTexts{}
		if k.file, err = disk.Scratch(filepath.Join(x.dir, snapshotFile)); err != nil {
			return d, nil //nolint:nilerr // see above
		}
	}
	if _, err = k.file.WriteAt(data, at); err != nil {
		return d, nil //nolint:nilerr // likewise
	}
	o := withoutTexts(d)
	k.texts[o.Key()] = hold(&texts{file: k.file, at: at, ends: ends})
	return o, nil
}

// record returns the texts in the form of a snapshot: for each section the length
// of its text, the text and its marks; then the links. It uses buffer if that has
// room.
func (t *texts) record(buffer []byte) (data []byte, ends []uint32, err error) {
	if t.whole == nil {
		data, err = t.read(buffer, 0, t.ends[len(t.ends)-1])
		return data, t.ends, err
	}
	data, ends = buffer[:0], []uint32{0}
	for _, s := range t.whole.Sections {
		data = append(append(binary.AppendUvarint(data, uint64(len(s.Text))), s.Text...), s.Marks...)
		ends = append(ends, uint32(len(data))) //nolint:gosec // a page is smaller
	}
	if t.whole.Links != nil {
		links, err := json.Marshal(t.whole.Links)
		if err != nil {
			return nil, nil, err
		}
		data = append(data, links...)
	}
	return data, append(ends, uint32(len(data))), nil //nolint:gosec // likewise
}

func (t *texts) read(buffer []byte, from, to uint32) ([]byte, error) {
	data := slices.Grow(buffer[:0], int(to-from))[:to-from]
	if _, err := t.file.ReadAt(data, t.at+int64(from)); err != nil {
		return nil, fmt.Errorf("%w: reading texts of the index: %w", retrieval.ErrUnavailable, err)
	}
	return data, nil
}

// section returns the text of one section.
func (t *texts) section(i int) (string, error) {
	if t.whole != nil {
		return t.whole.Sections[i].Text, nil
	}
	data, err := t.read(nil, t.ends[i], t.ends[i+1])
	text, _ := cutText(data)
	return string(text), err
}

// cutText divides what a snapshot has of a section.
func cutText(data []byte) (text, marks []byte) {
	n, length := binary.Uvarint(data)
	if length <= 0 || n > uint64(len(data)-length) {
		return nil, nil
	}
	data = data[length:]
	return data[:n], data[n:]
}

// document returns a document with its texts.
func (t *texts) document(d *retrieval.Document) (*retrieval.Document, error) {
	if t.whole != nil {
		return d.Whole(t.whole), nil
	}
	data, err := t.read(nil, 0, t.ends[len(t.ends)-1])
	if err != nil {
		return nil, err
	}
	c := *d
	c.Outline, c.Links, c.Sections = false, nil, make([]retrieval.Section, len(d.Sections))
	for i, s := range d.Sections {
		text, marks := cutText(data[t.ends[i]:t.ends[i+1]])
		if s.Text = string(text); len(marks) > 0 {
			s.Marks = marks
		}
		c.Sections[i] = s
	}
	if links := data[t.ends[len(d.Sections)]:]; len(links) > 0 {
		err = json.Unmarshal(links, &c.Links)
	}
	return &c, err
}
