package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// asked has the figures of requests on persistent connections.
type asked struct {
	took  []time.Duration
	n     int
	bytes int64
	wall  time.Duration
}

func (a *asked) rate() float64 { return float64(a.n) / a.wall.Seconds() }

// askAll sends the requests in turn. Each client has its own connection and
// sends the next request after reading the answer.
func askAll(ctx context.Context, addr string, requests [][]byte, clients int, d time.Duration) (*asked, error) {
	var (
		total asked
		first error
		mu    sync.Mutex
		wg    sync.WaitGroup
	)
	begin := time.Now()
	for k := range clients {
		wg.Go(func() {
			a, err := ask(ctx, addr, requests, k*len(requests)/clients, begin.Add(d))
			mu.Lock()
			defer mu.Unlock()
			if err != nil && first == nil {
				first = err
			}
			total.took = append(total.took, a.took...)
			total.n += a.n
			total.bytes += a.bytes
		})
	}
	wg.Wait()
	total.wall = time.Since(begin)
	return &total, first
}

func ask(ctx context.Context, addr string, requests [][]byte, from int, until time.Time) (a asked, err error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return a, err
	}
	defer conn.Close()
	_ = conn.SetDeadline(until.Add(20 * time.Second))
	br := bufio.NewReaderSize(conn, 64<<10)
	for i := from; time.Now().Before(until) && ctx.Err() == nil; i++ {
		start := time.Now()
		if _, err := conn.Write(requests[i%len(requests)]); err != nil {
			return a, err
		}
		res, err := http.ReadResponse(br, nil) //nolint:bodyclose // read whole, and nothing to close without a client
		if err != nil {
			return a, err
		}
		n, err := io.Copy(io.Discard, res.Body)
		if err != nil {
			return a, err
		}
		if res.StatusCode != http.StatusOK {
			return a, fmt.Errorf("%s of %s", res.Status, addr)
		}
		a.took = append(a.took, time.Since(start))
		a.n++
		a.bytes += n
	}
	return a, ctx.Err()
}
