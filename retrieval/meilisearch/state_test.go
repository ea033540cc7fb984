package meilisearch_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/meilisearch/meilisearch-go"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/retrieval/meilisearch"
)

// stateDocument is a document of the state in a server: the mark, or a part.
type stateDocument struct {
	ID    string `json:"id"`
	Parts int    `json:"parts,omitempty"`
	Data  []byte `json:"data,omitempty"`
}

// stateOf is the state of a site in a server.
type stateOf struct {
	t     *testing.T
	sdk   sdk.ServiceManager
	index sdk.IndexManager
}

func newStateOf(t *testing.T, o meilisearch.Options) stateOf {
	client := sdk.New(o.URLs[0], sdk.WithAPIKey(o.Key))
	return stateOf{t, client, client.Index(strings.TrimSuffix(uidOf(o), "und") + "_state")}
}

func (s stateOf) documents() (list, part stateDocument) {
	s.t.Helper()
	var all sdk.DocumentsResult
	if err := s.index.GetDocuments(&sdk.DocumentsQuery{Limit: 10}, &all); err != nil {
		s.t.Fatal(err)
	}
	var documents []stateDocument
	if err := all.Results.DecodeInto(&documents); err != nil {
		s.t.Fatal(err)
	}
	for _, d := range documents {
		if d.ID == "owner" {
			list = d
		} else {
			part = d
		}
	}
	return list, part
}

func (s stateOf) done(info *sdk.TaskInfo, err error) {
	s.t.Helper()
	if err == nil {
		var task *sdk.Task
		if task, err = s.sdk.WaitForTask(info.TaskUID, 0); err == nil && task.Status != sdk.TaskStatusSucceeded {
			err = errors.New(task.Error.Message)
		}
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s stateOf) put(d stateDocument) {
	s.t.Helper()
	key := "id"
	s.done(s.index.AddDocuments([]stateDocument{d}, &sdk.DocumentOptions{PrimaryKey: &key}))
}

// A process that has read no page answers with the state in the server. If that
// is damaged or of another version, it says so, waits for its own pages, and
// writes the state again.
func TestAProcessWithoutPagesAnswersWithTheStateInTheServer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		damage func(s stateOf, list, part stateDocument) // nil: none
	}{
		{"as it was written", nil},
		{"truncated", func(s stateOf, _, part stateDocument) {
			part.Data = part.Data[:len(part.Data)/2]
			s.put(part)
		}},
		{"other bytes", func(s stateOf, _, part stateDocument) {
			part.Data = []byte("something else")
			s.put(part)
		}},
		{"one byte changed", func(s stateOf, _, part stateDocument) {
			part.Data[len(part.Data)/2] ^= 1
			s.put(part)
		}},
		{"of a later version", func(s stateOf, _, part stateDocument) {
			part.Data = bytes.Replace(part.Data, []byte("state 8\n"), []byte("state 999\n"), 1)
			s.put(part)
		}},
		{"a part is missing", func(s stateOf, _, part stateDocument) {
			s.done(s.index.DeleteDocument(part.ID, nil))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := options(t)
			replace(t, open(t, o), site(), nil)
			state := newStateOf(t, o)
			if c.damage != nil {
				list, part := state.documents()
				c.damage(state, list, part)
			}
			var log func() string
			o.Dir = t.TempDir()
			o.Log, log = logged()
			second := open(t, o)
			if c.damage == nil {
				eventually(t, "the second process finds a page that it has not read", func() bool {
					hits, _ := second.Search(t.Context(), retrieval.Query{Text: "upstream", Limit: 5})
					return len(hits) > 0 && hits[0].Document.Page == "guide/proxy"
				})
				return
			}
			eventually(t, "the log says it", func() bool {
				return strings.Contains(log(), "the state of the site in a Meilisearch server can't be used")
			})
			if _, err := second.Search(t.Context(), retrieval.Query{Text: "upstream"}); !errors.Is(err, retrieval.ErrNotReady) {
				t.Errorf("before it has read the pages, a search gives %v", err)
			}
			replace(t, second, site(), nil)
			if got := pages(search(t, second, retrieval.Query{Text: "upstream"})); len(got) == 0 || got[0] != "guide/proxy" {
				t.Errorf("with its own pages, it finds %v", got)
			}
			o.Dir, o.Log = t.TempDir(), quiet()
			third := open(t, o)
			eventually(t, "a third process can use the state", func() bool { return len(third.Documents()) == len(site()) })
		})
	}
}

// A data folder with a state that can't be read is a folder without one.
func TestAStateOnDiskThatCannotBeReadIsWrittenAgain(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func([]byte) []byte{
		"truncated":          func(b []byte) []byte { return b[:len(b)/2] },
		"empty":              func([]byte) []byte { return nil },
		"other bytes":        func([]byte) []byte { return []byte("something else") },
		"one byte changed":   func(b []byte) []byte { b[len(b)/2] ^= 1; return b },
		"of a later version": func(b []byte) []byte { return bytes.Replace(b, []byte("state 8\n"), []byte("state 999\n"), 1) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options(t)
			x := open(t, o)
			replace(t, x, site(), nil)
			if err := x.Close(); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(o.Dir, "meilisearch.state")
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, damage(data), 0o600); err != nil {
				t.Fatal(err)
			}
			var log func() string
			o.Log, log = logged()
			x = open(t, o)
			if !strings.Contains(log(), "the state of the last run can't be read") {
				t.Errorf("the log: %s", log())
			}
			// What the server has of it is used instead.
			eventually(t, "it finds what was indexed", func() bool {
				hits, _ := x.Search(t.Context(), retrieval.Query{Text: "upstream", Limit: 5})
				return len(hits) > 0
			})
			replace(t, x, site(), nil)
			if err := x.Close(); err != nil {
				t.Fatal(err)
			}
			o.Log, log = logged()
			x = open(t, o)
			if len(x.Documents()) != len(site()) || strings.Contains(log(), "can't be read") {
				t.Errorf("after a refresh, a start has %d pages: %s", len(x.Documents()), log())
			}
		})
	}
}
