package insights

import (
	"context"
	"fmt"
	"strings"
)

// migrations are the steps from an empty database to the schema of this
// release. A step never changes once it was released: add another one.
var migrations = [][]string{
	{
		`create table docs_sites (
			id {id}, organization text not null, name text not null,
			unique (organization, name)
		) {table}`,

		// The texts of searches. seen counts the searches with it, none, weak and
		// unclicked some of them; first and last are days. By these totals, which
		// are never less than the counts of a period, Searches finds the rows of
		// docs_day_query that matter.
		`create table docs_queries (
			id {id}, site {int} not null,
			"text" text not null,
			seen {int} not null, none {int} not null, weak {int} not null, unclicked {int} not null,
			first {int} not null, last {int} not null,
			unique (site, text)
		) {table}`,
		`create index docs_queries_seen on docs_queries (site, seen desc, id)`,
		`create index docs_queries_none on docs_queries (site, none desc, id) where none > 0`,
		`create index docs_queries_weak on docs_queries (site, weak desc, id) where weak > 0`,
		`create index docs_queries_unclicked on docs_queries (site, unclicked desc, id) where unclicked > 0`,
		`create table docs_searches (
			id {id}, site {int} not null, at {int} not null, query {int}, hits {int} not null, top {real},
			tracked {int} not null, clicks {int} not null, language text not null, source text not null
		) {table}`,
		`create index docs_searches_at on docs_searches (site, at)`,
		`create index docs_searches_query on docs_searches (query, at)`,
		`create table docs_clicks (
			id {id}, site {int} not null, at {int} not null, query {int}, page text not null, position {int} not null,
			source text not null
		) {table}`,
		`create index docs_clicks_at on docs_clicks (site, at)`,
		`create index docs_clicks_query on docs_clicks (query, page)`,

		// rating of votes: 1 up, -1 down.
		`create table docs_replies (
			id {id}, site {int} not null, at {int} not null, thread text not null, message text not null,
			question text not null, stems text not null, outcome text not null, answered text not null,
			model text not null, language text not null, source text not null,
			page text not null, nearest text not null, cited text not null,
			input_tokens {int} not null, output_tokens {int} not null,
			first_token {int} not null, took {int} not null, replaced {int} not null
		) {table}`,
		`create index docs_replies_at on docs_replies (site, at, first_token)`,
		`create index docs_replies_thread on docs_replies (site, thread, stems)`,
		`create index docs_replies_gap on docs_replies (site, stems, at, answered, replaced, nearest) where answered in ('no', 'partly') and replaced = 0`,
		`create table docs_conversations (
			site {int} not null, thread text not null, first {int} not null, last {int} not null, turns {int} not null,
			question text not null, page text not null, source text not null,
			yes {int} not null, partly {int} not null, no {int} not null, failed {int} not null,
			up {int} not null, down {int} not null,
			id {id}, unique (site, thread)
		) {table}`,
		`create index docs_conversations_last on docs_conversations (site, last)`,
		`create table docs_votes (
			id {id}, site {int} not null, at {int} not null, thread text not null, message text not null, page text not null,
			rating {int} not null, reasons text not null, comment text not null, source text not null,
			state text not null, note text not null
		) {table}`,
		`create index docs_votes_at on docs_votes (site, at)`,
		`create unique index docs_votes_message on docs_votes (site, thread, message) where thread <> ''`,
		`create table docs_gaps (
			site {int} not null, stems text not null, state text not null, note text not null, at {int} not null,
			primary key (site, stems)
		) {keyed}`,

		`create table docs_day_site (
			site {int} not null, day {int} not null, source text not null,
			searches {int} not null, none {int} not null, weak {int} not null,
			tracked {int} not null, clicked {int} not null, clicks {int} not null, positions {int} not null,
			conversations {int} not null, replies {int} not null,
			yes {int} not null, partly {int} not null, no {int} not null, failed {int} not null,
			input_tokens {int} not null, output_tokens {int} not null, up {int} not null, down {int} not null,
			primary key (site, day, source)
		) {keyed}`,
		`create table docs_day_query (
			site {int} not null, day {int} not null, query {int} not null,
			searches {int} not null, none {int} not null, weak {int} not null,
			tracked {int} not null, clicked {int} not null, clicks {int} not null, positions {int} not null,
			primary key (site, query, day)
		) {keyed}`,
		`create index docs_day_query_day on docs_day_query (site, day)`,
		`create table docs_day_key (
			site {int} not null, day {int} not null, name text not null,
			searches {int} not null, replies {int} not null,
			primary key (site, day, name)
		) {keyed}`,
		`create table docs_day_latency (
			site {int} not null, day {int} not null, bucket {int} not null, replies {int} not null,
			primary key (site, day, bucket)
		) {keyed}`,

		`create table docs_audit (
			id {id}, at {int} not null, organization text not null, site text not null,
			who text not null, what text not null, target text not null
		) {table}`,
		`create index docs_audit_at on docs_audit (organization, at)`,
		`create table docs_batches (id text primary key, at {int} not null) {keyed}`,
		`create index docs_batches_at on docs_batches (at)`,
	},
	{
		// A query's rows of a month are on as many pages of a Postgres table, but
		// next to each other in this index. In SQLite, they are in the key.
		onPostgres + `alter table docs_day_query drop constraint docs_day_query_pkey, add primary key (site, query, day)
			include (searches, none, weak, tracked, clicked, clicks, positions)`,
	},
	{
		`alter table docs_replies add column cached_tokens {int} not null default 0`,
		`alter table docs_day_site add column cached_tokens {int} not null default 0`,
	},
	{
		// Of an address in a day, by where the link is and by what asked; at is when
		// it did last, and target where that led.
		`create table docs_day_missing (
			site {int} not null, day {int} not null, path text not null, sent text not null, agent text not null,
			requests {int} not null, redirected {int} not null, target text not null, at {int} not null,
			primary key (site, day, path, sent, agent)
		) {keyed}`,
		`create table docs_missing (
			site {int} not null, path text not null, state text not null, note text not null, at {int} not null,
			primary key (site, path)
		) {keyed}`,
	},
}

