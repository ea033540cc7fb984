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

// parseSitemap reads a sitemap (pages) or a sitemap index (maps): XML, or a
// text file with one URL per line, gzipped or not. It returns at most limit
// entries, with an error if there are more.
func parseSitemap(r io.Reader, limit int) (pages, maps []sitemapEntry, err error) {
	packed := &io.LimitedReader{R: r, N: maxSitemapBytes + 1}
	b, plain := bufio.NewReader(packed), packed
	if magic, _ := b.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(b)
		if err != nil {
			return nil, nil, fmt.Errorf("unpacking it: %w", err)
		}
		defer z.Close()
		plain = &io.LimitedReader{R: z, N: maxSitemapBytes + 1}
		b = bufio.NewReader(plain)
	}
	start, _ := b.Peek(512)
	start = bytes.TrimSpace(bytes.TrimPrefix(start, []byte("\xef\xbb\xbf")))
	var sitemap struct {
		XMLName xml.Name
		Pages   []sitemapEntry `xml:"url"`
		Maps    []sitemapEntry `xml:"sitemap"`
	}
	if bytes.HasPrefix(start, []byte("http")) {
		lines := bufio.NewScanner(b)
		for lines.Scan() {
			sitemap.Pages = append(sitemap.Pages, sitemapEntry{Loc: strings.TrimPrefix(lines.Text(), "\ufeff")})
		}
		err = lines.Err()
	} else {
		d := xml.NewDecoder(b)
		d.Strict = false
		d.CharsetReader = charset.NewReaderLabel
		err = d.Decode(&sitemap)
		switch name := sitemap.XMLName.Local; {
		case name == "urlset" || name == "sitemapindex" || packed.N <= 0 || plain.N <= 0:
		case name == "":
			return nil, nil, errors.New("it is not a sitemap: it has no <urlset> or <sitemapindex>")
		default:
			return nil, nil, fmt.Errorf("it is not a sitemap: it begins with <%.40s>", name)
		}
	}
	for i, entries := range [][]sitemapEntry{sitemap.Pages, sitemap.Maps} {
		for _, e := range entries {
			e.Loc, e.LastMod = strings.TrimSpace(e.Loc), strings.TrimSpace(e.LastMod)
			switch {
			case e.Loc == "":
			case len(pages)+len(maps) == limit:
				return pages, maps, fmt.Errorf("%w: %d entries", errTooMuch, limit)
			case i == 0:
				pages = append(pages, e)
			default:
				maps = append(maps, e)
			}
		}
	}
	switch {
	case packed.N <= 0 || plain.N <= 0:
		err = fmt.Errorf("%w: %d MB", errTooMuch, maxSitemapBytes>>20)
	case err != nil:
		err = fmt.Errorf("reading it: %w", err)
	}
	return pages, maps, err
}

// lastModified reads a W3C date. exact is false if it names only a day, on
// which the page may change again.
func lastModified(s string) (t time.Time, exact bool) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05", time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, layout != time.DateOnly
		}
	}
	return time.Time{}, false
}
