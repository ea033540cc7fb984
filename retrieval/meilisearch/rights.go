package meilisearch

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// accessInterval is how often a server is asked again that refuses the keys, or
// has indexes of another owner.
const accessInterval = 5 * time.Second

// keyError is the actions of a server that its keys don't permit, but that
// this package uses.
type keyError struct {
	URL string
	// Missing are the actions that api_key lacks, and MissingSearch is true if
	// searching is not permitted, by search_key if there is one.
	Missing       []string
	MissingSearch bool
	// Unknown is true if the server does not know api_key, NoKey if it needs
	// one and there is none.
	Unknown, NoKey bool

	hasSearchKey bool
}

func (e *keyError) Error() string {
	var found []string
	switch {
	case e.NoKey:
		found = append(found, "needs an api_key, and none is configured")
	case e.Unknown:
		found = append(found, "does not know the api_key, or the key has expired or has none of the actions that are needed")
	case len(e.Missing) > 0:
		found = append(found, "has an api_key without the actions "+strings.Join(e.Missing, ", "))
	}
	if e.MissingSearch && e.hasSearchKey {
		found = append(found, "does not permit searches with the search_key")
	} else if e.MissingSearch && !e.Unknown && !e.NoKey {
		found = append(found, "does not permit searches with the api_key, and there is no search_key")
	}
	return e.URL + " " + strings.Join(found, ", and ")
}

// remedy is what the operator has to do.
func (e *keyError) remedy(prefix string) string {
	var do []string
	if len(e.Missing) > 0 || e.Unknown || e.NoKey {
		do = append(do, "set api_key to a key of this server with "+keyActions)
	}
	if e.MissingSearch && (e.hasSearchKey || len(do) == 0) {
		do = append(do, "set search_key to a key with the action search for the indexes "+prefix+"*")
	}
	return strings.Join(do, "; ")
}

// checkRights makes a request for each action that is used, and keeps which
// are missing. It returns an error if that can't be found out.
func (s *server) checkRights(ctx context.Context, prefix string) error {
	missing := &keyError{URL: s.url, hasSearchKey: s.searchKey != s.key}
	var mu sync.Mutex
	var unknown error
	total := 0
	var group sync.WaitGroup
	check := func(action string, request func() error) {
		total++
		group.Go(func() {
			err := request()
			mu.Lock()
			defer mu.Unlock()
			e, ok := errors.AsType[*ServerError](err)
			switch {
			case err == nil:
			case unauthorized(err) && action == "search":
				missing.MissingSearch = true
			case unauthorized(err):
				missing.Missing = append(missing.Missing, action)
				missing.NoKey = missing.NoKey || e.Status == http.StatusUnauthorized
			case !ok || unavailable(err):
				unknown = err
			}
		})
	}
	try := func(action, method, path string) {
		check(action, func() error { return s.call(ctx, s.key, method, path, nil, nil) })
	}
	// The server checks the key before the name of an index, and none can have a
	// dot. Whether the key may create one shows when it does.
	none := "/indexes/" + prefix + "und."
	try("version", http.MethodGet, "/version")
	try("indexes.get", http.MethodGet, "/indexes?limit=1")
	try("indexes.delete", http.MethodDelete, none)
	try("documents.get", http.MethodGet, none+"/documents?limit=1")
	try("documents.add", http.MethodPost, none+"/documents")
	try("documents.delete", http.MethodDelete, none+"/documents/1")
	try("settings.get", http.MethodGet, none+"/settings")
	try("settings.update", http.MethodDelete, none+"/settings/stop-words")
	try("stats.get", http.MethodGet, none+"/stats")
	try("tasks.get", http.MethodGet, "/tasks?limit=1")
	check("indexes.swap", func() error {
		// A swap needs two indexes.
		return s.call(ctx, s.key, http.MethodPost, "/swap-indexes", []byte(`[{"indexes":["`+prefix+`und"]}]`), nil)
	})
	check("search", func() error {
		return s.call(ctx, s.searchKey, http.MethodPost, "/multi-search", []byte(`{"queries":[{"indexUid":"`+prefix+`und","q":"","limit":0}]}`), nil)
	})
	group.Wait()
	if unknown != nil {
		return unknown
	}
	missing.Unknown = len(missing.Missing) == total-1
	slices.Sort(missing.Missing)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.accessChecked = time.Now()
	s.lacking = missing
	if len(missing.Missing) == 0 && !missing.MissingSearch {
		s.lacking = nil
	}
	return nil
}
