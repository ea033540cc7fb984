package assistant

import (
	"sync"
	"unicode/utf8"

	"github.com/tiktoken-go/tokenizer/codec"
)

// The vocabulary is cl100k_base: within a few percent of what other families
// of models count on English and code, and on the high side for other
// scripts, so a budget is rather kept than broken. It is compiled in (3.4 MB
// on the heap, 15 ms) and loaded once, when a site has a model.
var tokenizer = sync.OnceValue(codec.NewCl100kBase)

// Warm loads what replies need, so that the first reader does not wait for
// it: some 20 ms with a model, nothing without.
func (a *Assistant) Warm() {
	if a.Model != nil {
		tokenizer()
	}
}

// countTokens counts the tokens of s.
func countTokens(s string) int {
	n, err := tokenizer().Count(s)
	if err != nil { // the tokenizer's own time limit on pathological text
		return utf8.RuneCountInString(s)
	}
	return n
}

// tokenCache remembers counts by text, for the passages of the sites: the
// same few hundred sections answer most questions. It starts afresh when it
// is full, which costs less to think about than it saves to do better.
type tokenCache struct {
	mu     sync.Mutex
	counts map[string]int
	bytes  int
}

// maxTokenCache bounds the texts that the cache holds on to, in bytes. They
// are substrings of documents in the index, so mostly not copies.
const maxTokenCache = 16 << 20

func (c *tokenCache) count(s string) int {
	c.mu.Lock()
	n, ok := c.counts[s]
	c.mu.Unlock()
	if ok {
		return n
	}
	n = countTokens(s)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts == nil || c.bytes > maxTokenCache {
		c.counts, c.bytes = make(map[string]int), 0
	}
	c.counts[s] = n
	c.bytes += len(s)
	return n
}
