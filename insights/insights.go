// Package insights records what readers search for and ask, and answers what
// the dashboard, the command line and the weekly report show of it: the
// questions that got no answer, the searches that found nothing.
//
// Events go through a Recorder, which cleans them (bounds, redaction), writes
// them in batches to a Store and, as one line of JSON each, to an Outlet. A
// Store is a database: package sqlite opens one for one Caddy, package postgres
// for several. A list that operators see has a file with its query, its rows and
// the statement that reads them. An event never holds a client's address,
// fingerprint or user agent, except the name of an agent that AgentOf knows, or
// the secret of a key.
package insights

import (
	"errors"
	"time"
)

// Sentinel errors of stores.
var (
	// ErrUnknown is returned for a vote that the site doesn't have.
	ErrUnknown = errors.New("there is no such entry on this site")
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

// rollups is how long the counts of days are kept.
const rollups = 13 * 31 * 24 * time.Hour

// frequent is how often a search must have been seen for its text to be kept
// as long as rollups. Rarer texts may be personal; they go with the events.
const frequent = 3
