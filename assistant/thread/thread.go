// Package thread keeps conversations, so that a client may send only its
// newest message and a thread id. The turns of each are in a store that
// processes share, bounded in number, bytes and time.
package thread

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/caddy-docs/caddy-docs/short"
	"github.com/caddy-docs/caddy-docs/store"
)

// Anonymous is the fingerprint of clients that don't identify their readers.
const Anonymous = "anonymous"

const (
	prefix    = "docs/threads"
	dayFormat = "20060102"

	// Bounds of a thread; its oldest turns are dropped first.
	maxTurns   = 50
	maxBytes   = 256 << 10 // of JSON
	maxSources = 50        // of a turn
	maxGiven   = 300       // pages of a turn
	maxSource  = 2000      // bytes of a URL

	maxMessageID = 200 // bytes
)

// Owner is whom a thread belongs to: only requests of the same owner continue
// it. Organization and Site are DNS labels.
type Owner struct {
	Organization, Site string
	// Fingerprint is the client's fp. It is stored as a hash that differs from
	// site to site. With Anonymous or "" the thread is bound to the site alone,
	// and only its unguessable id protects it.
	Fingerprint string
}

// Hash returns the owner as it is stored: the SHA-256 of organization, site
// and fingerprint, in hex.
func (o Owner) Hash() string {
	fp := o.Fingerprint
	if fp == Anonymous {
		fp = ""
	}
	sum := sha256.Sum256([]byte(o.Organization + "/" + o.Site + "\x00" + fp))
	return hex.EncodeToString(sum[:])
}

// Turn is a question and its answer.
type Turn struct {
	At       time.Time `json:"at"`
	Question string    `json:"question"`
	// MessageID is the chat hook's id of the question, "" if it can't be told
	// from that of another question.
	MessageID string `json:"messageId,omitempty"`
	Answer    string `json:"answer"`
	// Sources are the URLs of the passages of the answer.
	Sources []string `json:"sources,omitempty"`
	// Given are the URLs of the pages behind locks that the answer may have a text
	// of, also those of the turns before. More is true if some of them are not stored.
	Given []string `json:"given,omitempty"`
	More  bool     `json:"more,omitempty"`
	// Locked is true if one of these pages was not public then.
	Locked bool `json:"locked,omitempty"`
	// Answered says whether the question was answered, and Model who wrote the
	// answer, in the caller's words.
	Answered string `json:"answered,omitempty"`
	Model    string `json:"model,omitempty"`
	// Partial is true if the answer broke off.
	Partial bool `json:"partial,omitempty"`
}

// Pages are the URLs of all pages that the turn may have a text of.
func (t *Turn) Pages() []string { return slices.Concat(t.Sources, t.Given) }

// Follow adds the pages of an earlier turn, which the answer may repeat.
func (t *Turn) Follow(earlier *Turn) {
	t.Given = append(t.Given, earlier.Pages()...)
	t.More, t.Locked = t.More || earlier.More, t.Locked || earlier.Locked
}

// Thread is a conversation.
type Thread struct {
	ID           string    `json:"id"`
	Organization string    `json:"organization"`
	Site         string    `json:"site"`
	Owner        string    `json:"owner"` // Owner.Hash
	Created      time.Time `json:"created"`
	Updated      time.Time `json:"updated"`
	// Turns, oldest first.
	Turns []Turn `json:"turns"`
}

// The day of creation is a part of the id and of the key, so that expired
// threads are found without reading the others.
var (
	ownID   = regexp.MustCompile(`^thr_(20[0-9]{6})[a-z2-7]{26}$`)
	anyID   = regexp.MustCompile(`^[A-Za-z0-9_-]{1,128}$`)
	isLabel = regexp.MustCompile(`^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$`)
)

// checkID returns an error for what can't be a thread id: more than 128
// characters, or others than A–Z a–z 0–9 _ -. Ids of other services pass; they
// are unknown here.
func checkID(id string) error {
	if !anyID.MatchString(id) {
		return errors.New("threadId must be the id from an earlier reply (1 to 128 of A-Z a-z 0-9 _ -); leave it out to start a thread")
	}
	return nil
}

// newID makes an id with 130 random bits.
func newID(now time.Time) string {
	return "thr_" + now.UTC().Format(dayFormat) + strings.ToLower(rand.Text()[:26])
}