// onPostgres begins a statement that is for Postgres only.
const onPostgres = "postgres: "

// Schema is the number of the schema of this release.
func Schema() int { return len(migrations) }

// migrate brings the schema up to date, all steps or none.
func (s *Store) migrate(ctx context.Context) error {
	return s.transaction(ctx, func(t *session) error {
		if s.Lock != "" {
			if _, err := t.exec(s.Lock); err != nil {
				return err
			}
		}
		if _, err := t.exec(s.Types.Replace(`create table if not exists docs_schema (version {int} not null, checked {int} not null) {table}`)); err != nil {
			return fmt.Errorf("creating tables: %w", err)
		}
		version := -1
		if _, err := t.get(into(&version), `select version from docs_schema`); err != nil {
			return err
		}
		if version < 0 {
			if _, err := t.exec(`insert into docs_schema (version, checked) values (0, 0)`); err != nil {
				return err
			}
			version = 0
		}
		if version > len(migrations) {
			return fmt.Errorf("%w (its schema is %d, this release knows %d)", ErrNewer, version, len(migrations))
		}
		for i, step := range migrations[version:] {
			for _, statement := range step {
				statement, only := strings.CutPrefix(statement, onPostgres)
				if only && !s.Dollar {
					continue
				}
				if _, err := t.exec(s.Types.Replace(statement)); err != nil {
					return fmt.Errorf("migration %d: %w", version+i+1, err)
				}
			}
		}
		if version == len(migrations) {
			return nil
		}
		_, err := t.exec(`update docs_schema set version = ?`, len(migrations))
		return err
	})
}
