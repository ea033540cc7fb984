package meilisearch

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	sdk "github.com/meilisearch/meilisearch-go"
)

// Bounds of bringing a server up to date.
const (
	// A batch of documents has so many, and about so many bytes, at most:
	// the server takes 100 MB.
	batchRecords = 2000
	batchBytes   = 8 << 20
	// smallChange is up to what share of an index changes are made in place;
	// beyond it the index is made anew, which is as fast and never half done.
	smallChange = .25
	// listPage is how many ids are read at once.
	listPage = 5000
	// vectorPage is how many vectors are.
	vectorPage = 500
	// syncRounds is how often what a server holds is compared with what it
	// should: another Caddy that lost the lock may write at the same time.
	syncRounds = 3
	// syncTimeout ends an attempt that hangs.
	syncTimeout = 30 * time.Minute
)

// sync makes a server hold the content, and nothing else of the site.
// alone: the caller holds the lock. What it leaves when it is cut off serves on, and
// the next run takes it up.
func (x *Index) sync(ctx context.Context, in *instance, c *content, alone bool) error {
	if err := in.probe(ctx); err != nil {
		return err
	}
	for range syncRounds {
		done, err := x.syncOnce(ctx, in, c, alone)
		if err != nil {
			return err
		}
		if done {
			in.mu.Lock()
			in.behind, in.retryPause = false, downFirst
			in.mu.Unlock()
			return nil
		}
	}
	return fmt.Errorf("%s holds something else after %d attempts: another program writes to %s*", in.url, syncRounds, x.prefix)
}

// syncOnce changes what differs; done says that nothing did.
func (x *Index) syncOnce(ctx context.Context, in *instance, c *content, alone bool) (done bool, err error) {
	live, left, err := in.list(ctx, x.prefix)
	if err != nil {
		return false, err
	}
	if !alone {
		left = nil
	}
	for _, uid := range left {
		// Of a run that was killed; we hold the lock.
		if err := in.drop(ctx, uid); err != nil {
			return false, err
		}
	}
	done = true
	var swaps []*sdk.SwapIndexesParams
	var fresh []string
	var blind error // what the server's embedder did not do
	embedders, lacks := map[string]int{}, false
	for _, uid := range slices.Sorted(maps.Keys(c.languages)) {
		p, err := x.plan(ctx, in, c, c.languages[uid], slices.Contains(live, uid))
		if err != nil {
			return false, err
		}
		embedders[uid], lacks = p.dimensions, lacks || p.lacks
		switch {
		case p.anew && x.o.Embedder != "":
			// The server's own embedder stands in the settings of the live
			// index, with a secret that can't be read: that index stays.
			done = false
			if err := x.setUp(ctx, in, uid, p.want, !p.exists); err != nil {
				return false, err
			}
			if err := x.changeEmbedded(ctx, in, p); errors.Is(err, errNoVectors) {
				blind = err
			} else if err != nil {
				return false, err
			}
		case p.anew:
			done = false
			next := uid + "_" + strings.ToLower(rand.Text())
			if err := x.fill(ctx, in, next, p); err != nil {
				x.discard(in, next)
				return false, fmt.Errorf("filling a new index for %s: %w", uid, err)
			}
			swaps = append(swaps, &sdk.SwapIndexesParams{Indexes: []string{next, uid}, Rename: !p.exists})
			fresh = append(fresh, next)
		case len(p.add)+len(p.remove) > 0:
			done = false
			if err := x.changeEmbedded(ctx, in, p); errors.Is(err, errNoVectors) {
				blind = err
			} else if err != nil {
				return false, fmt.Errorf("changing %s: %w", uid, err)
			}
		}
	}
	if len(swaps) > 0 {
		// Not repeated: a second swap would undo the first.
		info, err := in.admin.SwapIndexesWithContext(ctx, swaps)
		if err = in.explain(err); err == nil {
			err = in.await(ctx, info)
		}
		if err != nil {
			return false, fmt.Errorf("taking the new indexes into use: %w", err)
		}
		for i, uid := range fresh {
			if !swaps[i].Rename {
				if err := in.drop(ctx, uid); err != nil {
					return false, err
				}
			}
		}
	}
	for _, uid := range live {
		if c.languages[uid] == nil {
			done = false
			if err := in.drop(ctx, uid); err != nil {
				return false, err
			}
		}
	}
	in.mu.Lock()
	in.embedders, in.lacks = embedders, lacks
	in.mu.Unlock()
	return done && blind == nil, blind
}

