package access

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"
)

// Prefix is how every key starts.
const Prefix = "svc_dsc_"

const (
	randomLength   = 32
	checksumLength = 6
	minFixed       = 16 // characters after Prefix
	maxSecret      = 256
	maxKeyName     = 100
	maxNarrowed    = 100 // sites, and origins, of one key
)

// Key is a key without its secret. The keys that Keys returns are shared and
// must not be modified.
type Key struct {
	// ID names the key in lists and logs. It isn't secret.
	ID string `json:"id"`
	// Name is chosen by the operator. At most 100 characters; optional.
	Name string `json:"name,omitempty"`
	// Organization owns the sites that the key opens.
	Organization string `json:"organization"`
	// Sites restricts the key to these sites of the organization. Default: all.
	Sites []string `json:"sites,omitempty"`
	// Origins are those from which browsers may use the key, in the form of
	// ParseOrigin, in addition to each site's own. Default: any.
	Origins []string `json:"origins,omitempty"`

	Created time.Time `json:"created,omitzero"`
	// Expires is when the key becomes invalid. Zero: never.
	Expires time.Time `json:"expires,omitzero"`
	// LastUsed is set by Keys.List and accurate to a few minutes.
	LastUsed time.Time `json:"lastUsed,omitzero"`
	// Fixed is set for keys of the configuration.
	Fixed bool `json:"fixed,omitempty"`

	hash    [sha256.Size]byte
	origins []Origin
	used    *atomic.Int64 // Unix seconds
}

// Hash returns the SHA-256 of a secret in hex, the form in which keys are
// stored and configured. Generated secrets are random, so neither a salt nor
// key stretching would add anything.
func Hash(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// Make generates a key with the Name, Organization, Sites, Origins, and
// Expires of k, and returns its secret, which can't be recovered later:
// svc_dsc_, 32 random letters and digits, and 6 that are their checksum, by
// which secret scanners recognize keys. Keys.Add stores the key.
func Make(k Key, now time.Time) (secret string, made *Key, err error) {
	body := (rand.Text() + rand.Text())[:randomLength]
	secret = Prefix + body + checksum(body)
	k.ID = "k" + strings.ToLower(rand.Text()[:9])
	k.Created, k.LastUsed, k.Fixed = now.UTC().Truncate(time.Second), time.Time{}, false
	if err := k.complete(sha256.Sum256([]byte(secret)), now); err != nil {
		return "", nil, err
	}
	return secret, &k, nil
}

// NewFixed returns a key of the configuration with the Name, Organization,
// Sites, Origins, and Expires of k. hash is the Hash of its secret. The ID
// depends on hash alone, so that it survives reloads.
func NewFixed(hash string, k Key) (*Key, error) {
	sum, err := parseHash(hash)
	if err != nil {
		return nil, err
	}
	// IDs are visible, hashes aren't: the ID is taken from a hash of the hash.
	id := sha256.Sum256(sum[:])
	k.ID, k.Fixed = "fixed-"+hex.EncodeToString(id[:4]), true
	return &k, k.complete(sum, time.Time{})
}

// CheckFixed returns an error if secret can't be a key of the configuration,
// which is svc_dsc_ and at least 16 of A-Z a-z 0-9 _ -. The error doesn't
// contain the secret.
func CheckFixed(secret string) error {
	body, ok := strings.CutPrefix(secret, Prefix)
	switch {
	case !ok:
		return fmt.Errorf("a key starts with %s", Prefix)
	case len(secret) > maxSecret:
		return fmt.Errorf("a key has at most %d characters, this one has %d", maxSecret, len(secret))
	case len(body) < minFixed:
		return fmt.Errorf("a key has at least %d characters after %s, this one has %d", minFixed, Prefix, len(body))
	}
	if i := strings.IndexFunc(body, func(r rune) bool { return !isKeyRune(r) }); i >= 0 {
		return fmt.Errorf("a key consists of A-Z a-z 0-9 _ -, but character %d after %s is not one of these", i+1, Prefix)
	}
	return nil
}

// Opens reports whether the key opens a site of an organization.
func (k *Key) Opens(organization, site string) bool {
	return k.Organization != "" && k.Organization == organization &&
		(len(k.Sites) == 0 || slices.Contains(k.Sites, site))
}

// AllowsOrigin reports whether a page of origin, the value of a request's
// Origin header, may use the key. A site's own origin is up to the caller.
func (k *Key) AllowsOrigin(origin string) bool {
	if len(k.Origins) == 0 {
		return true
	}
	o, err := ParseOrigin(origin)
	return err == nil && k.covers(o)
}

func (k *Key) covers(origin Origin) bool {
	return slices.ContainsFunc(k.origins, func(o Origin) bool { return o.covers(origin) })
}

// Expired reports whether the key has expired at now.
func (k *Key) Expired(now time.Time) bool {
	return !k.Expires.IsZero() && !now.Before(k.Expires)
}

// complete checks the key and sets what isn't part of its JSON.
func (k *Key) complete(hash [sha256.Size]byte, now time.Time) error {
	if err := CheckName("organization", k.Organization); err != nil {
		return err
	}
	if len(k.Sites) > maxNarrowed || len(k.Origins) > maxNarrowed {
		return fmt.Errorf("a key names at most %d sites and %d origins; omit them to allow all", maxNarrowed, maxNarrowed)
	}
	for _, s := range k.Sites {
		if err := CheckName("site", s); err != nil {
			return err
		}
	}
	k.origins = nil
	for _, s := range k.Origins {
		o, err := ParseOrigin(s)
		if err != nil {
			return err
		}
		k.origins = append(k.origins, o)
	}
	if n := utf8.RuneCountInString(k.Name); n > maxKeyName {
		return fmt.Errorf("a key's name has at most %d characters, this one has %d", maxKeyName, n)
	}
	// Names are printed on terminals and in logs.
	if !utf8.ValidString(k.Name) || strings.ContainsFunc(k.Name, unicode.IsControl) {
		return errors.New("a key's name can't contain control characters")
	}
	if k.Expired(now) {
		return fmt.Errorf("expiry %s is in the past", k.Expires.Format(time.RFC3339))
	}
	k.hash, k.used = hash, new(atomic.Int64)
	return nil
}

func parseHash(s string) (sum [sha256.Size]byte, err error) {
	if b, err := hex.DecodeString(s); err == nil && len(b) == len(sum) {
		return [sha256.Size]byte(b), nil
	}
	return sum, fmt.Errorf("sha256 of a key: must be %d hex digits", 2*len(sum))
}

func isKeyRune(r rune) bool {
	return r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_' || r == '-'
}

// checksum returns the CRC-32 of body in base 62.
func checksum(body string) string {
	const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	var out [checksumLength]byte
	n := crc32.ChecksumIEEE([]byte(body))
	for i := len(out) - 1; i >= 0; i-- {
		out[i] = alphabet[n%uint32(len(alphabet))]
		n /= uint32(len(alphabet))
	}
	return string(out[:])
}
