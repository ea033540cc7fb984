package access

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"
)

// Prefix starts every key (SPEC.md, Authentication).
const Prefix = "svc_dsc_"

const (
	randomLength   = 32 // of 62: 190 bits
	checksumLength = 6  // CRC-32 in base 62, for secret scanners and typing errors
	minFixed       = 16
	// maxSecret bounds what is hashed for a request.
	maxSecret = 256
	// maxRecord bounds what is read from storage for a key.
	maxRecord   = 16 << 10
	maxKeyName  = 100
	maxNarrowed = 100 // sites, and origins, of one key
)

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// Key is what is known of a key: never its secret. Values that Keys hands
// out are shared and must not be changed.
type Key struct {
	// ID names the key in lists and logs. It is no secret.
	ID string `json:"id"`
	// Name is the operator's own, up to 100 characters. May be empty.
	Name string `json:"name,omitempty"`
	// Organization whose sites the key opens.
	Organization string `json:"organization"`
	// Sites narrows the key to some of them. None: all.
	Sites []string `json:"sites,omitempty"`
	// Origins from which browsers may use the key (see ParseOrigin), besides
	// each site's own. None: any.
	Origins []string `json:"origins,omitempty"`

	Created time.Time `json:"created,omitzero"`
	// Expires is when the key stops working. Zero: never.
	Expires time.Time `json:"expires,omitzero"`
	// LastUsed is filled by Keys.List, to within a few minutes.
	LastUsed time.Time `json:"lastUsed,omitzero"`
	// Fixed is true for keys written in the configuration.
	Fixed bool `json:"fixed,omitempty"`

	hash    [sha256.Size]byte
	origins []Origin
	used    *atomic.Int64 // Unix seconds
}

// record is a key as it is stored. It never changes after it was written,
// so that a running server need not read it twice.
type record struct {
	*Key
	SHA256 string `json:"sha256"`
}

// Hash returns the SHA-256 of a secret, in hex: the form in which keys are
// stored and stand in the configuration. Secrets of made keys have 190
// random bits, so neither salt nor stretching would add anything.
func Hash(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// Make makes a key after the given one, of which it takes Name,
// Organization, Sites, Origins and Expires, and returns its secret, which
// cannot be had again: svc_dsc_, 32 random letters and digits, 6 that check
// them. It stores nothing; Keys.Create does.
func Make(k Key, now time.Time) (secret string, made *Key, err error) {
	if err := k.check(now); err != nil {
		return "", nil, err
	}
	body := randomText(randomLength, alphabet)
	secret = Prefix + body + checksum(body)
	made = &Key{
		ID:   "k" + randomText(9, "abcdefghijkmnpqrstuvwxyz23456789"),
		Name: k.Name, Organization: k.Organization,
		Sites: slices.Clone(k.Sites), Origins: slices.Clone(k.Origins),
		Created: now.UTC().Truncate(time.Second), Expires: k.Expires,
	}
	return secret, made, made.seal(sha256.Sum256([]byte(secret)))
}

// NewFixed makes a key of the configuration from the hash of its secret and
// from Name, Organization, Sites and Origins of k. Its ID depends on the
// hash alone, so that it stays over reloads.
func NewFixed(hash string, k Key) (*Key, error) {
	sum, err := parseHash(hash)
	if err != nil {
		return nil, err
	}
	if err := k.check(time.Time{}); err != nil {
		return nil, err
	}
	// A hash of the hash: the ID is shown, what the secret is checked
	// against is not.
	id := sha256.Sum256(sum[:])
	fixed := &Key{
		ID: "fixed-" + hex.EncodeToString(id[:4]), Fixed: true,
		Name: k.Name, Organization: k.Organization,
		Sites: slices.Clone(k.Sites), Origins: slices.Clone(k.Origins),
		Expires: k.Expires,
	}
	return fixed, fixed.seal(sum)
}

// CheckFixed returns an error that says what to write if secret can't be a
// key of the configuration: svc_dsc_ and at least 16 of A–Z a–z 0–9 _ -.
// The error doesn't hold the secret.
func CheckFixed(secret string) error {
	body, ok := strings.CutPrefix(secret, Prefix)
	switch {
	case !ok:
		return fmt.Errorf("a key starts with %s", Prefix)
	case len(secret) > maxSecret:
		return fmt.Errorf("a key has at most %d characters, this has %d", maxSecret, len(secret))
	case len(body) < minFixed:
		return fmt.Errorf("a key has at least %d characters after %s, this has %d", minFixed, Prefix, len(body))
	}
	for i, r := range body {
		if !isKeyRune(r) {
			return fmt.Errorf("a key is made of A-Z a-z 0-9 _ -, but character %d after %s is another", utf8.RuneCountInString(body[:i])+1, Prefix)
		}
	}
	return nil
}

// CheckMade reports whether secret has the form of a made key and its last
// characters check the others: false for one that was mistyped or cut.
func CheckMade(secret string) bool {
	body, ok := strings.CutPrefix(secret, Prefix)
	if !ok || len(body) != randomLength+checksumLength {
		return false
	}
	return checksum(body[:randomLength]) == body[randomLength:]
}

// Opens reports whether the key opens a site of an organization.
func (k *Key) Opens(organization, site string) bool {
	return k.Organization != "" && k.Organization == organization &&
		(len(k.Sites) == 0 || slices.Contains(k.Sites, site))
}

// AllowsOrigin reports whether a page of origin, the value of a request's
// Origin header, may use the key. The caller allows the site's own origin
// besides.
func (k *Key) AllowsOrigin(origin string) bool {
	if len(k.Origins) == 0 {
		return true
	}
	got, err := ParseOrigin(origin)
	return err == nil && k.allows(got)
}

func (k *Key) allows(got Origin) bool {
	return slices.ContainsFunc(k.origins, func(o Origin) bool { return o.covers(got) })
}

// Expired reports whether the key had stopped working at now.
func (k *Key) Expired(now time.Time) bool {
	return !k.Expires.IsZero() && !now.Before(k.Expires)
}

func (k *Key) check(now time.Time) error {
	if err := CheckName("organization", k.Organization); err != nil {
		return err
	}
	if len(k.Sites) > maxNarrowed || len(k.Origins) > maxNarrowed {
		return fmt.Errorf("a key names at most %d sites and %d origins; leave them out to mean all", maxNarrowed, maxNarrowed)
	}
	for _, s := range k.Sites {
		if err := CheckName("site", s); err != nil {
			return err
		}
	}
	for _, o := range k.Origins {
		if _, err := ParseOrigin(o); err != nil {
			return err
		}
	}
	if n := utf8.RuneCountInString(k.Name); n > maxKeyName {
		return fmt.Errorf("a key's name has at most %d characters, this has %d", maxKeyName, n)
	}
	// Names end up on terminals and in logs.
	if !utf8.ValidString(k.Name) || strings.ContainsFunc(k.Name, unicode.IsControl) {
		return errors.New("a key's name has no control characters")
	}
	if k.Expired(now) {
		return fmt.Errorf("expiry %s is in the past", k.Expires.Format(time.RFC3339))
	}
	return nil
}

// seal completes a key that was checked.
func (k *Key) seal(hash [sha256.Size]byte) error {
	k.hash = hash
	k.used = new(atomic.Int64)
	k.origins = nil
	for _, s := range k.Origins {
		o, err := ParseOrigin(s)
		if err != nil {
			return err
		}
		k.origins = append(k.origins, o)
	}
	return nil
}

func encodeRecord(k *Key) ([]byte, error) {
	return json.Marshal(record{Key: k, SHA256: hex.EncodeToString(k.hash[:])})
}

// decodeRecord reads what encodeRecord wrote under id. Storage is shared
// with other programs and backups, so it is read like any outside input.
func decodeRecord(id string, data []byte) (*Key, error) {
	if len(data) > maxRecord {
		return nil, fmt.Errorf("is %d bytes long, more than %d", len(data), maxRecord)
	}
	r := record{Key: new(Key)}
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, err
	}
	if r.Key == nil || r.ID != id {
		return nil, errors.New("is the record of another key")
	}
	sum, err := parseHash(r.SHA256)
	if err != nil {
		return nil, err
	}
	if err := r.check(time.Time{}); err != nil {
		return nil, err
	}
	r.Fixed, r.LastUsed = false, time.Time{}
	return r.Key, r.seal(sum)
}