// plan is what is to be done with an index.
type plan struct {
	*indexContent
	exists bool
	// want are its settings; anew: it is better made anew, or lacks them.
	want *sdk.Settings
	anew bool
	add  []*record
	// remove are ids.
	remove []string
	// dimensions of the vectors that it will have, 0 where the server makes
	// them, -1 for none.
	dimensions int
	// lacks: see instance.
	lacks bool
	// vectors is how many dimensions the vectors have that only the server
	// holds: after a start ours are not at hand.
	vectors int
}

// wanted are the settings that an index should have beside the embedders that
// are set, and how many dimensions the vectors have that only the server
// holds, 0 for none: after a start (known is false) ours are not at hand, and
// it keeps those.
func (x *Index) wanted(ix *indexContent, set map[string]embedder, known bool) (want *sdk.Settings, vectors int) {
	want = x.settingsOf(ix)
	if e, ok := set[embedderName]; ok && !known && x.o.Embedder == "" && e.Source == userProvided {
		vectors = e.Dimensions
		want.Embedders = map[string]sdk.Embedder{embedderName: {Source: sdk.UserProvidedEmbedderSource, Dimensions: vectors}}
	}
	return want, vectors
}

// plan finds what an index lacks and what it has too much, and whether it
// is better made anew.
func (x *Index) plan(ctx context.Context, in *instance, c *content, ix *indexContent, exists bool) (*plan, error) {
	p := &plan{indexContent: ix, exists: exists, want: x.settingsOf(ix), dimensions: -1}
	set := map[string]embedder{}
	if exists {
		have, err := in.settings(ctx, ix.uid)
		if err != nil {
			return nil, err
		}
		set = embeddersOf(have)
		p.want, p.vectors = x.wanted(ix, set, c.known)
		p.anew = settingsDiffer(have, p.want, x.o.Embedder != "")
	} else {
		p.anew = true
	}
	if e, ok := p.want.Embedders[embedderName]; ok {
		p.dimensions = e.Dimensions
	}
	if e, ok := set[x.o.Embedder]; ok && x.o.Embedder != "" && e.Source != userProvided {
		p.dimensions = 0
	}
	held := map[string]string{}
	if exists {
		var err error
		if held, err = in.ids(ctx, ix.uid); err != nil {
			return nil, err
		}
	}
	for _, r := range ix.records {
		v, ok := held[r.ID]
		if !ok || v == noVector && p.dimensions == 0 || c.known && v != r.Vector && (v != noVector || r.Vector != "") {
			p.add = append(p.add, r)
		}
		p.lacks = p.lacks || v == "" && !c.known && x.o.Embedder == ""
		delete(held, r.ID)
	}
	p.remove = slices.Sorted(maps.Keys(held))
	if n := len(p.add) + len(p.remove); x.o.Embedder == "" && n > 100 && float64(n) > smallChange*float64(len(ix.records)) {
		p.anew = true
	}
	p.add = addressed(p.add, set, x.o.Embedder)
	return p, nil
}

// list returns the names of a site's indexes: those that serve, and those
// that an earlier run left.
func (in *instance) list(ctx context.Context, prefix string) (live, left []string, err error) {
	for offset := int64(0); ; {
		var page *sdk.IndexesResults
		err := in.repeat(ctx, func() (err error) {
			page, err = in.admin.ListIndexesWithContext(ctx, &sdk.IndexesQuery{Limit: 1000, Offset: offset})
			return err
		})
		if err != nil {
			return nil, nil, fmt.Errorf("listing indexes: %w", err)
		}
		for _, ix := range page.Results {
			rest, ours := strings.CutPrefix(ix.UID, prefix)
			lang, temporary, isTemporary := strings.Cut(rest, "_")
			switch {
			case !ours || lang != baseLanguage(lang) || isTemporary && len(temporary) != 26:
			case isTemporary:
				left = append(left, ix.UID)
			default:
				live = append(live, ix.UID)
			}
		}
		offset += int64(len(page.Results))
		if len(page.Results) == 0 || offset >= page.Total {
			return live, left, nil
		}
	}
}

