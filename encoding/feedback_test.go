package encoding_test

import (
	"testing"

	"github.com/caddy-docs/caddy-docs/encoding"
)

// The path of the front page is empty, as search returns it.
func TestAVoteForTheFrontPage(t *testing.T) {
	for body, valid := range map[string]bool{
		`{"path":"","rating":"up"}`:                    true,
		`{"path":null,"rating":"up"}`:                  false,
		`{"rating":"up"}`:                              false,
		`{"path":"","threadId":"thr_1","rating":"up"}`: true,
	} {
		if _, err := encoding.DecodeFeedback([]byte(body)); (err == nil) != valid {
			t.Errorf("%s: %v", body, err)
		}
	}
}
