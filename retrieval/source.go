package retrieval

import (
	"context"
	"errors"
	"time"
)

// MaxPage is the size of the largest page that is read, in bytes.
const MaxPage = 12 << 20

// File is a file or URL of a source that may be a page.
type File struct {
	// Path is the page's address: its URL, or a slash path below the site's
	// root. The extension of a path, .html, .htm, .md or .mdx, says what Read
	// returns, and is no part of the page's address; URLs are of HTML. A
	// fragment is for one of several documents at one address, as in
	// reference.md#tag/pets/operation/listPets.
	Path string
	// Size is in bytes, -1 if it is unknown.
	Size int64
	// Version changes whenever the content may have changed. It is "" if the
	// file must be read to find out, as when it is so young that another
	// change may have the same time stamp.
	Version string
	// Modified is when the content last changed, zero if that is unknown.
	Modified time.Time
	// Tag is the Content.Tag of the content that the caller of Read has, ""
	// for none. Read may then return ErrUnchanged.
	Tag string
}

// Content is a file's bytes.
type Content struct {
	Data []byte
	// Tag identifies this content, if the source can compare contents: an
	// HTTP validator.
	Tag string
}

// Problem is why a page is missing or outdated in the index.
type Problem struct {
	File   string `json:"file"`
	Reason string `json:"reason"`
	// Do is what to do, if File is not a page to fix but something else, such as a
	// site of a group.
	Do    string    `json:"do,omitempty"`
	Since time.Time `json:"since"`
}

// Source provides pages of a site, such as those of a folder or a sitemap.
type Source interface {
	// Snapshot lists the source. An error that wraps fs.ErrNotExist means that
	// the whole source is missing.
	Snapshot(ctx context.Context) (*Snapshot, error)
	// Watch blocks until ctx is done and calls changed whenever something
	// may have changed since the last snapshot. changed doesn't block.
	Watch(ctx context.Context, changed func()) error
}

// Snapshot is the list of a source's files at one time. Read is safe for
// concurrent use.
type Snapshot struct {
	// Files are all files, sorted by path, each path once.
	Files []File
	// Problems are files and folders that could not be listed.
	Problems []Problem
	// Read returns a file's content. Its error wraps fs.ErrNotExist if the
	// file no longer exists, ErrNotPage if it is not a page, ErrUnchanged if its
	// content is still that of file.Tag, and ErrTemporary for a failure that may
	// pass, after which the page's last good version stays in the index.
	Read func(ctx context.Context, file File) (Content, error)
	// Workers is how many reads may run at once if they wait for the network, 0
	// if they don't.
	Workers int
	// Current, if not nil, reports whether the source is still the one that was listed. It
	// is false after a deploy has replaced the folder. What was read is then
	// discarded, so that no generation mixes two releases.
	Current func() bool
	// Close, if not nil, releases the snapshot's resources.
	Close func() error
}

var (
	// ErrTemporary is wrapped by errors of Snapshot.Read that may pass: a site
	// that answers 503, a process out of file descriptors.
	ErrTemporary = errors.New("temporary failure")
	// ErrUnchanged is wrapped by errors of Snapshot.Read if the caller has the
	// content.
	ErrUnchanged = errors.New("not changed")
	// ErrNotPage is wrapped by errors of Snapshot.Read for a redirect to
	// another page, or noindex in a header. The file is left out without a
	// problem.
	ErrNotPage = errors.New("not a page")
)

// Ingester turns bytes into documents. Package ingest implements it.
type Ingester interface {
	// Wants reports whether a file's name is that of a page.
	Wants(file string) bool
	// Page returns the name of the page in a file.
	Page(file string) string
	// Prefer reports whether to read file a, not b, if both hold one page.
	Prefer(a, b string) bool
	// Document parses one page. It returns nil without an error for drafts and
	// noindex pages, and warnings about parts that it could not read. It
	// doesn't keep data.
	Document(file string, data []byte) (document *Document, warnings []string, err error)
	// Learn finds what repeats on the site's pages from a sample of them, by
	// file. Use makes Document leave it out.
	Learn(sample map[string][]byte) Repeated
	Use(found Repeated)
	// Complete adds what depends on the whole site to its documents. It returns
	// changed copies and leaves the documents as they are.
	Complete(documents []*Document) []*Document
	// Fingerprint changes with every setting that changes documents. All files
	// are then read again.
	Fingerprint() string
}
