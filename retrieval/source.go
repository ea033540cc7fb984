package retrieval

import (
	"context"
	"errors"
	"time"
)

// File is one file (or address) of a source that may be a page.
type File struct {
	// Path is the slash path below the source's root, or the absolute
	// address of a page of a sitemap.
	Path string
	// Size in bytes, -1 where the source doesn't know it before it reads.
	Size int64
	// Version changes when the content may have changed: equal versions that
	// are not empty mean that the file need not be read again. "" where the
	// source cannot tell (a file so young that its time stamp proves nothing).
	Version string
	// Modified is when the content last changed, zero where unknown.
	Modified time.Time
	// Tag is what Read gave with the content that its caller has, "" for
	// none. A source that can ask for changes alone does.
	Tag string
}

// Content is a file's bytes.
type Content struct {
	Data []byte
	// Tag names this content where the source can compare (an HTTP
	// validator); see File.Tag.
	Tag string
}

// Problem is a page that is not as it should be in the index, and why.
type Problem struct {
	File   string    `json:"file"`
	Reason string    `json:"reason"`
	Since  time.Time `json:"since"`
}

// Source is where a site's pages come from: a folder or a sitemap.
type Source interface {
	// Snapshot looks at all that is there now. An error that wraps
	// fs.ErrNotExist means that the whole source is gone.
	Snapshot(ctx context.Context) (Snapshot, error)
	// Watch blocks until ctx is done and calls changed whenever something
	// may have changed since the last snapshot. changed doesn't block.
	Watch(ctx context.Context, changed func()) error
}

// Snapshot is one consistent look at a source. Read may be called from
// several goroutines.
type Snapshot interface {
	// Files are all files, sorted by path, no path twice.
	Files() []File
	// Problems are files and folders that could not be looked at.
	Problems() []Problem
	// Read returns a file's content. Its error wraps fs.ErrNotExist for a
	// file that is gone by now, ErrNotPage for one that is no page after all,
	// ErrUnchanged for one whose content is still that of file.Tag, and
	// ErrTemporary for a failure that says nothing about the page: its last
	// good version then stays in the index.
	Read(ctx context.Context, file File) (Content, error)
	// Workers is how many reads may run at once where they wait for the
	// network; 0 where they take the processor's time.
	Workers() int
	// Current reports whether the source is still the one looked at. It is
	// false once a deploy has put another folder in its place: what was read
	// is then thrown away, so that no generation mixes two releases.
	Current() bool
	// Close releases what the snapshot holds open.
	Close() error
}

var (
	// ErrTemporary is wrapped by Snapshot.Read where the page may well be
	// fine: a site that answers 503, a process out of file descriptors.
	ErrTemporary = errors.New("temporary failure")
	// ErrUnchanged is wrapped by Snapshot.Read: the caller has the content.
	ErrUnchanged = errors.New("not changed")
	// ErrNotPage is wrapped by Snapshot.Read for files that turn out to be
	// no pages (a redirect to another page, noindex in a header). They are
	// left out without a problem.
	ErrNotPage = errors.New("not a page")
)

// Ingester turns bytes into documents. Package ingest has one.
type Ingester interface {
	// Wants reports, by its name alone, whether a file is a page.
	Wants(file string) bool
	// Page is the name of the page that a file holds.
	Page(file string) string
	// Prefer reports whether file a, not b, is the page that both hold.
	Prefer(a, b string) bool
	// Document reads one page. It returns nil without an error for files
	// that are no pages (drafts, noindex), and warnings about parts that it
	// could not read. It doesn't keep data.
	Document(file string, data []byte) (document *Document, warnings []string, err error)
	// Complete gives documents, which are all of the site's, what only the
	// whole site can tell. It changes none of them but returns copies in the
	// place of those that it completes.
	Complete(documents []*Document) []*Document
	// Fingerprint changes with every setting that changes documents: when it
	// does, all files are read again.
	Fingerprint() string
}
