package meilisearch

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	sdk "github.com/meilisearch/meilisearch-go"
)

const (
	// maxBatch and maxBatchBytes limit the documents of a request. The server
	// takes 100 MB.
	maxBatch      = 2000
	maxBatchBytes = 4 << 20
	// maxTasks is how many tasks of a server are not waited for.
	maxTasks = 16
	// idPage and vectorPage are how many documents are read at once, without
	// and with their vectors.
	idPage     = 5000
	vectorPage = 500
)

// list returns the uids of a site's indexes: those that are searched, and
// those that were being filled.
func (s *server) list(ctx context.Context, prefix string) (live, filling []string, err error) {
	for offset := int64(0); ; {
		page, err := repeat(ctx, s, func() (*sdk.IndexesResults, error) {
			return s.admin.ListIndexesWithContext(ctx, &sdk.IndexesQuery{Limit: 1000, Offset: offset})
		})
		if err != nil {
			return nil, nil, fmt.Errorf("listing indexes: %w", err)
		}
		for _, ix := range page.Results {
			suffix, ours := strings.CutPrefix(ix.UID, prefix)
			language, random, isFilling := strings.Cut(suffix, "_")
			switch {
			case !ours || language != baseLanguage(language) || isFilling && len(random) != 26:
			case isFilling:
				filling = append(filling, ix.UID)
			default:
				live = append(live, ix.UID)
			}
		}
		offset += int64(len(page.Results))
		if len(page.Results) == 0 || offset >= page.Total {
			return live, filling, nil
		}
	}
}

// documents calls each with the documents of an index that a query asks for.
func (s *server) documents(ctx context.Context, uid string, query sdk.DocumentsQuery, each func(sdk.Hit)) error {
	for {
		page, err := repeat(ctx, s, func() (sdk.DocumentsResult, error) {
			var page sdk.DocumentsResult
			q := query
			return page, s.admin.Index(uid).GetDocumentsWithContext(ctx, &q, &page)
		})
		if err != nil {
			return fmt.Errorf("reading the documents of %s: %w", uid, err)
		}
		for _, hit := range page.Results {
			each(hit)
		}
		progressed(ctx)
		query.Offset += int64(len(page.Results))
		if len(page.Results) == 0 || query.Offset >= page.Total {
			return nil
		}
	}
}

// ids returns the IDs of an index's records with their vectors, and those of
// documents that are no records of this package. sections is how many are
// expected.
func (s *server) ids(ctx context.Context, uid string, sections int) (held map[recordID]vectorHash, unknown []string, err error) {
	held = make(map[recordID]vectorHash, sections)
	err = s.documents(ctx, uid, sdk.DocumentsQuery{Limit: idPage, Fields: []string{"id", "vector"}}, func(hit sdk.Hit) {
		text := textOf(hit["id"])
		if id, ok := parseID(text); ok {
			held[id] = parseVectorHash(textOf(hit["vector"]))
		} else {
			unknown = append(unknown, text)
		}
	})
	return held, unknown, err
}

// parseID reads an ID as the server has it.
func parseID(text string) (id recordID, ok bool) {
	n, err := hex.Decode(id[:], []byte(text[:min(len(text), 2*idSize)]))
	return id, err == nil && n == idSize && id.String() == text
}

// withVectors makes the records of an index with the vectors that the live
// index has.
func (u *update) withVectors(ctx context.Context, p *plan) iter.Seq2[*record, error] {
	return func(yield func(*record, error) bool) {
		for list := range slices.Chunk(u.content.all(p.languageIndex), vectorPage) {
			query := sdk.DocumentsQuery{Limit: vectorPage, Fields: []string{"id", "vector"}, RetrieveVectors: true}
			for _, at := range list {
				query.Ids = append(query.Ids, recordID(u.content.pages[at.page].IDs[at.section]).String())
			}
			live := make(map[string]sdk.Hit, len(list))
			err := u.documents(ctx, p.uid, query, func(hit sdk.Hit) { live[textOf(hit["id"])] = hit })
			if err != nil {
				yield(nil, err)
				return
			}
			for r, err := range u.records(p, list, func(r *record) {
				r.Vectors[vectorName] = nil
				hit := live[r.ID]
				var all map[string]*vector
				if json.Unmarshal(hit["_vectors"], &all) == nil && all[vectorName] != nil && len(all[vectorName].Embeddings) == 1 {
					r.embed(all[vectorName], textOf(hit["vector"]))
				}
			}) {
				if !yield(r, err) {
					return
				}
			}
		}
	}
}

