package source

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"golang.org/x/net/html/charset"
)

// sitemapEntry is one URL of a sitemap.
type sitemapEntry struct {
	Loc     string `xml:"loc"`
	LastMod string `xml:"lastmod"`
}

// errTooMuch is wrapped by the error for a sitemap that exceeds a bound.
var errTooMuch = errors.New("is larger than the sitemap protocol allows")

// bounded fails after n bytes.
type bounded struct {
	r io.Reader
	n int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.n <= 0 {
		// n bytes are allowed.
		if n, err := b.r.Read(make([]byte, 1)); n == 0 && err != nil {
			return 0, err
		}
		return 0, fmt.Errorf("%w: %d MB", errTooMuch, maxSitemapBytes>>20)
	}
	if int64(len(p)) > b.n {
		p = p[:b.n]
	}
	n, err := b.r.Read(p)
	b.n -= int64(n)
	return n, err
}

// parseSitemap reads a sitemap (pages) or a sitemap index (maps): XML, or a
// text file with one URL per line, gzipped or not. It returns at most limit
// entries, with an error if there are more.
func parseSitemap(r io.Reader, limit int) (pages, maps []sitemapEntry, err error) {
	b := bufio.NewReader(&bounded{r, maxSitemapBytes})
	if magic, _ := b.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(b)
		if err != nil {
			return nil, nil, fmt.Errorf("unpacking it: %w", err)
		}
		defer z.Close()
		b = bufio.NewReader(&bounded{z, maxSitemapBytes})
	}
	start, _ := b.Peek(512)
	start = bytes.TrimSpace(bytes.TrimPrefix(start, []byte("\xef\xbb\xbf")))
	if bytes.HasPrefix(start, []byte("http")) {
		pages, err = parseSitemapText(b, limit)
		return pages, nil, err
	}
	d := xml.NewDecoder(b)
	d.Strict = false
	d.CharsetReader = charset.NewReaderLabel
	root := false
	for {
		token, err := d.Token()
		if err == io.EOF {
			if !root {
				return nil, nil, errors.New("it is not a sitemap: it has no <urlset> or <sitemapindex>")
			}
			return pages, maps, nil
		}
		if err != nil {
			return pages, maps, fmt.Errorf("reading it: %w", err)
		}
		element, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		name := element.Name.Local
		switch {
		case name == "urlset" || name == "sitemapindex":
			root = true
			continue
		case !root:
			return nil, nil, fmt.Errorf("it is not a sitemap: it begins with <%.40s>", name)
		case name != "url" && name != "sitemap":
			if err := d.Skip(); err != nil {
				return pages, maps, fmt.Errorf("reading it: %w", err)
			}
			continue
		}
		var entry sitemapEntry
		if err := d.DecodeElement(&entry, &element); err != nil {
			return pages, maps, fmt.Errorf("reading it: %w", err)
		}
		if len(pages)+len(maps) == limit {
			return pages, maps, fmt.Errorf("%w: %d entries", errTooMuch, limit)
		}
		entry.Loc, entry.LastMod = strings.TrimSpace(entry.Loc), strings.TrimSpace(entry.LastMod)
		if name == "url" {
			pages = append(pages, entry)
		} else {
			maps = append(maps, entry)
		}
	}
}

func parseSitemapText(r io.Reader, limit int) (pages []sitemapEntry, err error) {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		loc := strings.TrimSpace(strings.TrimPrefix(lines.Text(), "\ufeff"))
		if loc == "" {
			continue
		}
		if len(pages) == limit {
			return pages, fmt.Errorf("%w: %d entries", errTooMuch, limit)
		}
		pages = append(pages, sitemapEntry{Loc: loc})
	}
	return pages, lines.Err()
}

// lastModified reads a W3C date. exact is false if it names only a day, on
// which the page may change again.
func lastModified(s string) (t time.Time, exact bool) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, true
		}
	}
	if t, err := time.Parse(time.DateOnly, s); err == nil {
		return t, false
	}
	return time.Time{}, false
}
