package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Targets of the suite locks.
const (
	// maxAsking is for asking for 10,000 pages, in seconds, on two cores.
	maxAsking = 3
	// maxPublicRatio is for a search of public pages with locks, compared with
	// one without: what one round differs from the next.
	maxPublicRatio = 1.10
)

// benchLocks measures what finding out who can open a page costs: for all pages
// of a site, and for a search. Then it judges what readers are shown.
func benchLocks(ctx context.Context, b *bench) error {
	if b.only == "" || b.only == "cost" {
		if err := b.lockCost(ctx); err != nil {
			return err
		}
	}
	if b.only == "cost" {
		return nil
	}
	return b.benchOracle(ctx)
}

// lockCost measures what asking for all pages costs, and a search.
func (b *bench) lockCost(ctx context.Context) error {
	pages := 10000
	if b.short {
		pages = 1000
	}
	root, err := b.lockedSite(pages)
	if err != nil {
		return err
	}
	// Half of the pages are for readers with a cookie.
	const lock = "\t@stranger {\n\t\tpath /internal/*\n\t\tnot header Cookie *staff*\n\t}\n\trespond @stranger 403\n"
	start := func(words, locks string) (*server, error) {
		s, err := b.startCaddy(ctx, fmt.Sprintf("\tdocs {\n\t\tkey %s\n\t}", benchKey),
			fmt.Sprintf("\troot * %q\n\tdocs bench {\n\t\trate_limit off\n%s\t}\n%s\tfile_server\n", root, words, locks), "")
		if err != nil {
			return nil, err
		}
		return s, s.settled(ctx, pages)
	}
	off, err := start("\t\tlocks off\n", "")
	if err != nil {
		return err
	}
	defer off.end()
	public, err := start("", "")
	if err != nil {
		return err
	}
	defer public.end()
	locked, err := start("", lock)
	if err != nil {
		return err
	}
	defer locked.end()

	figures := map[string][]float64{}
	for range b.rounds {
		if err := b.lockRound(ctx, figures, off, public, locked, pages); err != nil {
			return err
		}
	}

	m := func(name string) float64 { return median(figures[name]) }
	asking := m("asking") - m("reload")
	row := func(what, name string) []string {
		return []string{what, number(m(name)) + " ms", number(m(name) / m("off")), ""}
	}
	publicRow := row("all pages public", "public")
	publicRow[3] = result(m("public")/m("off"), fmt.Sprintf("≤ %.2f", maxPublicRatio), m("public") <= maxPublicRatio*m("off"))
	table(fmt.Sprintf("Locks: %d pages, half of them locked", pages), []string{"figure", "measured", "ratio", "target"}, [][]string{
		{"asking for all pages after a reload, without the reload itself", number(asking) + " s", "", result(asking, fmt.Sprintf("≤ %d s", maxAsking), asking <= maxAsking)},
		{"compared with a HEAD for each over the loopback interface, 16 at once", number(m("loopback")) + " s", number(asking / m("loopback")), ""},
		{"search, p50: `locks off`", number(m("off")) + " ms", "1", ""},
		row("the same, measured again: noise", "off again"),
		publicRow,
		row("half of the pages locked, a stranger", "stranger"),
		row("half of the pages locked, a reader who can open them", "reader"),
		row("the same, a reader's first search", "new reader"),
	})
	return nil
}

// lockRound adds the figures of a round, by their names.
func (b *bench) lockRound(ctx context.Context, figures map[string][]float64, off, public, locked *server, pages int) error {
	add := func(name string, v float64) { figures[name] = append(figures[name], v) }
	// A reload asks for all pages again, and /docs/pages waits for it.
	for name, s := range map[string]*server{"reload": off, "asking": locked} {
		begin := time.Now()
		if err := s.reload(ctx); err != nil {
			return err
		}
		counts, err := s.asked(ctx)
		if err != nil {
			return err
		}
		if want := pages / 2; s == locked && counts["locked"] != want {
			return fmt.Errorf("%v pages are locked, not %d", counts, want)
		}
		add(name, time.Since(begin).Seconds())
	}
	begin := time.Now()
	if err := headAll(ctx, locked.addr, pages); err != nil {
		return err
	}
	add("loopback", time.Since(begin).Seconds())

	n := 0
	for _, c := range []struct {
		name   string
		s      *server
		cookie func() string
	}{
		{"off", off, nil},
		{"public", public, nil},
		{"stranger", locked, nil},
		{"reader", locked, func() string { return "staff" }},
		{"new reader", locked, func() string { n++; return fmt.Sprintf("staff%d.%d", len(figures["asking"]), n) }},
		{"off again", off, nil},
	} {
		requests := lockRequests(c.s.addr, 2000, c.cookie)
		if _, err := askAll(ctx, c.s.addr, requests[:200], 1, b.seconds(.5)); err != nil {
			return err
		}
		got, err := askAll(ctx, c.s.addr, requests[200:], 1, b.seconds(2))
		if err != nil {
			return err
		}
		add(c.name, ms(quantile(got.took, .5)))
	}
	return nil
}

