package handlers

import (
	"net/http"
	"strconv"
	"strings"
)

// wantsMarkdown reports whether a request prefers Markdown to HTML: it names
// text/markdown, with a quality not below that of HTML, and before it if they
// are equal. Clients that only accept everything get HTML.
func wantsMarkdown(r *http.Request) bool {
	markdown, html := -1.0, -1.0
	markdownAt, htmlAt, at := 0, 0, 0
	for _, line := range r.Header.Values("Accept") {
		for part := range strings.SplitSeq(line, ",") {
			at++
			if at > 100 {
				return false
			}
			media, parameters, _ := strings.Cut(part, ";")
			q := quality(parameters)
			switch strings.ToLower(strings.TrimSpace(media)) {
			case "text/markdown", "text/x-markdown":
				if q > markdown {
					markdown, markdownAt = q, at
				}
			case "text/html", "application/xhtml+xml":
				if q > html {
					html, htmlAt = q, at
				}
			}
		}
	}
	return markdown > 0 && (markdown > html || markdown == html && markdownAt < htmlAt)
}

// quality is the q of an element of Accept. Default: 1.
func quality(parameters string) float64 {
	for p := range strings.SplitSeq(parameters, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(p), "=")
		if strings.EqualFold(strings.TrimSpace(name), "q") {
			q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil || q < 0 || q > 1 {
				return 0
			}
			return q
		}
	}
	return 1
}
