package access

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/caddy-docs/caddy-docs/store"
)

// TokenLife is how long a browser token is valid.
const TokenLife = 15 * time.Minute

const (
	// secretLife is how long a secret signs tokens. It is kept until the last
	// of them has expired.
	secretLife = 24 * time.Hour
	// secretsInterval is the least time between two looks into the store for a
	// secret that another server made.
	secretsInterval = 2 * time.Second
	secretsPrefix   = "docs/tokens"
	secretSize      = 32
	maxSecrets      = 100
	maxToken        = 1_000
)

// Errors of Tokens.Check.
const (
	errTokenInvalid tokenError = "was not issued by this server"
	ErrTokenExpired tokenError = "has expired"
	ErrTokenSite    tokenError = "is for another site"
	ErrTokenOrigin  tokenError = "is for pages of another origin"
	ErrTokenNetwork tokenError = "is for a client on another network"
)

type tokenError string

func (e tokenError) Error() string { return "this token " + string(e) }

// Token says who may use a browser token: pages of one origin, on a client of
// one network, for one site.
type Token struct {
	Site string
	// Origin is the Origin header of the request.
	Origin string
	// Address is the IP of the client. The token holds its network.
	Address string
}

// Tokens issues and checks browser tokens: short-lived keys that the widget
// fetches, so that no key is part of a page. They are signed by HMAC-SHA256
// with a secret in the store, which all servers with that store share and
// which is replaced every day. It is safe for concurrent use.
type Tokens struct {
	store store.Store
	log   *slog.Logger

	mu      sync.Mutex
	secrets []signingSecret // newest first
	read    time.Time       // when an unknown secret was last looked for
}

type signingSecret struct {
	id      string
	Created time.Time `json:"created"`
	Secret  []byte    `json:"secret"`
}

// claims are the signed part of a token.
type claims struct {
	Key     string `json:"k"`
	Site    string `json:"s"`
	Origin  string `json:"o"`
	Network string `json:"n"`
	Expires int64  `json:"e"`
}

// NewTokens returns Tokens whose secrets are in a store.
func NewTokens(s store.Store, log *slog.Logger) *Tokens {
	return &Tokens{store: s, log: log}
}

// IsToken reports whether a text has the form of a browser token. Keys don't:
// they have no dot.
func IsToken(text string) bool {
	rest, ok := strings.CutPrefix(text, Prefix)
	return ok && strings.Contains(rest, ".")
}

// tokenNetwork returns the network of a client by which tokens are bound: the
// /24 of an IPv4 address, the /48 of an IPv6 address. Within them the addresses
// of a reader change.
func tokenNetwork(address string) string { return networkOf(address, 24, 48) }

// Issue makes a token. It is valid for TokenLife.
func (ts *Tokens) Issue(ctx context.Context, t Token, now time.Time) string {
	secret := ts.signing(ctx, now)
	body, _ := json.Marshal(claims{ // strings and numbers always marshal
		Key: secret.id, Site: t.Site, Origin: strings.ToLower(t.Origin), Network: tokenNetwork(t.Address), Expires: now.Add(TokenLife).Unix(),
	})
	text := base64.RawURLEncoding.EncodeToString(body)
	return Prefix + text + "." + base64.RawURLEncoding.EncodeToString(sign(secret.Secret, text))
}

// Check returns nil if a token was issued for t and has not expired, or else
// one of the errors above.
func (ts *Tokens) Check(ctx context.Context, token string, t Token, now time.Time) error {
	if len(token) > maxToken {
		return errTokenInvalid
	}
	text, signature, _ := strings.Cut(strings.TrimPrefix(token, Prefix), ".")
	body, err := base64.RawURLEncoding.Strict().DecodeString(text)
	sum, wrong := base64.RawURLEncoding.Strict().DecodeString(signature)
	var c claims
	if err != nil || wrong != nil || json.Unmarshal(body, &c) != nil {
		return errTokenInvalid
	}
	secret := ts.find(ctx, c.Key, now)
	if secret == nil || !hmac.Equal(sum, sign(secret, text)) {
		return errTokenInvalid
	}
	switch {
	case now.Unix() >= c.Expires:
		return ErrTokenExpired
	case c.Site != t.Site:
		return ErrTokenSite
	case c.Origin != strings.ToLower(t.Origin):
		return ErrTokenOrigin
	case c.Network != tokenNetwork(t.Address):
		return ErrTokenNetwork
	}
	return nil
}

