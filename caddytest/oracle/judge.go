package oracle

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"
)

// Client asks a site that listens at a port of this machine.
type Client struct {
	*Site
	Port int
	Key  string
	// Group, if not "", is a group of sites with this one, which is asked in its
	// place.
	Group string
}

// asked is the name of what is asked, and what the names of its pages begin with.
func (c *Client) asked() (name, prefix string) {
	if c.Group != "" {
		return c.Group, c.Name + "/"
	}
	return c.Name, ""
}

// stem is a page's path without its extension, as search results have it.
func stem(p string) string { return strings.Trim(strings.TrimSuffix(p, path.Ext(p)), "/") }

// Do sends a request as a reader, and reads the response.
func (c *Client) Do(ctx context.Context, r *Reader, method, path string, header map[string]string, body []byte) (status int, h http.Header, response []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, method, fmt.Sprintf("https://%s:%d%s", c.Host, c.Port, path), bytes.NewReader(body))
	if err != nil {
		return 0, nil, nil, err
	}
	for _, all := range []map[string]string{r.Header, header} {
		for k, v := range all {
			req.Header.Set(k, v)
		}
	}
	res, err := c.client(r).Do(req)
	if err != nil {
		return 0, nil, nil, err
	}
	defer res.Body.Close()
	response, err = io.ReadAll(res.Body)
	return res.StatusCode, res.Header, response, err
}

var connecting sync.Mutex

// client returns the connections of a reader.
func (c *Client) client(r *Reader) *http.Client {
	connecting.Lock()
	defer connecting.Unlock()
	if r.client != nil {
		return r.client
	}
	config := &tls.Config{InsecureSkipVerify: true} //nolint:gosec // Caddy's own authority
	if r.Certificate {
		config.Certificates = []tls.Certificate{c.Site.client}
	}
	dialer := new(net.Dialer)
	if r.From != "" {
		dialer.LocalAddr = &net.TCPAddr{IP: net.ParseIP(r.From)}
	}
	r.client = &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{TLSClientConfig: config, MaxIdleConnsPerHost: 8, DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, network, fmt.Sprintf("127.0.0.1:%d", c.Port))
		}},
	}
	return r.client
}

// Close closes the connections.
func (c *Client) Close() {
	for _, r := range c.Readers {
		if r.client != nil {
			r.client.CloseIdleConnections()
		}
	}
}

// Look asks for every page as every reader. It returns how many pages opened.
func (c *Client) Look(ctx context.Context) (opened int, err error) {
	for begin := time.Now(); time.Since(begin) < 10*time.Second; time.Sleep(50 * time.Millisecond) {
		if _, _, _, err := c.Do(ctx, c.Readers[0], http.MethodHead, "/", nil, nil); err == nil { // Caddy's authority has made its certificate
			break
		}
	}
	var wait sync.WaitGroup
	var mu sync.Mutex
	turns := make(chan struct{}, 4)
	for _, r := range c.Readers {
		wait.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			opens, n := make([]bool, len(c.Pages)), 0
			for i, p := range c.Pages {
				status, _, body, e := c.Do(ctx, r, http.MethodGet, p.Path, nil, nil)
				if e != nil {
					mu.Lock()
					err = fmt.Errorf("%s asks for %s: %w", r.Name, p.Path, e)
					mu.Unlock()
					return
				}
				if opens[i] = status == http.StatusOK && bytes.Contains(body, []byte(p.Word)); opens[i] {
					n++
				}
			}
			mu.Lock()
			defer mu.Unlock()
			r.opens = opens
			opened += n
		})
	}
	wait.Wait()
	return opened, err
}

// Opens reports whether a reader could open a page in the last Look.
func (*Client) Opens(r *Reader, page int) bool { return r.opens[page] }

// Verdict is what a number of random requests showed.
type Verdict struct {
	Asked int
	// Wrong are pages that were shown to readers who can't open them.
	Wrong int
	// Missed are requests that lack a page of the reader's, Silent those of them
	// that do not say so.
	Missed, Silent int
	// Examples are some of each.
	Examples []string
}

func (v *Verdict) example(format string, arguments ...any) {
	if len(v.Examples) < 10 {
		v.Examples = append(v.Examples, fmt.Sprintf(format, arguments...))
	}
}

