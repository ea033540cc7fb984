package access

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const fixedSecret = "svc_dsc_0123456789abcdef"

func fixedKey(t testing.TB, k Key) *Key {
	t.Helper()
	fixed, err := NewFixed(Hash(fixedSecret), k)
	if err != nil {
		t.Fatal(err)
	}
	return fixed
}

func create(t testing.TB, ks *Keys, k Key) (string, *Key) {
	t.Helper()
	secret, made, err := Make(k, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := add(t, ks, made); err != nil {
		t.Fatal(err)
	}
	return secret, made
}

// add stores a key that Make returned.
func add(t testing.TB, ks *Keys, made *Key) error {
	t.Helper()
	record, err := Record(made)
	if err != nil {
		t.Fatal(err)
	}
	_, err = ks.Add(t.Context(), record)
	return err
}

var quiet = slog.New(slog.DiscardHandler)

func TestAuthenticate(t *testing.T) {
	ks := NewKeys(&memory{}, []*Key{fixedKey(t, Key{Organization: "acme"})}, quiet)
	secret, made := create(t, ks, Key{Organization: "other", Expires: time.Now().Add(time.Hour)})
	for name, tt := range map[string]struct{ token, want string }{
		"a fixed key":               {fixedSecret, "acme"},
		"a made key":                {secret, "other"},
		"no key":                    {"", ""},
		"the prefix alone":          {Prefix, ""},
		"the hash of a key":         {Hash(secret), ""},
		"the id of a key":           {made.ID, ""},
		"a key without its prefix":  {strings.TrimPrefix(secret, Prefix), ""},
		"a key with a space behind": {secret + " ", ""},
		"a key cut":                 {secret[:len(secret)-1], ""},
		"a megabyte":                {Prefix + strings.Repeat("a", 1<<20), ""},
		"bytes":                     {Prefix + "\x00\xff", ""},
	} {
		k, ok := ks.Authenticate(tt.token)
		if ok != (tt.want != "") || ok && k.Organization != tt.want || !ok && k != nil {
			t.Errorf("%s: %v %+v", name, ok, k)
		}
	}
}

func TestAuthenticateReadsNoStorage(t *testing.T) {
	store := &memory{}
	ks := NewKeys(store, nil, quiet)
	secret, _ := create(t, ks, Key{Organization: "acme"})
	gets := store.gets
	for range 100 {
		ks.Authenticate(secret)
		ks.Authenticate(Prefix + "unknown")
	}
	if store.gets != gets {
		t.Errorf("%d reads of storage for requests", store.gets-gets)
	}
}

func TestAKeyStopsWhenItExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ks := NewKeys(&memory{}, nil, quiet)
		secret, _ := create(t, ks, Key{Organization: "acme", Expires: time.Now().Add(time.Hour)})
		time.Sleep(time.Hour - time.Second)
		if _, ok := ks.Authenticate(secret); !ok {
			t.Fatal("stopped too early")
		}
		time.Sleep(time.Second)
		if _, ok := ks.Authenticate(secret); ok || ks.Opened("acme", "docs") || ks.AllowsOrigin("acme", "docs", "https://a.b") {
			t.Fatal("works after its expiry")
		}
	})
}

func TestNewAndRevokedKeysTakeEffectInRunningServersWithinTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		server, command := NewKeys(store, nil, quiet), NewKeys(store, nil, quiet)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go server.Run(ctx)
		time.Sleep(time.Minute + time.Second)

		secret, made := create(t, command, Key{Organization: "acme"})
		if _, ok := command.Authenticate(secret); !ok {
			t.Error("not at once where it was made")
		}
		time.Sleep(10 * time.Second)
		if _, ok := server.Authenticate(secret); !ok {
			t.Error("a new key does not work after 10 s")
		}
		if _, err := command.Revoke(t.Context(), made.ID); err != nil {
			t.Fatal(err)
		}
		if _, ok := command.Authenticate(secret); ok {
			t.Error("revoked, and works at once where it was revoked")
		}
		time.Sleep(10 * time.Second)
		if _, ok := server.Authenticate(secret); ok {
			t.Error("a revoked key works after 10 s")
		}
		if names := store.names(); len(names) != 0 {
			t.Errorf("left in storage: %v", names)
		}
	})
}

func TestKeysRemainValidWhileStorageFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		store := &memory{}
		ks := NewKeys(store, nil, slog.New(slog.NewTextHandler(&log, nil)))
		secret, _ := create(t, ks, Key{Organization: "acme"})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go ks.Run(ctx)
		time.Sleep(time.Minute)
		store.fail(errDown)
		time.Sleep(time.Hour)
		if _, ok := ks.Authenticate(secret); !ok {
			t.Error("a key stopped working with the storage")
		}
		if _, err := ks.List(t.Context()); !errors.Is(err, errDown) {
			t.Errorf("List hides that the storage fails: %v", err)
		}
		if _, err := ks.Revoke(t.Context(), "kabcd"); !errors.Is(err, errDown) {
			t.Errorf("Revoke hides that the storage fails: %v", err)
		}
		_, made, _ := Make(Key{Organization: "acme"}, time.Now())
		if err := add(t, ks, made); !errors.Is(err, errDown) {
			t.Errorf("Add hides that the storage fails: %v", err)
		}
		store.fail(nil)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if n := strings.Count(log.String(), "the keys could not be read"); n != 1 {
			t.Errorf("the failure is logged %d times, want once:\n%s", n, log.String())
		}
		if !strings.Contains(log.String(), "can be read again") {
			t.Errorf("the recovery is not logged:\n%s", log.String())
		}
		if strings.Contains(log.String(), secret) || strings.Contains(log.String(), Hash(secret)) {
			t.Error("the log holds a key")
		}
	})
}

func TestAKeyMissingFromAListIsValidUntilItsRecordIsGone(t *testing.T) {
	store := &memory{}
	ks := NewKeys(store, nil, quiet)
	secret, made := create(t, ks, Key{Organization: "acme"})
	store.listed = func([]string) []string { return nil }
	if err := ks.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, ok := ks.Authenticate(secret); !ok {
		t.Fatal("a list without the key revoked it")
	}
	store.getErr = errDown
	if err := ks.Reload(t.Context()); !errors.Is(err, errDown) {
		t.Fatalf("error %v", err)
	}
	store.getErr = nil
	if err := store.Delete(t.Context(), recordKey(made.ID)); err != nil {
		t.Fatal(err)
	}
	if err := ks.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, ok := ks.Authenticate(secret); ok {
		t.Fatal("a key without a record is valid")
	}
}

func TestFilesThatAreNoKeysAreIgnored(t *testing.T) {
	var log bytes.Buffer
	store := &memory{}
	ks := NewKeys(store, nil, slog.New(slog.NewTextHandler(&log, nil)))
	secret, made := create(t, ks, Key{Organization: "acme"})
	record, _ := store.Get(t.Context(), recordKey(made.ID))
	for name, value := range map[string]string{
		"docs/keys/123456789":          string(record), // FileStorage's temporary file
		"docs/keys/README.md":          "hello",
		"docs/keys/sub/kabcdef.json":   string(record),
		"docs/keys/kcopied.json":       string(record),
		"docs/keys/kbroken.json":       "{",
		"docs/keys/../kabcd.json":      string(record),
		"docs/keys/kABCDEF.json":       string(record),
		"docs/keys/kabcdef.json.bak":   string(record),
		"docs/keys/k\nabcdef.json":     string(record),
		"docs/used-keys/" + made.ID:    "not a number",
		"docs/keys/kempty.json":        "",
		"docs/keys/kmuchtoolong.json":  strings.Repeat("x", maxRecord+1),
		"docs/keys/kanotherone.json":   `{"id":"kanotherone","organization":"acme","sha256":"` + Hash("x") + `"}`,
		"/docs/keys/kwithslash.json":   "{}",
		"docs/keys/klisted-not.json":   "{}",
		"docs/keys/kunreadable12.json": "null",
	} {
		if err := store.Put(t.Context(), name, []byte(value)); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		if err := ks.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	keys, err := ks.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(keys) != 2 || keys[0].ID != "kanotherone" || keys[1].ID != made.ID {
		t.Errorf("keys %+v", keys)
	}
	if _, ok := ks.Authenticate(secret); !ok {
		t.Error("the key between them does not work")
	}
	if n := strings.Count(log.String(), "kbroken"); n != 1 {
		t.Errorf("a broken record is logged %d times, want once:\n%s", n, log.String())
	}
}

func TestLastUseIsWrittenSeldomAndNeverBringsARevokedKeyBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		ks, other := NewKeys(store, []*Key{fixedKey(t, Key{Organization: "acme"})}, quiet), NewKeys(store, nil, quiet)
		secret, made := create(t, ks, Key{Organization: "acme"})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); ks.Run(ctx) }()

		before := store.written()
		for range 3600 { // an hour of a request a second
			time.Sleep(time.Second)
			ks.Authenticate(secret)
			ks.Authenticate(fixedSecret)
		}
		if n := store.written() - before; n == 0 || n > 2*13 {
			t.Errorf("%d writes in an hour", n)
		}
		time.Sleep(10 * time.Minute)
		quiet := store.written()
		time.Sleep(time.Hour)
		if store.written() != quiet {
			t.Error("writes without a request")
		}
		keys, err := other.List(t.Context())
		if err != nil || len(keys) != 1 {
			t.Fatal(keys, err)
		}
		if age := time.Since(keys[0].LastUsed); age < 70*time.Minute || age > 76*time.Minute {
			t.Errorf("another process sees a last use %s ago, want 70 minutes", age)
		}

		ks.Authenticate(secret)
		if _, err := other.Revoke(t.Context(), made.ID); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		cancel() // writes at the end
		<-done
		for _, name := range store.names() {
			if strings.Contains(name, made.ID) {
				t.Errorf("%s is back", name)
			}
		}
	})
}

func TestRunWritesLastUseAtItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory{}
		ks := NewKeys(store, nil, quiet)
		secret, made := create(t, ks, Key{Organization: "acme"})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); ks.Run(ctx) }()
		time.Sleep(time.Second)
		ks.Authenticate(secret)
		cancel()
		<-done
		if _, err := store.Get(t.Context(), useKey(made.ID)); err != nil {
			t.Error(err)
		}
	})
}

func TestFailedWritesOfLastUseAreTriedAgain(t *testing.T) {
	store := &memory{}
	ks := NewKeys(store, nil, quiet)
	secret, made := create(t, ks, Key{Organization: "acme"})
	ks.Authenticate(secret)
	store.fail(errDown)
	ks.writeUse(t.Context())
	store.fail(nil)
	ks.writeUse(t.Context())
	if _, err := store.Get(t.Context(), useKey(made.ID)); err != nil {
		t.Error(err)
	}
}

func TestListShowsNoSecretsAndOnlyCopies(t *testing.T) {
	ks := NewKeys(&memory{}, []*Key{fixedKey(t, Key{Organization: "zeta", Name: "fixed"})}, quiet)
	secret, _ := create(t, ks, Key{Organization: "acme", Sites: []string{"a"}, Name: "web"})
	ks.Authenticate(secret)
	keys, err := ks.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(keys) != 2 || !keys[0].Fixed || keys[1].Name != "web" {
		t.Fatalf("%+v", keys)
	}
	if keys[1].LastUsed.IsZero() || !keys[0].LastUsed.IsZero() {
		t.Error("last use is wrong")
	}
	keys[1].Sites[0], keys[1].Organization = "changed", "changed"
	if k, _ := ks.Authenticate(secret); k.Sites[0] != "a" || k.Organization != "acme" {
		t.Error("a change of the list changes a valid key")
	}
}