// lockedSite writes pages of some 60 words, every other one below /internal/.
func (b *bench) lockedSite(pages int) (string, error) {
	root := filepath.Join(b.dir, "locked")
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same pages in each run
	for i := range pages {
		dir := filepath.Join(root, []string{"guide", "internal"}[i%2], fmt.Sprint(i/200))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return "", err
		}
		var text strings.Builder
		for range 60 {
			fmt.Fprintf(&text, "word%d ", random.IntN(2000))
		}
		page := fmt.Sprintf("<html lang=en><title>Page %d</title><main><h1>Page %d</h1><p>%s</p></main></html>", i, i, text.String())
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.html", i)), []byte(page), 0o600); err != nil {
			return "", err
		}
	}
	return root, nil
}

// lockRequests are searches, with a cookie if there is one.
func lockRequests(host string, n int, cookie func() string) [][]byte {
	random := rand.New(rand.NewPCG(3, 4)) //nolint:gosec // the same searches for each server
	requests := make([][]byte, n)
	for i := range requests {
		body := fmt.Sprintf(`{"query":"word%d word%d"}`, random.IntN(2000), random.IntN(2000))
		head := ""
		if cookie != nil {
			head = "Cookie: session=" + cookie() + "\r\n"
		}
		requests[i] = fmt.Appendf(nil, "POST /v1/search/bench HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAuthorization: Bearer %s\r\n%sContent-Length: %d\r\n\r\n%s",
			host, benchKey, head, len(body), body)
	}
	return requests
}

// reload loads the configuration that runs once more.
func (s *server) reload(ctx context.Context) error {
	config, err := s.adminAPI(ctx, http.MethodGet, "/config/", nil)
	if err != nil {
		return err
	}
	_, err = s.adminAPI(ctx, http.MethodPost, "/load", config)
	return err
}

// asked waits until all pages were asked for, and returns their number by state.
func (s *server) asked(ctx context.Context) (map[string]int, error) {
	body, err := s.adminAPI(ctx, http.MethodGet, "/docs/pages/bench", nil)
	for err != nil && strings.Contains(err.Error(), "503 ") && pause(ctx, 5*time.Millisecond) == nil {
		body, err = s.adminAPI(ctx, http.MethodGet, "/docs/pages/bench", nil)
	}
	if err != nil {
		return nil, err
	}
	var pages []struct {
		State string `json:"state"`
	}
	if err := json.Unmarshal(body, &pages); err != nil {
		return nil, err
	}
	counts := map[string]int{}
	for _, p := range pages {
		counts[p.State]++
	}
	if counts["unknown"] > 0 {
		return nil, fmt.Errorf("%d of %d pages were not asked for", counts["unknown"], len(pages))
	}
	return counts, nil
}

func (s *server) adminAPI(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://"+s.admin+path, strings.NewReader(string(body)))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Cache-Control", "must-revalidate") // load what runs already
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: %s\n%s", method, path, res.Status, answer)
	}
	return answer, err
}

// headAll asks for every page by HEAD.
func headAll(ctx context.Context, addr string, pages int) error {
	const clients = 16
	errs := make(chan error, clients)
	transport := &http.Transport{MaxIdleConnsPerHost: clients}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	for c := range clients {
		go func() {
			for i := c; i < pages; i += clients {
				url := fmt.Sprintf("http://%s/%s/%d/%d.html", addr, []string{"guide", "internal"}[i%2], i/200, i)
				req, err := http.NewRequestWithContext(ctx, http.MethodHead, url, nil)
				if err != nil {
					errs <- err
					return
				}
				res, err := client.Do(req)
				if err != nil {
					errs <- err
					return
				}
				res.Body.Close()
			}
			errs <- nil
		}()
	}
	for range clients {
		if err := <-errs; err != nil {
			return err
		}
	}
	return nil
}
