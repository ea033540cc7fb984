package retrieval

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"time"
)

const (
	// holdFrom is the number of pages from which a site is guarded: of a
	// handful, half is soon gone by intent.
	holdFrom = 10
	// holdFor is how long a source that lost most of its pages must stay as
	// it is before that is believed.
	holdFor = 5 * time.Second
)

// hold guards against taking a deploy's middle for its end: a folder that is
// emptied and filled again loses, for some seconds, most of its pages. Once
// held, it stays so until nothing changes any more, also when most pages are
// back: half of a new release is no release.
type hold struct {
	since time.Time // when what is there now was first seen; zero: not held
	seen  [sha256.Size]byte
}

// judge says why files may not yet replace the documents, "" if they may.
func (h *hold) judge(current []*Document, files []File, now time.Time) string {
	if len(current) < holdFrom {
		*h = hold{}
		return ""
	}
	there := make(map[string]bool, len(files))
	for _, f := range files {
		there[f.Path] = true
	}
	lost := 0
	for _, d := range current {
		if !there[d.File] {
			lost++
		}
	}
	if h.since.IsZero() && 2*lost <= len(current) {
		return ""
	}
	if len(files) == 0 {
		// An unmounted volume looks like this. An operator who wants no
		// pages removes the site.
		h.since, h.seen = now, sha256.Sum256(nil)
		return fmt.Sprintf("the site's folder holds no pages any more; the %d pages of before are served until it does", len(current))
	}
	if seen := fingerprint(files); h.since.IsZero() || seen != h.seen {
		h.since, h.seen = now, seen
	}
	if now.Sub(h.since) >= holdFor {
		*h = hold{}
		return ""
	}
	if 2*lost <= len(current) {
		return fmt.Sprintf("most pages were gone and are coming back; the pages of before are served until the folder has not changed for %s", holdFor)
	}
	return fmt.Sprintf("%d of %d pages are gone; the pages of before are served until the folder has not changed for %s",
		lost, len(current), holdFor)
}

func fingerprint(files []File) [sha256.Size]byte {
	h := sha256.New()
	var b []byte
	for _, f := range files {
		b = append(b[:0], f.Path...)
		b = append(b, 0)
		b = binary.LittleEndian.AppendUint64(b, uint64(f.Size))
		b = binary.LittleEndian.AppendUint64(b, uint64(f.Modified.UnixNano()))
		h.Write(b)
	}
	return [sha256.Size]byte(h.Sum(nil))
}