// setUp sets an index's settings, and creates it if create is true.
func (s *server) setUp(ctx context.Context, uid string, settings *sdk.Settings, create bool) error {
	var err error
	if create {
		err = s.task(ctx, func() (*sdk.TaskInfo, error) {
			return s.admin.CreateIndexWithContext(ctx, &sdk.IndexConfig{Uid: uid, PrimaryKey: "id"})
		})
		if codeOf(err) == "index_already_exists" {
			err = nil
		}
	} else {
		err = s.resetSettings(ctx, uid, settings)
	}
	if err == nil {
		err = s.task(ctx, func() (*sdk.TaskInfo, error) { return s.admin.Index(uid).UpdateSettingsWithContext(ctx, settings) })
	}
	if err != nil {
		return fmt.Errorf("setting up %s: %w", uid, err)
	}
	return nil
}

// begun returns the index, of those that were abandoned, that an interrupted
// update has begun to fill for a plan, and drops its others. One with other
// settings is not continued.
func (u *update) begun(ctx context.Context, p *plan, abandoned []string) (begun string, err error) {
	for _, uid := range abandoned {
		if !strings.HasPrefix(uid, p.uid+"_") {
			continue
		}
		if begun == "" && !u.rewrite {
			settings, err := u.settings(ctx, uid)
			if err != nil {
				return "", err
			}
			if !settingsDiffer(settings, p.settings, false) {
				begun = uid
				continue
			}
		}
		if err := u.drop(ctx, uid); err != nil {
			return "", err
		}
	}
	return begun, nil
}

// useless returns those of the abandoned indexes that can't be of an update that
// is continued soon after a start.
func (u *update) useless(ctx context.Context, abandoned []string) (out []string, err error) {
	for _, uid := range abandoned {
		settings, err := u.settings(ctx, uid)
		if err != nil {
			return nil, err
		}
		language, _, _ := strings.Cut(strings.TrimPrefix(uid, u.site.uidPrefix), "_")
		if ix := u.content.indexes[u.site.uidPrefix+language]; ix == nil || settingsDiffer(settings, u.site.settingsOf(ix), true) {
			out = append(out, uid)
		}
	}
	return out, nil
}

// fill makes a new index with the settings and records of a plan, or continues
// one that was begun, and checks the number of records.
func (u *update) fill(ctx context.Context, uid string, p *plan, begun bool) error {
	// Also if an index has its settings already: once this is done, so is all
	// that was sent before.
	if err := u.setUp(ctx, uid, p.settings, !begun); err != nil {
		return err
	}
	list, remove := u.content.all(p.languageIndex), []string(nil)
	if begun {
		held, unknown, err := u.ids(ctx, uid, p.sections)
		if err != nil {
			return err
		}
		list, remove = u.content.changes(p.languageIndex, held, func(has, wanted vectorHash) bool { return has != wanted })
		remove = append(remove, unknown...)
		u.site.log.Info("an update of a Meilisearch server that was interrupted is continued", "server", u.url, "index", p.uid, "sections", p.sections, "missing", len(list))
	}
	records := u.records(p, list, func(*record) {})
	if p.copyVectors {
		records = u.withVectors(ctx, p)
	}
	if err := u.write(ctx, uid, records, remove); err != nil {
		return err
	}
	stats, err := u.stats(ctx, uid)
	if err != nil {
		return err
	}
	if int(stats.NumberOfDocuments) != p.sections {
		return fmt.Errorf("the new index has %d of %d sections", stats.NumberOfDocuments, p.sections)
	}
	return nil
}

