package meilisearch

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"strings"
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

// list returns the uids of a site's indexes: those that are searched, those that
// were being filled, and those for other clients, also of earlier releases.
func (s *replica) list(ctx context.Context) (live, filling, views []string, err error) {
	for offset := 0; ; {
		var page struct {
			Results []struct{ UID string }
			Total   int
		}
		if err := s.admin(ctx, http.MethodGet, fmt.Sprintf("/indexes?limit=1000&offset=%d", offset), nil, &page); err != nil {
			return nil, nil, nil, fmt.Errorf("listing indexes: %w", err)
		}
		for _, ix := range page.Results {
			suffix, own := strings.CutPrefix(ix.UID, s.site.uidPrefix)
			language, random, isFilling := strings.Cut(suffix, "_")
			inView, isView := strings.CutPrefix(ix.UID, s.site.viewPrefix)
			switch {
			case isView && (inView == baseLanguage(inView) || inView == "_owner" || inView == stateIndex):
				views = append(views, ix.UID)
			case !own || language != baseLanguage(language):
			case !isFilling:
				live = append(live, ix.UID)
			case len(random) == len(rand.Text()):
				filling = append(filling, ix.UID)
			}
		}
		offset += len(page.Results)
		if len(page.Results) == 0 || offset >= page.Total {
			return live, filling, views, nil
		}
	}
}

// ids returns the IDs of an index's records with their vectors, and those of
// documents that are no records of this package.
func (s *replica) ids(ctx context.Context, ix *languageIndex) (held map[recordID]string, unknown []string, err error) {
	held = make(map[recordID]string, ix.sections)
	err = documents(ctx, s.server, ix.uid, documentQuery{Limit: idPage, Fields: []string{"id", "vector"}}, func(d *struct{ ID, Vector any }) {
		text, _ := d.ID.(string)
		if id, ok := parseID(text); ok {
			held[id], _ = d.Vector.(string)
			if held[id] == s.site.vectorMark {
				held[id] = s.site.vectorMark // one string
			}
		} else {
			unknown = append(unknown, fmt.Sprint(d.ID))
		}
	})
	return held, unknown, err
}

// parseID reads an ID as the server has it.
func parseID(text string) (id recordID, ok bool) {
	id, err := strconv.ParseUint(text, 16, 64)
	return id, err == nil && formatID(id) == text
}

// continued returns the index, of those that were begun, that an interrupted
// update has begun to fill for a plan, "" if there is none, and drops its others.
// One with other settings is not continued.
func (u *update) continued(ctx context.Context, p *plan, begun []string) (found string, err error) {
	for _, uid := range begun {
		if !strings.HasPrefix(uid, p.uid+"_") {
			continue
		}
		if found == "" && !u.rewrite {
			settings, err := u.settings(ctx, uid)
			if err != nil {
				return "", err
			}
			if !settings.lacks(p.settings) {
				found = uid
				continue
			}
		}
		if err := u.drop(ctx, uid); err != nil {
			return "", err
		}
	}
	return found, nil
}

// fill makes a new index with the settings and records of a plan, or continues
// one that was begun, and checks the number of records.
func (u *update) fill(ctx context.Context, uid string, p *plan, begun bool) error {
	// Also if an index has its settings already: once this is done, so is all
	// that was sent before.
	if err := u.setUp(ctx, uid, p.settings); err != nil {
		return err
	}
	list, remove := u.content.all(p.languageIndex), []string(nil)
	if begun {
		filling := *p.languageIndex
		filling.uid = uid
		held, unknown, err := u.ids(ctx, &filling)
		if err != nil {
			return err
		}
		list, remove, _ = u.content.changes(p.languageIndex, held, func(has string, wanted bool) bool {
			return has != u.site.vectorMark && wanted && u.content.vectors != nil
		})
		remove = append(remove, unknown...)
		u.site.log.Info("resuming an interrupted update of a Meilisearch server", "server", u.url, "index", p.uid, "sections", p.sections, "missing", len(list))
	}
	if err := u.write(ctx, uid, list, u.records(ctx, p, list, func(*record) {}), remove); err != nil {
		return err
	}
	stats, err := u.stats(ctx, uid)
	if err != nil {
		return err
	}
	if stats.NumberOfDocuments != p.sections {
		return fmt.Errorf("the new index has %d of %d sections", stats.NumberOfDocuments, p.sections)
	}
	return nil
}

// correct changes an index in place. If the embedder in its settings fails,
// sections are added without vectors, and the error wraps errNoVectors.
func (u *update) correct(ctx context.Context, p *plan) error {
	own := u.site.options.Embedder
	failure := u.write(ctx, p.uid, p.add, u.records(ctx, p, p.add, func(r *record) { r.setOrigins(p.embedders, own) }), p.remove)
	if p.dimensions != 0 || codeOf(failure) != "vector_embedding_error" {
		return failure
	}
	plain := u.records(ctx, p, p.add, func(r *record) {
		r.setOrigins(p.embedders, own)
		r.Vectors[own], r.Vector = nil, failedVector
	})
	if err := u.write(ctx, p.uid, p.add, plain, p.remove); err != nil {
		return err
	}
	return fmt.Errorf("%w: %w", errNoVectors, failure)
}

// write adds the records of a list to an index, then removes others, so that no
// page is missing in between, and waits until that is done.
func (u *update) write(ctx context.Context, uid string, list []location, records iter.Seq2[*record, error], remove []string) error {
	u.note(func(k *known) { k.sending.total += len(list) })
	var tasks []int64
	start := func(path string, body any) error {
		number, err := u.start(ctx, http.MethodPost, path, body)
		progressed(ctx)
		if tasks = append(tasks, number); err == nil && len(tasks) > maxTasks {
			// The server keeps what is sent to it on disk until it is indexed.
			err = u.await(ctx, tasks[0])
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
		err := start(documentsPath(uid), batch)
		u.note(func(k *known) { k.sending.sent += len(batch) })
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
	for ids := range slices.Chunk(remove, idPage) {
		if err := start("/indexes/"+uid+"/documents/delete-batch", ids); err != nil {
			return err
		}
	}
	for _, number := range tasks {
		if err := u.await(ctx, number); err != nil {
			return err
		}
	}
	return nil
}

// swap is a new index and the live one that it replaces. Without a live one, it
// is renamed.
type swap struct {
	Indexes []string `json:"indexes"`
	Rename  bool     `json:"rename,omitempty"`
}

// swap puts new indexes into the place of live ones, which it drops.
func (s *server) swap(ctx context.Context, swaps []swap) error {
	if len(swaps) == 0 {
		return nil
	}
	body, err := json.Marshal(swaps)
	var started struct{ TaskUID int64 }
	if err == nil { // not repeated: a second swap undoes the first
		err = s.call(ctx, s.key, http.MethodPost, "/swap-indexes", body, &started)
	}
	if err == nil {
		err = s.await(ctx, started.TaskUID)
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
	err := s.task(ctx, http.MethodDelete, "/indexes/"+uid, nil)
	if err != nil && !indexNotFound(err) {
		return fmt.Errorf("deleting %s: %w", uid, err)
	}
	return nil
}