func TestRevoke(t *testing.T) {
	store := &memory{}
	fixed := fixedKey(t, Key{Organization: "acme"})
	ks := NewKeys(store, []*Key{fixed}, quiet)
	for _, id := range []string{"kaaaa1111", "kaaaa2222", "kbbbb3333"} {
		if err := store.Put(t.Context(), recordKey(id), fmt.Appendf(nil, `{"id":%q,"organization":"acme","sha256":%q}`, id, Hash(id))); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := ks.Revoke(t.Context(), "kaaaa"); err == nil || !strings.Contains(err.Error(), "several keys begin with it (kaaaa1111, kaaaa2222") {
		t.Errorf("an ambiguous beginning: %v", err)
	}
	secret, made := create(t, ks, Key{Organization: "acme"})
	for _, which := range []string{"", "k", "kbb", "kzzzz", Prefix + "0000000000000000", fixedSecret, secret} {
		if _, err := ks.Revoke(t.Context(), which); !errors.Is(err, ErrUnknownKey) || len(which) > 10 && strings.Contains(err.Error(), which) {
			t.Errorf("%q: %v", which, err)
		}
	}
	if _, err := ks.Revoke(t.Context(), fixed.ID); !errors.Is(err, ErrFixedKey) {
		t.Errorf("a fixed key: %v", err)
	}
	if k, err := ks.Revoke(t.Context(), "kbbb"); err != nil || k.ID != "kbbbb3333" {
		t.Errorf("by its beginning: %v %v", k, err)
	}
	if k, err := ks.Revoke(t.Context(), made.ID); err != nil || k.ID != made.ID {
		t.Errorf("by its ID: %v %v", k, err)
	}
	if k, err := ks.Revoke(t.Context(), "kaaaa1111"); err != nil || k.ID != "kaaaa1111" {
		t.Errorf("by its id: %v %v", k, err)
	}
	if keys, _ := ks.List(t.Context()); len(keys) != 2 {
		t.Errorf("left: %+v", keys)
	}
}

func TestPreflightsAreAnsweredFromTheUnionOfASitesKeys(t *testing.T) {
	ks := NewKeys(&memory{}, nil, quiet)
	create(t, ks, Key{Organization: "acme", Origins: []string{"https://a.com"}})
	create(t, ks, Key{Organization: "acme", Sites: []string{"docs"}, Origins: []string{"https://b.com"}})
	create(t, ks, Key{Organization: "other"})
	for name, tt := range map[string]struct {
		site, origin string
		want         bool
	}{
		"one key's":              {"docs", "https://a.com", true},
		"the other key's":        {"docs", "https://b.com", true},
		"another site's key":     {"blog", "https://b.com", false},
		"none of them":           {"docs", "https://c.com", false},
		"another organization's": {"docs", "https://anything.com", false},
	} {
		if got := ks.AllowsOrigin("acme", tt.site, tt.origin); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if !ks.AllowsOrigin("other", "any", "https://anything.com") {
		t.Error("a key that names no origin allows any")
	}
	if ks.AllowsOrigin("keyless", "docs", "https://a.com") || ks.Opened("keyless", "docs") || !ks.Opened("acme", "blog") {
		t.Error("Opened")
	}
}

func TestSetFixedReplacesTheFixedKeysAlone(t *testing.T) {
	ks := NewKeys(&memory{}, []*Key{fixedKey(t, Key{Organization: "old"})}, quiet)
	secret, _ := create(t, ks, Key{Organization: "acme"})
	ks.SetFixed([]*Key{fixedKey(t, Key{Organization: "new"})})
	if k, ok := ks.Authenticate(fixedSecret); !ok || k.Organization != "new" {
		t.Error("the old key is valid")
	}
	if err := ks.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, ok := ks.Authenticate(secret); !ok {
		t.Error("made keys are gone")
	}
	ks.SetFixed(nil)
	if _, ok := ks.Authenticate(fixedSecret); ok {
		t.Error("a key that was removed is valid")
	}
}

func TestKeysAreBounded(t *testing.T) {
	store := &memory{values: map[string]string{}}
	for i := range maxKeys + 5 {
		id := fmt.Sprintf("k%06d", i)
		store.values[recordKey(id)] = fmt.Sprintf(`{"id":%q,"organization":"acme","sha256":%q}`, id, Hash(id))
	}
	ks := NewKeys(store, nil, quiet)
	for range 2 {
		if err := ks.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := len(ks.stored); n != maxKeys {
			t.Errorf("%d keys held", n)
		}
	}
}

func TestARecordThatVanishesWhileItIsReadIsNoError(t *testing.T) {
	store := &memory{values: map[string]string{}, listed: func([]string) []string { return []string{"docs/keys/kgone1.json"} }}
	if err := NewKeys(store, nil, quiet).Reload(t.Context()); err != nil {
		t.Error(err)
	}
	store.getErr = errDown
	if err := NewKeys(store, nil, quiet).Reload(t.Context()); !errors.Is(err, errDown) || errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func BenchmarkAuthenticate(b *testing.B) {
	store := &memory{values: map[string]string{}}
	ks := NewKeys(store, nil, quiet)
	for range 100 {
		create(b, ks, Key{Organization: "acme"})
	}
	secret, _ := create(b, ks, Key{Organization: "acme"})
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := ks.Authenticate(secret); !ok {
			b.Fatal("refused")
		}
	}
}