func sign(secret []byte, text string) []byte {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}

// signing returns the secret that signs new tokens: the newest one, or a new
// one. Servers that make one at the same time have two, which does no harm.
func (ts *Tokens) signing(ctx context.Context, now time.Time) signingSecret {
	fresh := func() (signingSecret, bool) {
		ts.mu.Lock()
		defer ts.mu.Unlock()
		if len(ts.secrets) == 0 || now.Sub(ts.secrets[0].Created) >= secretLife {
			return signingSecret{}, false
		}
		return ts.secrets[0], true
	}
	if s, ok := fresh(); ok {
		return s
	}
	ts.reload(ctx, now)
	if s, ok := fresh(); ok {
		return s
	}
	made := signingSecret{id: strings.ToLower(rand.Text()[:16]), Created: now.UTC(), Secret: make([]byte, secretSize)}
	_, _ = rand.Read(made.Secret) // never fails
	data, _ := json.Marshal(made) //nolint:gosec // never fails; the storage keeps the secret
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	if err := ts.store.Put(ctx, secretsPrefix+"/"+made.id, data); err != nil {
		ts.log.Warn("the secret for browser tokens can't be stored; until the next reload, only this server accepts its tokens", "error", err)
	}
	ts.add(made)
	return made
}

// find returns a secret by its ID, nil if there is none. One that is not
// known may be another server's.
func (ts *Tokens) find(ctx context.Context, id string, now time.Time) []byte {
	known := func() (secret []byte, ok bool) {
		ts.mu.Lock()
		defer ts.mu.Unlock()
		for _, s := range ts.secrets {
			if s.id == id {
				return s.Secret, true
			}
		}
		wait := now.Sub(ts.read) < secretsInterval
		if !wait {
			ts.read = now
		}
		return nil, wait
	}
	secret, ok := known()
	if !ok {
		ts.reload(ctx, now)
		secret, _ = known()
	}
	return secret
}

// add adds a secret that is not known yet.
func (ts *Tokens) add(s signingSecret) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if len(ts.secrets) >= maxSecrets || slices.ContainsFunc(ts.secrets, func(other signingSecret) bool { return other.id == s.id }) {
		return
	}
	ts.secrets = append(ts.secrets, s)
	slices.SortFunc(ts.secrets, func(a, b signingSecret) int {
		return cmp.Or(b.Created.Compare(a.Created), strings.Compare(a.id, b.id))
	})
}

// removeOld removes the secrets whose tokens have all expired, and returns
// their IDs.
func (ts *Tokens) removeOld(now time.Time) (ids []string) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.secrets = slices.DeleteFunc(ts.secrets, func(s signingSecret) bool {
		old := now.Sub(s.Created) >= secretLife+2*TokenLife
		if old {
			ids = append(ids, s.id)
		}
		return old
	})
	return ids
}

var secretName = regexp.MustCompile(`^` + secretsPrefix + `/([a-z0-9]{16})$`)

// reload reads the secrets of the store, and removes old ones. Those in memory
// remain if it fails. A store that hangs delays only those that need it.
func (ts *Tokens) reload(ctx context.Context, now time.Time) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	names, err := ts.store.List(ctx, secretsPrefix)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		ts.log.Warn("the secrets for browser tokens can't be read", "error", err)
		return
	}
	for _, name := range names[:min(len(names), maxSecrets)] {
		m := secretName.FindStringSubmatch(name)
		if m == nil {
			continue
		}
		s, err := ts.load(ctx, name)
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				ts.log.Warn("a secret for browser tokens can't be read", "name", name, "error", err)
			}
			continue
		}
		s.id = m[1]
		ts.add(s)
	}
	for _, id := range ts.removeOld(now) {
		_ = ts.store.Delete(ctx, secretsPrefix+"/"+id) // the next reload tries again
	}
}

func (ts *Tokens) load(ctx context.Context, name string) (s signingSecret, err error) {
	data, err := ts.store.Get(ctx, name)
	if err != nil {
		return s, err
	}
	if err := store.Decode(data, maxRecord, &s); err != nil || len(s.Secret) != secretSize {
		return s, fmt.Errorf("it is damaged; delete it: %w", cmp.Or(err, errors.New("it has the wrong length")))
	}
	return s, nil
}
