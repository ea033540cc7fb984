package agents

import (
	"cmp"
	"mime"
	"net/http"
	"strconv"
	"strings"
)

// WantsMarkdown reports whether a request prefers Markdown to HTML: it names
// text/markdown, with a quality not below that of HTML, and before it if they
// are equal. Clients that only accept everything get HTML.
func WantsMarkdown(r *http.Request) bool {
	markdown, html := -1.0, -1.0
	first := false // Markdown came before HTML
	for i, part := range strings.SplitN(strings.Join(r.Header.Values("Accept"), ","), ",", 101) {
		if i == 100 {
			return false
		}
		media, parameters, err := mime.ParseMediaType(part)
		q, bad := strconv.ParseFloat(cmp.Or(parameters["q"], "1"), 64)
		if err != nil || bad != nil || !(q >= 0 && q <= 1) {
			q = 0
		}
		switch media {
		case "text/markdown", "text/x-markdown":
			if q > markdown {
				markdown, first = q, html < 0
			}
		case "text/html", "application/xhtml+xml":
			html = max(html, q)
		}
	}
	return markdown > 0 && (markdown > html || markdown == html && first)
}
