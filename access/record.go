package access

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"time"

	"github.com/caddy-docs/caddy-docs/store"
)

// maxRecord bounds what is read from the store for a key or a secret.
const maxRecord = 16 << 10

const (
	recordPrefix = "docs/keys"
	// Times of last use are stored separately from the records: rewriting a
	// record could restore a key that another process has just revoked.
	usePrefix = "docs/used-keys"
)

var keyID = regexp.MustCompile(`^k[a-z0-9]{4,30}$`)

// record is the stored form of a key. It is never changed once written, so a
// server reads each record once.
type record struct {
	*Key
	SHA256 string `json:"sha256"`
}

// Record returns the stored form of a key, which Keys.Add takes. It doesn't
// contain the secret.
func Record(k *Key) ([]byte, error) {
	return json.Marshal(record{Key: k, SHA256: hex.EncodeToString(k.hash[:])})
}

// parseRecord reads what Record returned. Storage is shared with other
// programs and backups, so its content isn't trusted.
func parseRecord(data []byte) (*Key, error) {
	r := record{Key: new(Key)}
	if err := store.Decode(data, maxRecord, &r); err != nil {
		return nil, err
	}
	if !keyID.MatchString(r.ID) {
		return nil, errors.New("the id must be k and 4 to 30 of a-z 0-9")
	}
	sum, err := parseHash(r.SHA256)
	if err != nil {
		return nil, err
	}
	r.Fixed, r.LastUsed = false, time.Time{}
	return r.Key, r.complete(sum, time.Time{})
}

func recordKey(id string) string { return recordPrefix + "/" + id + ".json" }

func useKey(id string) string { return usePrefix + "/" + id }

// recordID returns the ID of a key from the name of its record, and false for
// files that aren't records.
func recordID(name string) (id string, ok bool) {
	id, ok = strings.CutPrefix(strings.TrimPrefix(name, "/"), recordPrefix+"/")
	id, isRecord := strings.CutSuffix(id, ".json")
	return id, ok && isRecord && keyID.MatchString(id)
}
