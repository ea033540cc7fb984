package moved

import (
	"cmp"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/caddy-docs/caddy-docs/retrieval/disk"
)

const (
	// format changes with the meaning of a record's fields.
	format = 1
	// maxAddresses are remembered of a site, with recordSize bytes on average.
	maxAddresses, recordSize = 100_000, 200
	// maxTitle and maxAnchor are the longest that are remembered, in bytes.
	maxTitle, maxAnchor = 48, 60
)

// record is what is remembered of an address.
type record struct {
	// Path is that of the page's URL.
	Path, Title string
	// Content identifies the text that Sketch is of.
	Content uint64
	Sketch  []byte
	// Open reports that the page was public.
	Open bool
	// Seen is when the address last had a page, in seconds; 0 if it has one.
	Seen   int64
	Proved bool
	// To are the places where the page may be, the likeliest first.
	To []place
}

// place is a place of a record.
type place struct {
	At     int // of the address, in the file
	Anchor string
	Share  uint8 // percent

	address string
}

// share is the largest of the places.
func (r *record) share() (most float64) {
	for _, p := range r.To {
		most = max(most, float64(p.Share)/100)
	}
	return most
}

// size is about what the record takes in the file.
func (r *record) size() int {
	n := 32 + len(r.Path) + len(r.Title) + len(r.Sketch)
	for _, p := range r.To {
		n += 8 + len(p.Anchor)
	}
	return n
}

// header begins the file.
type header struct{ Format, Records int }

// load reads the records of the file. It has none if there is no file or it is of
// another format.
func load(path string) (map[string]*record, error) {
	records := map[string]*record{}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return records, nil
	}
	if err != nil {
		return records, err
	}
	defer f.Close()
	d := gob.NewDecoder(f)
	var h header
	if err := d.Decode(&h); err != nil || h.Format != format {
		return records, err
	}
	list := make([]*record, 0, min(h.Records, maxAddresses))
	for range cap(list) {
		r := new(record)
		if err := d.Decode(r); err != nil {
			return map[string]*record{}, fmt.Errorf("reading %q: %w", path, err)
		}
		list = append(list, r)
		records[Address(r.Path)] = r
	}
	for _, r := range list {
		for i := range r.To {
			if at := r.To[i].At; at >= 0 && at < len(list) {
				r.To[i].address = Address(list[at].Path)
			}
		}
	}
	return records, nil
}

// save writes the records, without the oldest if there are too many. It
// removes those from the map.
func save(path string, records map[string]*record) error {
	list := make([]*record, 0, len(records))
	total := 0
	for _, r := range records {
		list, total = append(list, r), total+r.size()
	}
	slices.SortFunc(list, func(a, b *record) int { // those with a page first, then the latest
		return cmp.Or(cmp.Compare(b.last(), a.last()), cmp.Compare(a.Path, b.Path))
	})
	for n := len(list); n > maxAddresses || total > maxAddresses*recordSize; n-- {
		total -= list[n-1].size()
		delete(records, Address(list[n-1].Path))
		list = list[:n-1]
	}
	if path == "" {
		return nil
	}
	at := make(map[string]int, len(list))
	for i, r := range list {
		at[Address(r.Path)] = i
	}
	return disk.WriteFile(path, func(w io.Writer) error {
		e := gob.NewEncoder(w)
		if err := e.Encode(header{format, len(list)}); err != nil {
			return err
		}
		for _, r := range list {
			r.To = slices.DeleteFunc(r.To, func(p place) bool { _, ok := at[p.address]; return !ok })
			r.Proved = r.Proved && len(r.To) > 0
			for i := range r.To {
				r.To[i].At = at[r.To[i].address]
			}
			if err := e.Encode(r); err != nil {
				return err
			}
		}
		return nil
	})
}

// last is when the address last had a page.
func (r *record) last() int64 {
	if r.Seen == 0 {
		return 1 << 62
	}
	return r.Seen
}

func (r *record) time() time.Time { return time.Unix(r.Seen, 0).UTC() }
