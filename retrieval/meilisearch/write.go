package meilisearch

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
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

// documents calls each with the id, vector and, on demand, _vectors of all
// documents of an index.
func (s *server) documents(ctx context.Context, uid string, vectors bool, each func(sdk.Hit) error) error {
	query := sdk.DocumentsQuery{Limit: idPage, Fields: []string{"id", "vector"}, RetrieveVectors: vectors}
	if vectors {
		query.Limit = vectorPage
	}
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
			if err := each(hit); err != nil {
				return err
			}
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
	err = s.documents(ctx, uid, false, func(hit sdk.Hit) error {
		text := textOf(hit["id"])
		if id, ok := parseID(text); ok {
			held[id] = parseVectorHash(textOf(hit["vector"]))
		} else {
			unknown = append(unknown, text)
		}
		return nil
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
func (x *Index) withVectors(ctx context.Context, s *server, p *plan) iter.Seq2[*record, error] {
	return func(yield func(*record, error) bool) {
		missing := make(map[recordID]location, p.sections)
		p.content.each(p.languageIndex, func(page, section int, id recordID, _ vectorHash) { missing[id] = location{page, section} })
		type stored struct {
			hash   string
			vector *vector
		}
		live := map[string]stored{}
		var list []location
		flush := func() error {
			for r, err := range x.records(p, list) {
				if err != nil {
					return err
				}
				if v := live[r.ID]; v.vector != nil {
					r = r.withEmbedding(v.vector, v.hash)
				} else {
					r = r.withVector(vectorName, nil)
				}
				if !yield(r, nil) {
					return errStopped
				}
			}
			clear(live)
			list = list[:0]
			return nil
		}
		err := s.documents(ctx, p.uid, true, func(hit sdk.Hit) error {
			var v stored
			var all map[string]*vector
			id, _ := parseID(textOf(hit["id"]))
			at, ok := missing[id]
			if !ok {
				return nil
			}
			if json.Unmarshal(hit["vector"], &v.hash) == nil && json.Unmarshal(hit["_vectors"], &all) == nil && all[vectorName] != nil && len(all[vectorName].Embeddings) == 1 {
				v.vector = all[vectorName]
			} else {
				v.hash = ""
			}
			delete(missing, id)
			live[id.String()], list = v, append(list, at)
			if len(list) == vectorPage {
				return flush()
			}
			return nil
		})
		if err == nil {
			err = flush()
		}
		for _, at := range missing {
			list = append(list, at)
		}
		slices.SortFunc(list, func(a, b location) int { return cmp.Or(a.page-b.page, a.section-b.section) })
		if err == nil {
			err = flush()
		}
		if err != nil && !errors.Is(err, errStopped) {
			yield(nil, err)
		}
	}
}

// errStopped ends withVectors.
var errStopped = errors.New("stopped")

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
func (x *Index) begun(ctx context.Context, s *server, p *plan, abandoned []string) (begun string, err error) {
	for _, uid := range abandoned {
		if !strings.HasPrefix(uid, p.uid+"_") {
			continue
		}
		if begun == "" && !s.rewrite {
			settings, err := s.settings(ctx, uid)
			if err != nil {
				return "", err
			}
			if !settingsDiffer(settings, p.settings, false) {
				begun = uid
				continue
			}
		}
		if err := s.drop(ctx, uid); err != nil {
			return "", err
		}
	}
	return begun, nil
}

// useless returns those of the abandoned indexes that can't be of an update that
// is continued soon after a start.
func (x *Index) useless(ctx context.Context, s *server, c *content, abandoned []string) (out []string, err error) {
	for _, uid := range abandoned {
		settings, err := s.settings(ctx, uid)
		if err != nil {
			return nil, err
		}
		language, _, _ := strings.Cut(strings.TrimPrefix(uid, x.uidPrefix), "_")
		if ix := c.indexes[x.uidPrefix+language]; ix == nil || settingsDiffer(settings, x.settingsOf(ix), true) {
			out = append(out, uid)
		}
	}
	return out, nil
}

// fill makes a new index with the settings and records of a plan, or continues
// one that was begun, and checks the number of records.
func (x *Index) fill(ctx context.Context, s *server, uid string, p *plan, begun bool) error {
	// Also if an index has its settings already: once this is done, so is all
	// that was sent before.
	if err := s.setUp(ctx, uid, p.settings, !begun); err != nil {
		return err
	}
	list, remove := p.all(), []string(nil)
	if begun {
		held, unknown, err := s.ids(ctx, uid, p.sections)
		if err != nil {
			return err
		}
		list, remove = list[:0], unknown
		p.content.each(p.languageIndex, func(page, section int, id recordID, vector vectorHash) {
			if v, ok := held[id]; !ok || v != vector {
				list = append(list, location{page, section})
			}
			delete(held, id)
		})
		for id := range held {
			remove = append(remove, id.String())
		}
		x.log.Info("an update of a Meilisearch server that was interrupted is continued", "server", s.url, "index", p.uid, "sections", p.sections, "missing", len(list))
	}
	records := x.records(p, list)
	if p.copyVectors {
		records = x.withVectors(ctx, s, p)
	}
	if err := s.write(ctx, uid, records, remove); err != nil {
		return err
	}
	stats, err := repeat(ctx, s, func() (*sdk.StatsIndex, error) {
		return s.admin.Index(uid).GetStatsWithContext(ctx, &sdk.StatsParams{})
	})
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
func (x *Index) change(ctx context.Context, s *server, p *plan) error {
	changed := func(change func(*record) *record) iter.Seq2[*record, error] {
		return func(yield func(*record, error) bool) {
			for r, err := range x.records(p, p.add) {
				if err == nil {
					r = change(r)
				}
				if !yield(r, err) {
					return
				}
			}
		}
	}
	failure := s.write(ctx, p.uid, changed(func(r *record) *record { return withOrigins(r, p.embedders, x.options.Embedder) }), p.remove)
	if p.dimensions != 0 || codeOf(failure) != "vector_embedding_error" {
		return failure
	}
	plain := changed(func(r *record) *record {
		r = withOrigins(r, p.embedders, x.options.Embedder).withVector(x.options.Embedder, nil)
		r.Vector = failedVector
		return r
	})
	if err := s.write(ctx, p.uid, plain, p.remove); err != nil {
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
	key := "id"
	var batch []*record
	size := 0
	send := func() error {
		if len(batch) == 0 {
			return nil
		}
		err := start(func() (*sdk.TaskInfo, error) {
			return s.admin.Index(uid).AddDocumentsWithContext(ctx, &batch, &sdk.DocumentOptions{PrimaryKey: &key})
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
func (x *Index) discard(s *server, uid string) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if err := s.drop(ctx, uid); err != nil {
		x.log.Debug("an index that was not filled is left for the next attempt", "index", uid, "error", err)
	}
}