// change changes an index in place. If the embedder in its settings fails,
// sections are added without vectors, and the error wraps errNoVectors.
func (u *update) change(ctx context.Context, p *plan) error {
	own := u.site.options.Embedder
	failure := u.write(ctx, p.uid, u.records(p, p.add, func(r *record) { r.setOrigins(p.embedders, own) }), p.remove)
	if p.dimensions != 0 || codeOf(failure) != "vector_embedding_error" {
		return failure
	}
	plain := u.records(p, p.add, func(r *record) {
		r.setOrigins(p.embedders, own)
		r.Vectors[own], r.Vector = nil, failedVector
	})
	if err := u.write(ctx, p.uid, plain, p.remove); err != nil {
		return err
	}
	return fmt.Errorf("%w: %w", errNoVectors, failure)
}

// write adds records to an index, then removes others, so that no page is
// missing in between, and waits until that is done.
func (s *server) write(ctx context.Context, uid string, records iter.Seq2[*record, error], remove []string) error {
	var tasks []*sdk.TaskInfo
	start := func(call func() (*sdk.TaskInfo, error)) error {
		info, err := repeat(ctx, s, call)
		progressed(ctx)
		if tasks = append(tasks, info); err == nil && len(tasks) > maxTasks {
			// The server keeps what is sent to it on disk until it is indexed.
			err = s.await(ctx, tasks[0])
			tasks = tasks[1:]
		}
		return err
	}
	var batch []*record
	size := 0
	send := func() error {
		if len(batch) == 0 {
			return nil
		}
		err := start(func() (*sdk.TaskInfo, error) {
			return s.admin.Index(uid).AddDocumentsWithContext(ctx, &batch, primaryKey)
		})
		batch, size = batch[:0], 0
		return err
	}
	for r, err := range records {
		if err != nil {
			return err
		}
		batch = append(batch, r)
		if size += r.size(); len(batch) == maxBatch || size >= maxBatchBytes {
			if err := send(); err != nil {
				return err
			}
		}
	}
	if err := send(); err != nil {
		return err
	}
	for batch := range slices.Chunk(remove, idPage) {
		err := start(func() (*sdk.TaskInfo, error) { return s.admin.Index(uid).DeleteDocumentsWithContext(ctx, batch, nil) })
		if err != nil {
			return err
		}
	}
	for _, info := range tasks {
		if err := s.await(ctx, info); err != nil {
			return err
		}
	}
	return nil
}

// swap puts new indexes into the place of live ones, which it drops.
func (s *server) swap(ctx context.Context, swaps []*sdk.SwapIndexesParams) error {
	if len(swaps) == 0 {
		return nil
	}
	info, err := s.admin.SwapIndexesWithContext(ctx, swaps) // not repeated: a second swap undoes the first
	if err = s.explain(err); err == nil {
		err = s.await(ctx, info)
	}
	if err != nil {
		return fmt.Errorf("swapping in new indexes: %w", err)
	}
	for _, swap := range swaps {
		if swap.Rename {
			continue
		}
		if err := s.drop(ctx, swap.Indexes[0]); err != nil {
			return err
		}
	}
	return nil
}

// drop deletes an index. If it doesn't exist, that is not an error.
func (s *server) drop(ctx context.Context, uid string) error {
	err := s.task(ctx, func() (*sdk.TaskInfo, error) { return s.admin.DeleteIndexWithContext(ctx, uid) })
	if err != nil && !indexNotFound(err) {
		return fmt.Errorf("deleting %s: %w", uid, err)
	}
	return nil
}

// discard drops an index that could not be filled, even if the time for that
// is over.
func (u *update) discard(uid string) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if err := u.drop(ctx, uid); err != nil {
		u.site.log.Debug("an index that was not filled is left for the next attempt", "index", uid, "error", err)
	}
}
