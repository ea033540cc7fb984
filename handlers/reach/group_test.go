package reach

import (
	"testing"

	"github.com/caddy-docs/caddy-docs/retrieval"
)

// A group shows a page only while its own site has it with this content, and
// shows it: what the group's index still has is no evidence.
func TestAGroupShowsWhatItsSitesHave(t *testing.T) {
	page := func(site, name, hash string) []*retrieval.Document {
		return []*retrieval.Document{{Page: In(site, name), URL: "/" + name, File: site + "/" + name, Hash: hash, Source: site}}
	}
	own := page("", "guide", "a+1")
	own[0].Page, own[0].File = "guide", "guide"
	open, err := New(Options{Open: true, Documents: func() []*retrieval.Document { return own }})
	if err != nil {
		t.Fatal(err)
	}
	members, documents := []Member{{"docs", open}}, page("docs", "guide", "a+2")
	group, err := New(Options{Routes: &Routes{handlers: []any{nil}}, Documents: func() []*retrieval.Document { return documents }, Members: func() []Member { return members }})
	if err != nil {
		t.Fatal(err)
	}
	shown := func() bool {
		v, d := group.View(), documents[0]
		public, opens := v.IsPublic(d), group.CanOpen(t.Context(), d.Page, d)
		if public != opens || public != (v.Public == nil || v.Public.Has(d.Page)) {
			t.Errorf("public %t, opens %t, searched %v", public, opens, v.Public)
		}
		return public
	}
	if !shown() {
		t.Error("a page of the site is not shown")
	}
	for what, change := range map[string]func(){
		"another content in the group": func() { documents = page("docs", "guide", "b") },
		"a page that is gone":          func() { own = nil },
		"a site that is gone":          func() { members = nil },
		"a page of another site":       func() { documents = page("blog", "guide", "a") },
	} {
		oldDocuments, oldOwn, oldMembers := documents, own, members
		if change(); shown() {
			t.Errorf("%s is shown", what)
		}
		if documents, own, members = oldDocuments, oldOwn, oldMembers; !shown() {
			t.Errorf("after %s, the page is not shown again", what)
		}
	}
	closed, err := New(Options{Open: true, Documents: func() []*retrieval.Document { return own }})
	if err != nil {
		t.Fatal(err)
	}
	v := closed.states.newView(own)
	v.pages["guide"] = &Page{Document: own[0], State: Locked}
	closed.view.Store(v)
	if members = []Member{{"docs", closed}}; shown() {
		t.Error("a page that is locked on its site is public in the group")
	}
}
