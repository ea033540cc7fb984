package dashboard

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/caddy-docs/caddy-docs/store"
)

// How long codes and sessions are valid.
const (
	CodeTTL     = 10 * time.Minute
	sessionIdle = 12 * time.Hour
	sessionTTL  = 7 * 24 * time.Hour
	// seenEvery is how often the use of a session is stored.
	seenEvery = 5 * time.Minute
)

// Where logins are stored. The use of a session is apart from it: storing the
// session again could bring back one that another process has just ended.
const (
	codePrefix    = "docs/logins"
	sessionPrefix = "docs/sessions"
	seenPrefix    = "docs/sessions-seen"
	loginLock     = "docs_login"

	// maxCodes and maxSessions bound what is stored. Each sign-in and each list
	// reads all of it.
	maxCodes    = 20
	maxSessions = 100

	maxLogin     = 4 << 10
	secretLength = 52 // of two of rand.Text
	maxLoginName = 100
)

var (
	// errCode is returned for a code that is not valid, or not any more.
	errCode = errors.New("this code is not valid: it may have been used, or be older than 10 minutes")
	// ErrCodes is returned while too many codes wait for their use.
	ErrCodes = fmt.Errorf("%d codes have not been used yet; use one of them, or wait until they expire after 10 minutes", maxCodes)
	// ErrSession is returned for a session that does not exist.
	ErrSession = errors.New("there is no such session")
)

// Logins are one-time codes and the sessions that they begin, for dashboards
// without another login. Stored are hashes only. All processes with the same
// store share them.
type Logins struct {
	store store.Store
	log   *slog.Logger
	now   func() time.Time
	mu    sync.Mutex // of redeeming, in this process
}

// NewLogins returns the logins in a store.
func NewLogins(s store.Store, log *slog.Logger) *Logins {
	return &Logins{store: s, log: log, now: time.Now}
}

// Session is a visitor who signed in with a code.
type Session struct {
	// ID names the session in lists. It opens nothing.
	ID string `json:"id"`
	// Name is shown and written into the audit trail.
	Name string `json:"name"`
	// Organization is that of a member; "" is an administrator of all.
	Organization string    `json:"organization,omitempty"`
	Created      time.Time `json:"created"`
	// Seen is the last use, to about five minutes.
	Seen time.Time `json:"seen,omitzero"`
}

func (s *Session) visitor() *Visitor {
	v := &Visitor{Name: s.Name, Admin: s.Organization == "", session: s.ID}
	if !v.Admin {
		v.Roles = map[string]Role{s.Organization: Member}
	}
	return v
}

// code is a stored code.
type code struct {
	Name         string    `json:"name"`
	Organization string    `json:"organization,omitempty"`
	Expires      time.Time `json:"expires"`
}

// Code makes a code that signs in once, within CodeTTL: a member of an
// organization, or with "" an administrator of all. name may be "". The error is
// ErrCodes if there are many already.
func (l *Logins) Code(ctx context.Context, organization, name string) (string, error) {
	if name = strings.TrimSpace(name); len(name) > maxLoginName || strings.ContainsFunc(name, unicode.IsControl) {
		return "", fmt.Errorf("a name has at most %d characters, and no control characters", maxLoginName)
	}
	if l.prune(ctx) >= maxCodes {
		return "", ErrCodes
	}
	text := rand.Text()[:12] // 60 bits, for 10 minutes
	if name == "" {
		name = cmp.Or(organization, "admin") + "-" + strings.ToLower(text[:4])
	}
	data, _ := json.Marshal(code{name, organization, l.now().Add(CodeTTL).UTC()}) // can't fail
	if err := l.store.Put(ctx, codePrefix+"/"+hash(text)+".json", data); err != nil {
		return "", fmt.Errorf("storing the code: %w", err)
	}
	return text[:4] + "-" + text[4:8] + "-" + text[8:], nil
}

