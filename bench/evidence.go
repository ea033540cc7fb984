package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/net/html"
)

// benchEvidence reports how many pages of the built sites of -sets are proven
// public where they are served as they are, by templates, and minified by
// another server.
func benchEvidence(ctx context.Context, b *bench) error {
	folders, err := filepath.Glob(b.sets)
	if err != nil || len(folders) == 0 {
		fmt.Fprintln(os.Stderr, "bench: evidence is left out: -sets has no folders of built sites")
		return err
	}
	var rows [][]string
	for _, folder := range folders {
		root, err := filepath.Abs(folder)
		if err != nil {
			return err
		}
		minifier := httptest.NewServer(minifying(http.FileServer(http.Dir(root))))
		row := []string{filepath.Base(root)}
		for _, handlers := range []string{"file_server", "templates\n\tfile_server", "reverse_proxy " + minifier.Listener.Addr().String()} {
			cell, err := b.proven(ctx, root, handlers)
			if err != nil {
				minifier.Close()
				return fmt.Errorf("%s: %w", root, err)
			}
			row = append(row, cell)
		}
		minifier.Close()
		rows = append(rows, row)
	}
	table("Pages proven public (others are listed above)", []string{"site", "file_server", "templates", "minified"}, rows)
	return nil
}

// proven returns how many pages of a folder are proven public, of those that
// are served at a separate URL.
func (b *bench) proven(ctx context.Context, root, handlers string) (string, error) {
	s, err := b.startCaddy(ctx, fmt.Sprintf("\tdocs {\n\t\tkey %s\n\t}", benchKey), fmt.Sprintf("\troot * %q\n\tdocs bench\n\t%s\n", root, handlers), "")
	if err != nil {
		return "", err
	}
	defer s.end()
	var pages []struct{ URL, State, Why string }
	for {
		body, err := s.adminAPI(ctx, http.MethodGet, "/docs/pages/bench", nil)
		if err == nil {
			if err := json.Unmarshal(body, &pages); err != nil {
				return "", err
			}
			if len(pages) > 0 && !bytes.Contains(body, []byte("not asked for yet")) {
				break
			}
		}
		if err := pause(ctx, 200*time.Millisecond); err != nil {
			return "", err
		}
	}
	public, all, printed := 0, 0, 0
	for _, p := range pages {
		switch p.State {
		case "duplicate":
			continue
		case "public":
			public++
		default:
			if !served(ctx, p.URL) {
				continue // such as a page that is no template
			}
			if printed++; printed <= 5 {
				fmt.Printf("%s, %s: %s is %s: %s\n", filepath.Base(root), strings.ReplaceAll(handlers, "\n\t", ", "), p.URL, p.State, p.Why)
			}
		}
		all++
	}
	return fmt.Sprintf("%d of %d", public, all), nil
}

// served reports whether a URL is answered with 200.
func served(ctx context.Context, url string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	defer res.Body.Close()
	return res.StatusCode == http.StatusOK
}

// minifying serves HTML without comments, optional tags and superfluous space,
// as minifiers write it.
func minifying(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := httptest.NewRecorder()
		next.ServeHTTP(rec, r)
		maps.Copy(w.Header(), rec.Header())
		body := rec.Body.Bytes()
		if strings.HasPrefix(rec.Header().Get("Content-Type"), "text/html") {
			body = minify(body)
			w.Header().Del("Content-Length")
			w.Header().Set("Content-Type", "text/html") // the page says its charset
		}
		w.WriteHeader(rec.Code)
		_, _ = w.Write(body)
	})
}

func minify(text []byte) []byte {
	var out bytes.Buffer
	kept := 0 // depth in elements whose space counts
	z := html.NewTokenizer(bytes.NewReader(text))
	for {
		kind := z.Next()
		raw := bytes.Clone(z.Raw())
		switch kind {
		case html.ErrorToken:
			return out.Bytes()
		case html.CommentToken:
			continue
		case html.TextToken:
			if kept == 0 {
				lead, trail := bytes.TrimLeft(raw, " \t\r\n"), bytes.TrimRight(raw, " \t\r\n")
				joined := bytes.Join(bytes.Fields(raw), []byte(" "))
				if len(lead) < len(raw) {
					joined = append([]byte(" "), joined...)
				}
				if len(trail) < len(raw) && len(joined) > 1 {
					joined = append(joined, ' ')
				}
				raw = joined
			}
		case html.StartTagToken, html.EndTagToken:
			name, _ := z.TagName()
			switch string(name) {
			case "pre", "script", "style", "textarea":
				if kind == html.StartTagToken {
					kept++
				} else {
					kept = max(0, kept-1)
				}
			case "p", "li", "dd", "dt", "td", "th", "tr", "html", "body", "head":
				if kind == html.EndTagToken {
					continue
				}
			}
		default:
		}
		out.Write(raw)
	}
}
