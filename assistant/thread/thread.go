// Package thread keeps conversations, so that a client may send only its
// newest message and a thread id (SPEC.md, threadId): the turns of each, in
// a store that processes share, bounded in number, bytes and time.
package thread

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"
)

// Anonymous is the fingerprint that stands for nobody in particular.
const Anonymous = "anonymous"

// Store keeps small values by name. Get returns an error that is
// fs.ErrNotExist for a name that is not there, and so may List and Delete.
// List returns the full names of everything below prefix, and may name
// things that nobody put there.
type Store interface {
	Get(ctx context.Context, key string) ([]byte, error)
	Put(ctx context.Context, key string, value []byte) error
	Delete(ctx context.Context, key string) error
	List(ctx context.Context, prefix string) ([]string, error)
}

// Owner is whom a thread belongs to: only requests with the same one
// continue it. Organization and Site are DNS labels.
type Owner struct {
	Organization, Site string
	// Fingerprint is the client's fp. It is stored as a hash that is
	// different for each site. Anonymous or "": the thread is bound to the
	// site alone, and its unguessable id is all that protects it.
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
	Answer   string    `json:"answer"`
	// Sources are the addresses of the passages of the answer.
	Sources []string `json:"sources,omitempty"`
	// Answered says how the question was dealt with, and Model who wrote the
	// answer; in the words of the caller.
	Answered string `json:"answered,omitempty"`
	Model    string `json:"model,omitempty"`
	// Partial is true if the answer broke off.
	Partial bool `json:"partial,omitempty"`
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

// The day of creation is a part of the id, so that a thread which goes on
// for weeks is found in the place where it was first stored.
var (
	ownID   = regexp.MustCompile(`^thr_(20[0-9]{6})[a-z2-7]{26}$`)
	anyID   = regexp.MustCompile(`^[A-Za-z0-9_-]{1,128}$`)
	isLabel = regexp.MustCompile(`^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$`)
)

// CheckID returns an error that says what a thread id is, for one that none
// can be: more than 128 characters, or others than A–Z a–z 0–9 _ -. Ids that
// other services made pass; they are unknown here.
func CheckID(id string) error {
	if !anyID.MatchString(id) {
		return errors.New("threadId must be an id that an earlier reply gave (1 to 128 of A-Z a-z 0-9 _ -); leave it out to start a thread")
	}
	return nil
}

// newID makes an id with 130 random bits.
func newID(now time.Time) string {
	return "thr_" + now.UTC().Format("20060102") + strings.ToLower(rand.Text()[:26])
}

// key is where a thread is stored. ok is false if it can't be: nothing that
// a client sends forms a name unless it has exactly our form.
func key(organization, id string) (key string, ok bool) {
	m := ownID.FindStringSubmatch(id)
	if m == nil || !isLabel.MatchString(organization) {
		return "", false
	}
	return prefix + "/" + organization + "/" + m[1] + "/" + id + ".json", true
}

// split takes apart what key made.
func split(key string) (organization, day, id string, ok bool) {
	rest, ok := strings.CutPrefix(strings.TrimPrefix(key, "/"), prefix+"/")
	if !ok {
		return "", "", "", false
	}
	parts := strings.Split(rest, "/")
	if len(parts) != 3 || !isLabel.MatchString(parts[0]) {
		return "", "", "", false
	}
	id, ok = strings.CutSuffix(parts[2], ".json")
	m := ownID.FindStringSubmatch(id)
	if !ok || m == nil || m[1] != parts[1] {
		return "", "", "", false
	}
	return parts[0], parts[1], id, true
}

func (t *Thread) ownedBy(o Owner) bool {
	return t.Organization == o.Organization && t.Site == o.Site && t.Owner == o.Hash()
}

// add appends a turn, or puts it in place of the last, and drops the oldest
// turns until the thread is within its bounds. It returns the thread as it
// is stored.
func (t *Thread) add(turn Turn, replaceLast bool, maxTurns, maxBytes int) ([]byte, error) {
	turn.Question = cut(turn.Question, maxBytes/8)
	turn.Answer = cut(turn.Answer, maxBytes/4)
	if n := min(len(turn.Sources), 50); n > 0 {
		sources := make([]string, 0, n)
		for _, s := range turn.Sources[:n] {
			if len(s) <= 2000 && utf8.ValidString(s) {
				sources = append(sources, s)
			}
		}
		turn.Sources = sources
	}
	if replaceLast && len(t.Turns) > 0 {
		t.Turns = t.Turns[:len(t.Turns)-1]
	}
	t.Turns = append(t.Turns, turn)
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
			// Text of which JSON makes six times its bytes.
			last := &t.Turns[0]
			last.Question, last.Answer = cut(last.Question, len(last.Question)/2), cut(last.Answer, len(last.Answer)/2)
			turn = *last
		case len(turn.Sources) > 0:
			t.Turns[0].Sources, turn.Sources = nil, nil
		default:
			return nil, fmt.Errorf("a turn of %d bytes does not fit into %d", len(data), maxBytes)
		}
	}
}

// cut shortens s to at most n bytes, at a character's border.
func cut(s string, n int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// decode reads a stored thread. Storage is shared with other programs, so
// what it holds is checked.
func decode(data []byte, id string, maxBytes int) (*Thread, error) {
	if len(data) > maxBytes {
		return nil, fmt.Errorf("is %d bytes long, more than %d", len(data), maxBytes)
	}
	t := new(Thread)
	if err := json.Unmarshal(data, t); err != nil {
		return nil, err
	}
	if t.ID != id {
		return nil, errors.New("is another thread")
	}
	return t, nil
}