// Redeem begins the session of a code, and returns the secret of its cookie.
// The error is errCode or the store's.
func (l *Logins) Redeem(ctx context.Context, text string) (secret string, s *Session, err error) {
	text = strings.ToUpper(strings.Map(func(r rune) rune {
		if r == '-' || r == '–' || unicode.IsSpace(r) {
			return -1
		}
		return r
	}, text))
	if len(text) != 12 {
		return "", nil, errCode
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	// Of two processes only one takes it.
	if locker, ok := l.store.(interface {
		Lock(ctx context.Context, name string) error
		Unlock(ctx context.Context, name string) error
	}); ok {
		if err := locker.Lock(ctx, loginLock); err != nil {
			return "", nil, fmt.Errorf("locking the codes: %w", err)
		}
		defer func() { _ = locker.Unlock(context.WithoutCancel(ctx), loginLock) }()
	}
	key := codePrefix + "/" + hash(text) + ".json"
	var c code
	if ok, err := l.read(ctx, key, &c); err != nil || !ok {
		return "", nil, cmp.Or(err, errCode)
	}
	if err := l.remove(ctx, key); err != nil {
		return "", nil, err
	}
	if !l.now().Before(c.Expires) {
		return "", nil, errCode
	}
	// The session that has not been used for the longest makes room.
	if all, err := l.Sessions(ctx); err != nil {
		return "", nil, err
	} else if len(all) >= maxSessions {
		idle := slices.MinFunc(all, func(a, b Session) int { return a.Seen.Compare(b.Seen) })
		if _, err := l.End(ctx, idle.ID); err != nil {
			return "", nil, err
		}
	}
	secret = rand.Text() + rand.Text()
	s = &Session{ID: hash(secret)[:12], Name: c.Name, Organization: c.Organization, Created: l.now().UTC().Truncate(time.Second)}
	data, _ := json.Marshal(s) // can't fail
	if err := l.store.Put(ctx, sessionPrefix+"/"+hash(secret)+".json", data); err != nil {
		return "", nil, fmt.Errorf("storing the session: %w", err)
	}
	return secret, s, nil
}

// Session returns the session of a cookie's secret, nil for none that is
// valid.
func (l *Logins) Session(ctx context.Context, secret string) (*Session, error) {
	if len(secret) != secretLength {
		return nil, nil
	}
	h := hash(secret)
	s, err := l.session(ctx, h)
	if err != nil || s == nil {
		return nil, err
	}
	if l.expired(s) {
		l.end(ctx, h)
		return nil, nil
	}
	if now := l.now(); now.Sub(s.Seen) >= seenEvery {
		if err := l.store.Put(ctx, seenPrefix+"/"+h, []byte(now.UTC().Format(time.RFC3339))); err != nil {
			l.log.Warn("the use of a session could not be stored; the session ends 12 hours after its last stored use", "error", err)
		}
	}
	return s, nil
}

// session reads a session with its last use.
func (l *Logins) session(ctx context.Context, h string) (*Session, error) {
	var s Session
	if ok, err := l.read(ctx, sessionPrefix+"/"+h+".json", &s); err != nil || !ok {
		return nil, err
	}
	s.Seen = s.Created
	data, err := l.store.Get(ctx, seenPrefix+"/"+h)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading the session: %w", err)
	}
	if at, err := time.Parse(time.RFC3339, string(data)); err == nil {
		s.Seen = at
	}
	return &s, nil
}

func (l *Logins) expired(s *Session) bool {
	now := l.now()
	return now.Sub(s.Created) >= sessionTTL || now.Sub(s.Seen) >= sessionIdle
}

// Sessions returns the sessions that are valid, the newest first.
func (l *Logins) Sessions(ctx context.Context) ([]Session, error) {
	all := []Session{}
	err := l.each(ctx, func(_ string, s *Session) error {
		all = append(all, *s)
		return nil
	})
	slices.SortFunc(all, func(a, b Session) int { return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(a.ID, b.ID)) })
	return all, err
}

// End ends a session by its ID, or with "all" every one, and returns those
// that it ended. The error is ErrSession or the store's.
func (l *Logins) End(ctx context.Context, id string) ([]Session, error) {
	ended := []Session{}
	err := l.each(ctx, func(h string, s *Session) error {
		if id != "all" && id != s.ID {
			return nil
		}
		ended = append(ended, *s)
		return l.delete(ctx, h)
	})
	if err == nil && len(ended) == 0 && id != "all" {
		return nil, ErrSession
	}
	return ended, err
}

func (l *Logins) endSecret(ctx context.Context, secret string) {
	if len(secret) == secretLength {
		l.end(ctx, hash(secret))
	}
}

func (l *Logins) delete(ctx context.Context, h string) error {
	return errors.Join(l.remove(ctx, sessionPrefix+"/"+h+".json"), l.remove(ctx, seenPrefix+"/"+h))
}

func (l *Logins) end(ctx context.Context, h string) {
	if err := l.delete(ctx, h); err != nil {
		l.log.Warn("a session could not be deleted", "error", err)
	}
}

// each calls f with the sessions that are valid.
func (l *Logins) each(ctx context.Context, f func(h string, s *Session) error) error {
	keys, err := l.store.List(ctx, sessionPrefix)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("listing the sessions: %w", err)
	}
	for _, key := range keys {
		h := strings.TrimSuffix(path.Base(key), ".json")
		if len(h) != 2*sha256.Size {
			continue
		}
		s, err := l.session(ctx, h)
		if err != nil {
			return err
		}
		switch {
		case s == nil:
		case l.expired(s):
			l.end(ctx, h)
		default:
			if err := f(h, s); err != nil {
				return err
			}
		}
	}
	return nil
}

// prune deletes codes that nobody used in time, and returns how many are left.
func (l *Logins) prune(ctx context.Context) (left int) {
	keys, err := l.store.List(ctx, codePrefix)
	if err != nil {
		return 0 // storing another will say why
	}
	for _, key := range keys {
		h := strings.TrimSuffix(path.Base(key), ".json")
		var c code
		if key = codePrefix + "/" + h + ".json"; len(h) != 2*sha256.Size {
			continue
		}
		if ok, err := l.read(ctx, key, &c); err == nil && ok && !l.now().Before(c.Expires) {
			_ = l.remove(ctx, key)
		} else if ok {
			left++
		}
	}
	return left
}

// read reads a value; ok is false if there is none, or none that was written
// here.
func (l *Logins) read(ctx context.Context, key string, into any) (ok bool, err error) {
	data, err := l.store.Get(ctx, key)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading a login: %w", err)
	}
	return store.Decode(data, maxLogin, into) == nil, nil
}

func (l *Logins) remove(ctx context.Context, key string) error {
	if err := l.store.Delete(ctx, key); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("deleting a login: %w", err)
	}
	return nil
}

func hash(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}