// Judge sends n random requests of random readers, after Look: searches for one
// page, for a topic and for words of many pages, and for pages as Markdown.
func (c *Client) Judge(ctx context.Context, n int) (*Verdict, error) {
	v := &Verdict{Asked: n}
	topics := make(map[string][]int)
	for i, p := range c.Pages {
		topics[p.Topic] = append(topics[p.Topic], i)
	}
	random := rand.New(rand.NewPCG(9, 10)) //nolint:gosec // the same requests in each run
	for i := range n {
		r, at := c.Readers[random.IntN(len(c.Readers))], random.IntN(len(c.Pages))
		p := c.Pages[at]
		var err error
		switch i % 4 {
		case 0:
			err = c.search(ctx, v, r, p.Word, []int{at})
		case 1:
			err = c.search(ctx, v, r, p.Topic, topics[p.Topic])
		case 2:
			err = c.search(ctx, v, r, Word(2_000_000+random.IntN(1500))+" "+Word(2_000_000+random.IntN(1500)), nil)
		case 3:
			err = c.page(ctx, v, r, at)
		}
		if err != nil {
			return nil, err
		}
	}
	return v, nil
}

const pageSize = 10

// Search searches as a reader, and returns the pages found, and whether the
// response says that it may lack some.
func (c *Client) Search(ctx context.Context, r *Reader, query string) (pages []int, incomplete bool, err error) {
	body, err := json.Marshal(map[string]any{"query": query, "pageSize": pageSize})
	if err != nil {
		return nil, false, err
	}
	asked, prefix := c.asked()
	status, header, response, err := c.Do(ctx, r, http.MethodPost, "/v1/search/"+asked, map[string]string{"X-API-Key": c.Key, "Content-Type": "application/json"}, body)
	if err != nil {
		return nil, false, err
	}
	var results []struct{ Path string }
	if status != http.StatusOK || json.Unmarshal(response, &results) != nil {
		return nil, false, fmt.Errorf("searching %q as %s: %d %s", query, r.Name, status, response)
	}
	for _, found := range results {
		name, _, _ := strings.Cut(found.Path, "#")
		name, here := strings.CutPrefix(strings.Trim(name, "/"), prefix)
		if !here {
			continue // of another site of the group
		}
		at, ok := c.at[name]
		if !ok {
			return nil, false, fmt.Errorf("searching %q finds an unknown page %q", query, found.Path)
		}
		pages = append(pages, at)
	}
	return pages, header.Get("X-Results-Incomplete") != "", nil
}

// search judges a search whose results must have those of some pages that the
// reader can open.
func (c *Client) search(ctx context.Context, v *Verdict, r *Reader, query string, wanted []int) error {
	pages, incomplete, err := c.Search(ctx, r, query)
	if err != nil {
		return err
	}
	found := make(map[int]bool)
	for _, at := range pages {
		found[at] = true
		if !r.opens[at] {
			v.Wrong++
			v.example("SHOWN: %s is shown to %s by %q", c.Pages[at].Path, r.Name, query)
		}
	}
	open, have := 0, 0
	for _, at := range wanted {
		if r.opens[at] {
			if open++; found[at] {
				have++
			}
		}
	}
	if have < min(open, pageSize) {
		c.missed(v, incomplete, "%s finds %d of %d pages by %q, announced: %t", r.Name, have, open, query, incomplete)
	}
	return nil
}

func (c *Client) missed(v *Verdict, announced bool, format string, arguments ...any) {
	if v.Missed++; !announced {
		v.Silent++
		v.example("MISSED: "+format, arguments...)
	}
}

// page judges a request for a page as Markdown.
func (c *Client) page(ctx context.Context, v *Verdict, r *Reader, at int) error {
	p := c.Pages[at]
	asked, prefix := c.asked()
	status, header, body, err := c.Do(ctx, r, http.MethodPost, "/v1/page/"+asked, map[string]string{"X-API-Key": c.Key, "Content-Type": "application/json"}, fmt.Appendf(nil, "{\"path\":%q}", prefix+stem(p.Path)))
	if err != nil {
		return err
	}
	got := status == http.StatusOK && bytes.Contains(body, []byte(p.Word))
	switch {
	case got && !r.opens[at]:
		v.Wrong++
		v.example("SHOWN: %s as Markdown to %s", p.Path, r.Name)
	case !got && r.opens[at]:
		c.missed(v, header.Get("X-Results-Incomplete") != "" || status == http.StatusServiceUnavailable, "%s does not get %s as Markdown: %d", r.Name, p.Path, status)
	}
	return nil
}