// ids returns the records that an index holds, with their vectors' names.
func (in *instance) ids(ctx context.Context, uid string) (map[string]string, error) {
	held := map[string]string{}
	for offset := int64(0); ; {
		var page sdk.DocumentsResult
		err := in.repeat(ctx, func() error {
			page = sdk.DocumentsResult{}
			return in.admin.Index(uid).GetDocumentsWithContext(ctx, &sdk.DocumentsQuery{Limit: listPage, Offset: offset, Fields: []string{"id", "vector"}}, &page)
		})
		if err != nil {
			return nil, fmt.Errorf("reading what %s holds: %w", uid, err)
		}
		for _, hit := range page.Results {
			var id, v string
			_ = json.Unmarshal(hit["vector"], &v)
			if json.Unmarshal(hit["id"], &id) == nil {
				held[id] = v
			}
		}
		offset += int64(len(page.Results))
		if len(page.Results) == 0 || offset >= page.Total {
			return held, nil
		}
	}
}

// setUp creates an index, where it is not there, and sets its settings.
func (x *Index) setUp(ctx context.Context, in *instance, uid string, want *sdk.Settings, create bool) error {
	if !create {
		if err := in.reset(ctx, uid, want); err != nil {
			return err
		}
	} else {
		info, err := in.admin.CreateIndexWithContext(ctx, &sdk.IndexConfig{Uid: uid, PrimaryKey: "id"})
		if err = in.explain(err); err == nil {
			err = in.await(ctx, info)
		}
		if e := (*TaskError)(nil); err != nil && !(errors.As(err, &e) && e.Code == "index_already_exists") {
			return fmt.Errorf("creating %s: %w", uid, err)
		}
	}
	var info *sdk.TaskInfo
	err := in.repeat(ctx, func() (err error) {
		info, err = in.admin.Index(uid).UpdateSettingsWithContext(ctx, want)
		return err
	})
	if err == nil {
		err = in.await(ctx, info)
	}
	if err != nil {
		return fmt.Errorf("setting up %s: %w", uid, err)
	}
	return nil
}

// fill makes a new index with its settings and records, and counts them.
func (x *Index) fill(ctx context.Context, in *instance, uid string, p *plan) error {
	records := p.records
	if p.vectors > 0 {
		var err error
		if records, err = in.withVectors(ctx, p); err != nil {
			return err
		}
	}
	if err := x.setUp(ctx, in, uid, p.want, true); err != nil {
		return err
	}
	if err := x.change(ctx, in, uid, records, nil); err != nil {
		return err
	}
	var stats *sdk.StatsIndex
	err := in.repeat(ctx, func() (err error) {
		stats, err = in.admin.Index(uid).GetStatsWithContext(ctx, &sdk.StatsParams{})
		return err
	})
	if err != nil {
		return err
	}
	if int(stats.NumberOfDocuments) != len(records) {
		return fmt.Errorf("the new index holds %d of %d sections", stats.NumberOfDocuments, len(records))
	}
	return nil
}