// keyOf returns the key that a thread is stored under. ok is false if it can't
// be: nothing that a client sends becomes part of a key unless it has exactly
// the form of newID.
func keyOf(organization, id string) (key string, ok bool) {
	m := ownID.FindStringSubmatch(id)
	if m == nil || !isLabel.MatchString(organization) {
		return "", false
	}
	return prefix + "/" + organization + "/" + m[1] + "/" + id + ".json", true
}

// dayOf returns the day in a key of keyOf; ok is false for other keys.
func dayOf(key string) (day string, ok bool) {
	key = strings.TrimPrefix(key, "/")
	parts := strings.Split(strings.TrimPrefix(key, prefix+"/"), "/")
	if len(parts) != 3 {
		return "", false
	}
	same, ok := keyOf(parts[0], idOf(key))
	return parts[1], ok && same == key
}

// idOf returns the id in a key of keyOf.
func idOf(key string) string { return strings.TrimSuffix(path.Base(key), ".json") }

func (t *Thread) ownedBy(o Owner) bool {
	return t.Organization == o.Organization && t.Site == o.Site && t.Owner == o.Hash()
}

// Before returns the turns before that of a question: those before the turn
// with its message id, which is asked again or was edited, else all. With
// regenerate and no such turn, the last one is left out.
func (t *Thread) Before(messageID string, regenerate bool) []Turn {
	if messageID != "" {
		if i := slices.IndexFunc(t.Turns, func(turn Turn) bool { return turn.MessageID == messageID }); i >= 0 {
			return t.Turns[:i]
		}
	}
	if regenerate && len(t.Turns) > 0 {
		return t.Turns[:len(t.Turns)-1]
	}
	return t.Turns
}

// add appends a turn to those before it, and drops the oldest turns until the
// thread is within its bounds. It returns the thread as it is stored.
func (t *Thread) add(turn Turn, regenerate bool) ([]byte, error) {
	turn.Question = short.Bytes(strings.ToValidUTF8(turn.Question, "\uFFFD"), maxBytes/8)
	turn.Answer = short.Bytes(strings.ToValidUTF8(turn.Answer, "\uFFFD"), maxBytes/4)
	if len(turn.MessageID) > maxMessageID || !utf8.ValidString(turn.MessageID) {
		turn.MessageID = ""
	}
	bad := func(s string) bool { return len(s) > maxSource || !utf8.ValidString(s) }
	known := slices.DeleteFunc(slices.Clone(turn.Sources), bad)
	known = known[:min(len(known), maxSources)]
	turn.Locked = turn.Locked || len(known) < len(turn.Sources) // who may read the others is not known
	turn.Sources = known
	all := slices.Compact(slices.Sorted(slices.Values(turn.Given)))
	given := slices.DeleteFunc(slices.Clone(all), bad)
	given = given[:min(len(given), maxGiven)]
	turn.Given, turn.More = given, turn.More || len(given) < len(all)
	t.Turns = append(t.Before(turn.MessageID, regenerate), turn)
	if over := len(t.Turns) - maxTurns; over > 0 {
		t.Turns = t.Turns[over:]
	}
	for {
		data, err := json.Marshal(t)
		if err != nil || len(data) <= maxBytes {
			return data, err
		}
		switch {
		case len(t.Turns) > 1:
			t.Turns = t.Turns[1:]
		case len(turn.Question)+len(turn.Answer) > 0:
			// Text that JSON escapes is up to six times as long.
			last := &t.Turns[0]
			last.Question, last.Answer = short.Bytes(last.Question, len(last.Question)/2), short.Bytes(last.Answer, len(last.Answer)/2)
			turn = *last
		case len(turn.Sources)+len(turn.Given) > 0:
			turn.Sources, turn.Given = nil, nil
			t.Turns[0].Sources, t.Turns[0].Given = nil, nil
		default:
			return nil, fmt.Errorf("a turn of %d bytes does not fit into %d bytes", len(data), maxBytes)
		}
	}
}

// decode reads the thread that is stored under key. Other programs may write
// to the store, so what it holds is checked.
func decode(data []byte, key string) (*Thread, error) {
	t := new(Thread)
	if err := store.Decode(data, maxBytes, t); err != nil {
		return nil, err
	}
	if t.ID != idOf(key) {
		return nil, fmt.Errorf("the stored id is %q", t.ID)
	}
	return t, nil
}
