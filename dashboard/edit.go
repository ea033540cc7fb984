package dashboard

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/caddy-docs/caddy-docs/retrieval"
	"github.com/caddy-docs/caddy-docs/short"
)

// edit is where a page is edited, "" if that is not known.
func (s *Site) edit(p *Page) string {
	if strings.Contains(s.EditURL, "{source}") && (p.File == "" || strings.Contains(p.File, "://")) {
		return ""
	}
	escape := func(path string) string { return (&url.URL{Path: path}).EscapedPath() }
	return strings.NewReplacer("{source}", escape(p.File), "{page}", escape(cmp.Or(p.Name, "index"))).Replace(s.EditURL)
}

// places are the URLs of the pages, and those at which they are edited, by the
// names of the pages: none before there is an index.
func (q *request) places() (urls, edits map[string]string, err error) {
	urls, edits = map[string]string{}, map[string]string{}
	pages, err := q.d.server.Pages(q.Context(), q.Site.Name)
	if errors.Is(err, retrieval.ErrNotReady) {
		return urls, edits, nil
	}
	for i := range pages {
		urls[pages[i].Name], edits[pages[i].Name] = pages[i].URL, q.Site.edit(&pages[i])
	}
	return urls, edits, err
}

// Bounds of a new issue, whose text is part of its address: servers take 8 kB.
const (
	maxIssueQuestions = 5
	maxIssueQuestion  = 200  // bytes
	maxIssueAnswer    = 1200 // bytes
)

// issue is the address of the form for a new issue, filled in: on GitHub, GitLab
// and what has their addresses, by where pages are edited. It is "" elsewhere.
// urls are those of the pages, by their names. Readers' questions, and the answer,
// in which a reader can have anything written, are code, where they mention nobody.
func (s *Site) issue(questions []string, asked int64, pages []string, urls map[string]string, answer string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Readers asked this %s, and the pages don't answer it, or not fully:\n\n", plural(asked, "time", "times"))
	for _, question := range questions[:min(len(questions), maxIssueQuestions)] {
		fmt.Fprintf(&b, "    %s\n", short.Bytes(short.Line(question), maxIssueQuestion))
	}
	heading := "\nThe nearest pages:\n\n"
	for _, name := range pages {
		if urls[name] != "" { // else it is gone
			fmt.Fprintf(&b, "%s- %s\n", heading, urls[name])
			heading = ""
		}
	}
	if answer = short.Bytes(answer, maxIssueAnswer); answer != "" {
		lines := strings.NewReplacer("\r\n", "\n    ", "\r", "\n    ", "\n", "\n    ")
		fmt.Fprintf(&b, "\nThe latest answer:\n\n    %s\n", lines.Replace(answer))
	}
	title, form := "Docs: "+short.Bytes(short.Line(questions[0]), maxIssueQuestion), b.String()
	if repository, _, ok := strings.Cut(s.EditURL, "/-/"); ok { // GitLab
		return repository + "/-/issues/new?" + url.Values{"issue[title]": {title}, "issue[description]": {form}}.Encode()
	}
	u, err := url.Parse(s.EditURL)
	if err != nil {
		return ""
	}
	parts := strings.Split(u.Path, "/") // of /acme/docs/edit/main/{source}
	if len(parts) < 5 || parts[3] != "edit" && parts[3] != "blob" && parts[3] != "_edit" {
		return ""
	}
	u = &url.URL{Scheme: u.Scheme, Host: u.Host, Path: "/" + parts[1] + "/" + parts[2] + "/issues/new"}
	u.RawQuery = url.Values{"title": {title}, "body": {form}}.Encode()
	return u.String()
}
