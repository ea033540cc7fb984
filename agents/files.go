package agents

import (
	"bytes"
	"encoding/xml"
	"slices"
)

// Sitemap returns sitemap.xml with URLs, of which a file may have 50,000.
func Sitemap(urls []string) []byte {
	var b bytes.Buffer
	b.WriteString(xml.Header + `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">` + "\n")
	for _, u := range urls[:min(len(urls), 50_000)] {
		b.WriteString("<url><loc>")
		_ = xml.EscapeText(&b, []byte(u)) // a buffer takes everything
		b.WriteString("</loc></url>\n")
	}
	b.WriteString("</urlset>\n")
	return b.Bytes()
}

// LeadToList puts a line before the text of a page, below its front matter, that
// leads agents to the list of all pages.
func LeadToList(page []byte, base string) []byte {
	mark := []byte("\n---\n\n")
	head, text, ok := bytes.Cut(page, mark)
	if !ok {
		return page
	}
	return slices.Concat(head, mark, []byte("> All pages of this documentation: "+base+"/llms.txt\n\n"), text)
}
