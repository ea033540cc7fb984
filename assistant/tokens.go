package assistant

import (
	"sync"
	"unicode/utf8"

	"github.com/tiktoken-go/tokenizer/codec"
)

// tokenizer has the vocabulary cl100k_base: within a few percent of what other
// models count on English and code, and on the high side for other scripts. It
// is compiled in, and takes some megabytes of memory once it is loaded.
var tokenizer = sync.OnceValue(codec.NewCl100kBase)

// Warm loads what replies need, so that the first reader does not wait for it.
func (a *Assistant) Warm() {
	if a.Model != nil {
		tokenizer()
	}
}

// countTokens counts the tokens of s.
func countTokens(s string) int {
	n, err := tokenizer().Count(s)
	if err != nil { // pathological text exceeds the tokenizer's time limit
		return utf8.RuneCountInString(s)
	}
	return n
}

// tokenCache remembers counts by text: the same few hundred sections answer
// most questions. It is emptied when it is full.
type tokenCache struct {
	mu     sync.Mutex
	counts map[string]int
	bytes  int
}

// maxTokenCache bounds the texts in the cache, in bytes.
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