// withVectors are an index's records with the vectors that the live index
// has of them, for those which only the server holds.
func (in *instance) withVectors(ctx context.Context, p *plan) ([]*record, error) {
	type stored struct {
		marker string
		*vector
	}
	held := map[string]stored{}
	for offset := int64(0); ; {
		var page sdk.DocumentsResult
		err := in.repeat(ctx, func() error {
			page = sdk.DocumentsResult{}
			return in.admin.Index(p.uid).GetDocumentsWithContext(ctx, &sdk.DocumentsQuery{
				Limit: vectorPage, Offset: offset, Fields: []string{"id", "vector"}, RetrieveVectors: true,
			}, &page)
		})
		if err != nil {
			return nil, fmt.Errorf("reading the vectors of %s: %w", p.uid, err)
		}
		for _, hit := range page.Results {
			var id string
			var s stored
			var vectors map[string]*vector
			if json.Unmarshal(hit["id"], &id) == nil && json.Unmarshal(hit["vector"], &s.marker) == nil &&
				json.Unmarshal(hit["_vectors"], &vectors) == nil && vectors[embedderName] != nil && len(vectors[embedderName].Embeddings) == 1 {
				s.vector = vectors[embedderName]
				held[id] = s
			}
		}
		offset += int64(len(page.Results))
		if len(page.Results) == 0 || offset >= page.Total {
			break
		}
	}
	out := make([]*record, len(p.records))
	for i, r := range p.records {
		s := held[r.ID]
		out[i] = r.with(embedderName, s.vector)
		out[i].Vector = s.marker
	}
	return out, nil
}

// changeEmbedded changes an index in place. Where the server's own embedder
// fails, sections go in without vectors and the error is errNoVectors.
func (x *Index) changeEmbedded(ctx context.Context, in *instance, p *plan) error {
	err := x.change(ctx, in, p.uid, p.add, p.remove)
	failed, ok := errors.AsType[*TaskError](err)
	if !ok || p.dimensions != 0 || failed.Code != "vector_embedding_error" {
		return err
	}
	blind := make([]*record, len(p.add))
	for i, r := range p.add {
		blind[i] = r.with(x.o.Embedder, nil)
		blind[i].Vector = noVector
	}
	if err := x.change(ctx, in, p.uid, blind, p.remove); err != nil {
		return err
	}
	return fmt.Errorf("%w: %w", errNoVectors, failed)
}

// change adds records and removes others, and waits for all of it. New
// ones come first, so that no page is missing in between.
func (x *Index) change(ctx context.Context, in *instance, uid string, add []*record, remove []string) error {
	var tasks []*sdk.TaskInfo
	key := "id"
	for len(add) > 0 {
		n, size := 0, 0
		for n < len(add) && n < batchRecords && (n == 0 || size < batchBytes) {
			size += len(add[n].Text) + 500
			if v := add[n].Vectors[embedderName]; v != nil && len(v.Embeddings) > 0 {
				size += 12 * len(v.Embeddings[0])
			}
			n++
		}
		batch := add[:n]
		add = add[n:]
		err := in.repeat(ctx, func() error {
			info, err := in.admin.Index(uid).AddDocumentsWithContext(ctx, &batch, &sdk.DocumentOptions{PrimaryKey: &key})
			if err == nil {
				tasks = append(tasks, info)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	for batch := range slices.Chunk(remove, listPage) {
		err := in.repeat(ctx, func() error {
			info, err := in.admin.Index(uid).DeleteDocumentsWithContext(ctx, batch, nil)
			if err == nil {
				tasks = append(tasks, info)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	for _, info := range tasks {
		if err := in.await(ctx, info); err != nil {
			return err
		}
	}
	return nil
}

// drop deletes an index; one that is not there is no error.
func (in *instance) drop(ctx context.Context, uid string) error {
	var info *sdk.TaskInfo
	err := in.repeat(ctx, func() (err error) {
		info, err = in.admin.DeleteIndexWithContext(ctx, uid)
		return err
	})
	if err == nil {
		err = in.await(ctx, info)
	}
	if e := (*TaskError)(nil); codeOf(err) == "index_not_found" || errors.As(err, &e) && e.Code == "index_not_found" {
		return nil
	}
	if err != nil {
		return fmt.Errorf("removing %s: %w", uid, err)
	}
	return nil
}

// discard drops an index that was not filled, also when the time for that
// is over.
func (x *Index) discard(in *instance, uid string) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if err := in.drop(ctx, uid); err != nil {
		x.log.Debug("an index that was not filled is left for the next run", "index", uid, "error", err)
	}
}
