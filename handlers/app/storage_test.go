package app

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/caddyserver/certmagic"
)

// slowStorage takes a while, whatever the context.
type slowStorage struct {
	certmagic.Storage
	takes time.Duration
}

func (s *slowStorage) Load(context.Context, string) ([]byte, error) {
	time.Sleep(s.takes)
	return []byte("value"), nil
}

// A client that leaves says nothing of the storage, which is slow but works.
func TestAClientThatLeavesDoesNotMakeTheStorageHang(t *testing.T) {
	for takes, works := range map[time.Duration]bool{1500 * time.Millisecond: true, time.Hour: false} {
		synctest.Test(t, func(t *testing.T) {
			s := new(Store)
			s.Use(&storage{Storage: &slowStorage{takes: takes}})
			ctx, leave := context.WithCancel(t.Context())
			leave()
			began := time.Now()
			if _, err := s.Get(ctx, "docs/a"); !errors.Is(err, context.Canceled) || time.Since(began) > lateTimeout {
				t.Errorf("the client that left got %v after %s", err, time.Since(began))
			}
			if !works {
				time.Sleep(storeTimeout)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			began = time.Now()
			if v, err := s.Get(ctx, "docs/a"); (err == nil) != works || !works && time.Since(began) > 0 {
				t.Errorf("another got %q, %v after %s", v, err, time.Since(began))
			}
			time.Sleep(takes) // so that all calls return
		})
	}
}