// ParseExpiry reads when a key expires, as operators write it: a time from
// now in hours, days, weeks or years (12h, 90d, 6w, 1y), a day (2027-01-31,
// whose end in UTC is meant), a time (RFC 3339), or "" or never for the zero
// time.
func ParseExpiry(s string, now time.Time) (time.Time, error) {
	s = strings.TrimSpace(s)
	if s == "" || s == "never" {
		return time.Time{}, nil
	}
	at, err := parseExpiry(s, now)
	if err != nil {
		return time.Time{}, err
	}
	if !at.After(now) {
		return time.Time{}, fmt.Errorf("expiry %q is not in the future", s)
	}
	if at.After(now.AddDate(100, 0, 1)) {
		return time.Time{}, fmt.Errorf("expiry %q is more than 100 years away; leave it out for a key that stays", s)
	}
	return at.UTC().Truncate(time.Second), nil
}

func parseExpiry(s string, now time.Time) (time.Time, error) {
	if n, err := strconv.ParseUint(s[:len(s)-1], 10, 16); err == nil {
		switch n := int(n); s[len(s)-1] {
		case 'h':
			return now.Add(time.Duration(n) * time.Hour), nil
		case 'd':
			return now.Add(time.Duration(n) * 24 * time.Hour), nil
		case 'w':
			return now.Add(time.Duration(n) * 7 * 24 * time.Hour), nil
		case 'y':
			return now.AddDate(n, 0, 0), nil
		}
	}
	if t, err := time.Parse(time.DateOnly, s); err == nil {
		return t.AddDate(0, 0, 1), nil
	}
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t, nil
	}
	return time.Time{}, fmt.Errorf("expiry %q: write a time from now like 12h, 90d, 6w or 1y, or a day like 2027-01-31", s)
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

func checksum(body string) string {
	var out [checksumLength]byte // 62^6 > 2^32
	n := crc32.ChecksumIEEE([]byte(body))
	for i := len(out) - 1; i >= 0; i-- {
		out[i] = alphabet[n%uint32(len(alphabet))]
		n /= uint32(len(alphabet))
	}
	return string(out[:])
}

// randomText returns n characters of letters (at most 256), each as likely
// as the others.
func randomText(n int, letters string) string {
	limit := 256 - 256%len(letters)
	out := make([]byte, 0, n)
	var buf [64]byte
	for len(out) < n {
		_, _ = rand.Read(buf[:]) // never fails (crypto/rand)
		for _, b := range buf {
			if int(b) < limit && len(out) < n {
				out = append(out, letters[int(b)%len(letters)])
			}
		}
	}
	return string(out)
}
