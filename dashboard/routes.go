package dashboard

import (
	"net/http"
	"strings"
)

// route is a page or a form below /{organization}/{domain}. GET changes
// nothing.
type route struct {
	method string
	// path is what follows /{organization}/{domain}/: keys, keys/{id}/revoke.
	path string
	// role is the least that may.
	role  Role
	serve func(*request) error
}

var routes []route

func init() { // the handlers need routes to render the navigation
	routes = []route{
		{http.MethodGet, "", Viewer, overview},
		{http.MethodPost, "refresh", Member, refresh},
		{http.MethodGet, "unanswered", Viewer, unanswered},
		{http.MethodGet, "unanswered/question", Viewer, gap},
		{http.MethodPost, "unanswered/question", Member, setGap},
		{http.MethodGet, "searches", Viewer, searches},
		{http.MethodGet, "conversations", Viewer, conversations},
		{http.MethodGet, "conversations/{thread}", Viewer, conversation},
		{http.MethodPost, "conversations/{thread}/erase", Member, eraseConversation},
		{http.MethodGet, "feedback", Viewer, feedback},
		{http.MethodPost, "feedback/{id}", Member, setFeedback},
		{http.MethodGet, "keys", Viewer, keys},
		{http.MethodPost, "keys", Member, createKey},
		{http.MethodPost, "keys/{id}/revoke", Member, revokeKey},
		{http.MethodGet, "content", Viewer, content},
		{http.MethodGet, "missing", Viewer, missing},
		{http.MethodPost, "missing", Member, setMissing},
		{http.MethodGet, "try", Viewer, try},
		{http.MethodPost, "try", Member, tryAnswer},
		{http.MethodGet, "audit", Viewer, auditTrail},
	}
}

// page is a link beside the pages.
type page struct{ Path, Title, Icon string }

// sections are the links of a site, in groups.
var sections = []struct {
	Title string
	Pages []page
}{
	{"", []page{{"", "Overview", "home"}}},
	{"Readers", []page{
		{"unanswered", "Unanswered", "question"},
		{"searches", "Searches", "search"},
		{"conversations", "Conversations", "chat"},
		{"feedback", "Feedback", "thumb"},
	}},
	{"Documentation", []page{{"content", "Content", "file"}, {"missing", "Missing", "gone"}, {"try", "Try", "play"}}},
	{"Access", []page{{"keys", "API keys", "key"}, {"audit", "Audit", "list"}}},
}

// page is the page in the navigation that the route belongs to.
func (r *route) page() string {
	name, _, _ := strings.Cut(r.path, "/")
	return name
}

// match compares the elements of a path with the route's.
func (r *route) match(parts []string) (params map[string]string, ok bool) {
	var want []string
	if r.path != "" {
		want = strings.Split(r.path, "/")
	}
	if len(want) != len(parts) {
		return nil, false
	}
	params = map[string]string{}
	for i, w := range want {
		if strings.HasPrefix(w, "{") {
			params[strings.Trim(w, "{}")] = parts[i]
		} else if w != parts[i] {
			return nil, false
		}
	}
	return params, true
}
