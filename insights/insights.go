// Package insights records what readers search for and ask, and answers what
// the dashboard, the command line and the weekly report show of it: the
// questions that got no answer, the searches that found nothing.
//
// Events go through a Recorder, which cleans them (bounds, redaction), writes
// them in batches to a Store and, as one line of JSON each, to an Outlet. A
// Store is a database: package sqlite for one Caddy, package postgres for
// several. An event never holds a client's address, user agent or
// fingerprint, or the secret of a key.
package insights

import (
	"context"
	"errors"
	"time"
)

// Store keeps events and counts them. It is safe for concurrent use. All of
// its queries take a Scope: they see one site of one organization, and what
// is unknown there is empty, not an error. Texts in results were written by
// strangers.
type Store interface {
	// Append stores a batch of clean events in one transaction. A batch whose
	// id is stored already changes nothing.
	Append(ctx context.Context, batch Batch) error

	// Sites returns all sites with events, by organization and name.
	Sites(ctx context.Context) ([]Scope, error)
	// Overview returns the site's numbers in a period.
	Overview(ctx context.Context, in Scope, p Period) (Overview, error)
	// Days returns the site's numbers for each day of a period, also for days
	// without events.
	Days(ctx context.Context, in Scope, p Period) ([]Day, error)
	// Searches returns the queries of one kind, the most important first.
	Searches(ctx context.Context, in Scope, q SearchQuery) ([]QueryStats, error)
	// Unanswered returns questions that the documentation did not answer, in
	// groups of the same words, the most frequent first.
	Unanswered(ctx context.Context, in Scope, q GapQuery) ([]Gap, error)
	// UnansweredPages returns the same by the page nearest to the questions:
	// where to write.
	UnansweredPages(ctx context.Context, in Scope, q GapQuery) ([]GapPage, error)
	// SetGap sets the state and the note of a group of questions.
	SetGap(ctx context.Context, in Scope, group string, state State, note string) error
	// Conversations returns conversations, the newest first.
	Conversations(ctx context.Context, in Scope, q ConversationQuery) ([]Conversation, error)
	// Turns returns the replies of a conversation, oldest first, with their
	// votes. Answers are in package thread.
	Turns(ctx context.Context, in Scope, thread string) ([]Turn, error)
	// Slowest returns the replies with the longest time to the first token, up
	// to 50, the slowest first.
	Slowest(ctx context.Context, in Scope, p Period, limit int) ([]Turn, error)
	// Feedback returns votes, the newest first.
	Feedback(ctx context.Context, in Scope, q FeedbackQuery) ([]Feedback, error)
	// SetFeedback sets the state and the note of a vote. It returns ErrUnknown
	// if the site has no such vote.
	SetFeedback(ctx context.Context, in Scope, id int64, state State, note string) error
	// FeedbackPages returns the votes by page, the most down votes first.
	FeedbackPages(ctx context.Context, in Scope, p Period) ([]PageVotes, error)
	// KeyUse returns the requests of each key, day by day, without days on
	// which a key was not used.
	KeyUse(ctx context.Context, in Scope, p Period) ([]KeyDay, error)

	// AddAudit stores who did what, and Audit returns it, the newest first. A
	// scope without a site is the organization.
	AddAudit(ctx context.Context, a Audit) error
	Audit(ctx context.Context, in Scope, before Cursor, limit int) ([]Audit, error)

	// Erase deletes what an erasure names. Only the erasure of a day deletes
	// its counts as well.
	Erase(ctx context.Context, in Scope, e Erasure) (Erased, error)
	// Export calls each with the events of a period that are still stored, by
	// kind and oldest first.
	Export(ctx context.Context, in Scope, p Period, each func(Event) error) error
	// Prune deletes what is older than the retention, in slices, until ctx ends
	// or nothing is left. It returns how many rows it deleted.
	Prune(ctx context.Context, now time.Time, retention time.Duration) (int64, error)

	// Check returns an error if events can't be stored now.
	Check(ctx context.Context) error
	Close() error
}

// Backuper is a Store that can copy itself to a file while it is in use.
type Backuper interface {
	// Backup writes a copy to a file that must not exist.
	Backup(ctx context.Context, file string) error
}

// Sentinel errors of stores.
var (
	// ErrUnknown is returned for a vote that the site doesn't have.
	ErrUnknown = errors.New("there is no such entry at this site")
	// ErrNewer is returned by a store that a newer release has migrated.
	ErrNewer = errors.New("a newer release of caddy-docs has written this database; install that release, or restore a backup")
	// errOpening is returned by queries while the store can't be opened.
	errOpening = errors.New("the insights' store is not open")
)

// Scope is one site of one organization.
type Scope struct {
	Organization string `json:"organization"`
	Site         string `json:"site"`
}

// Rollups is how long the counts of days are kept.
const Rollups = 13 * 31 * 24 * time.Hour

// Frequent is how often a search must have been seen for its text to be kept
// as long as Rollups. Rarer texts may be personal; they go with the events.
const Frequent = 3
