package retrieval

import (
	"crypto/sha256"
	"fmt"
	"time"
)

const (
	// holdFrom is the number of pages from which a site is guarded. Smaller
	// sites lose half of their pages on purpose.
	holdFrom = 10
	// holdFor is how long a source that lost most of its pages must stay
	// unchanged before its pages are published.
	holdFor = 5 * time.Second
)

// hold keeps a refresh from publishing a deploy that is in progress: a folder
// that is emptied and filled again. A source is held from when most pages are
// missing until it has not changed for holdFor, even if most pages are back
// before.
type hold struct {
	since time.Time // when the files of seen were found; zero: not held
	seen  [sha256.Size]byte
}

// check returns why the files may not yet replace the documents, "" if they
// may.
func (h *hold) check(documents []*Document, files []File, now time.Time) string {
	if len(documents) < holdFrom {
		*h = hold{}
		return ""
	}
	found := make(map[string]bool, len(files))
	sum := sha256.New()
	for _, f := range files {
		found[f.Path] = true
		fmt.Fprintf(sum, "%q %d %d\n", f.Path, f.Size, f.Modified.UnixNano())
	}
	lost := 0
	for _, d := range documents {
		if !found[d.File] {
			lost++
		}
	}
	mostLost := 2*lost > len(documents)
	if h.since.IsZero() && !mostLost {
		return ""
	}
	if seen := [sha256.Size]byte(sum.Sum(nil)); h.since.IsZero() || seen != h.seen {
		h.since, h.seen = now, seen
	}
	switch {
	case len(files) == 0:
		// An unmounted volume looks like this. To have no pages, operators
		// remove the site.
		return fmt.Sprintf("the site's folder has no pages; the %d previous pages are served until it has some", len(documents))
	case now.Sub(h.since) >= holdFor:
		*h = hold{}
		return ""
	case mostLost:
		return fmt.Sprintf("%d of %d pages are missing; the previous pages are served until the folder has been unchanged for %s",
			lost, len(documents), holdFor)
	}
	return fmt.Sprintf("pages were missing and are coming back; the previous pages are served until the folder has been unchanged for %s", holdFor)
}
