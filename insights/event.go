package insights

import "time"

// The sources of requests.
const (
	API     = "api"     // a key
	Widget  = "widget"  // a browser token
	MCP     = "mcp"     // a tool call
	Command = "command" // the command line
	Web     = "web"     // a request for a page
	Group   = "group"   // what was done in a group of sites, for one of them
)

// Event is something that a reader did. Exactly one of Search, Click, Reply,
// Vote and Missing is set.
type Event struct {
	At time.Time `json:"at"`
	Scope
	// Source says what sent the request.
	Source string `json:"source"`
	// Key is the id of the key of the request, "" without one.
	Key    string  `json:"key,omitempty"`
	Search *Search `json:"search,omitempty"`
	Click  *Click  `json:"click,omitempty"`
	Reply  *Reply  `json:"reply,omitempty"`
	Vote   *Vote   `json:"vote,omitempty"`
	// Missing is only stored as a count of its day, and given to no outlet: anyone
	// can ask for what doesn't exist.
	Missing *Missing `json:"-"`
}

// Kind returns search, click, reply, vote or missing.
func (e *Event) Kind() string {
	switch {
	case e.Search != nil:
		return "search"
	case e.Click != nil:
		return "click"
	case e.Reply != nil:
		return "reply"
	case e.Missing != nil:
		return "missing"
	}
	return "vote"
}

// Search is a search that somebody meant: the last query of a typing session
// of the widget, each search of other clients.
type Search struct {
	// Query in lower case, "" with texts off.
	Query string `json:"query,omitempty"`
	Hits  int    `json:"hits"`
	// Top is the score of the first hit, nil if it is not known.
	Top      *float64 `json:"top_score,omitempty"`
	Language string   `json:"language,omitempty"`
	// Tracked is set for searches whose clicks are reported.
	Tracked bool `json:"tracked,omitempty"`
}

// weakScore is the score below which a search with hits counts as weak:
// search with vectors always finds something.
const weakScore = 0.3

// Weak reports whether a search found nothing that fits well.
func (s *Search) Weak() bool { return s.Hits > 0 && s.Top != nil && *s.Top < weakScore }

// Click is a click on a result of a search.
type Click struct {
	Query string `json:"query,omitempty"`
	// Path is the page, as results name it.
	Path string `json:"path"`
	// Position counts from 1.
	Position int `json:"position"`
}

// Reply is an answer of the assistant that has ended, one way or another.
type Reply struct {
	Thread  string `json:"thread"`
	Message string `json:"message"`
	// Question is "" with texts off.
	Question string `json:"question,omitempty"`
	// Outcome is answered, extractive, failed, stopped or disconnected.
	Outcome string `json:"outcome"`
	// Answered is yes, partly or no: whether the documentation answered, in
	// the system's own judgement. It is "" where there was no answer to judge.
	Answered string `json:"answered,omitempty"`
	Model    string `json:"model,omitempty"`
	Language string `json:"language,omitempty"`
	// Page is where the reader asked, Nearest the page whose text fits the
	// question best, Cited the pages that the answer links to.
	Page         string   `json:"page,omitempty"`
	Nearest      string   `json:"nearest,omitempty"`
	Cited        []string `json:"cited,omitempty"`
	InputTokens  int      `json:"input_tokens,omitempty"`
	OutputTokens int      `json:"output_tokens,omitempty"`
	CachedTokens int      `json:"cached_tokens,omitempty"`
	// FirstToken and Took are in milliseconds; 0: there was no token.
	FirstToken int64 `json:"first_token_ms,omitempty"`
	Took       int64 `json:"took_ms"`
	// Regenerated is set if the answer replaces the last one of its thread.
	Regenerated bool `json:"regenerated,omitempty"`
}

// Judged reports whether the reply counts for the answered rate: those that
// failed, were stopped or lost their reader don't.
func (r *Reply) Judged() bool {
	return (r.Outcome == "answered" || r.Outcome == "extractive") && r.Answered != ""
}

// Vote is a reader's opinion of a reply or of a page.
type Vote struct {
	// Thread and Message name the reply; without Message it is the last one of
	// the thread. A message has one vote, the last one.
	Thread  string `json:"thread,omitempty"`
	Message string `json:"message,omitempty"`
	// Path is the page, where the vote is for one.
	Path string `json:"path,omitempty"`
	// Rating is up, down, or "" to withdraw the vote of a reply.
	Rating  string   `json:"rating"`
	Reasons []string `json:"reasons,omitempty"`
	Comment string   `json:"comment,omitempty"`
	// Known is set if the thread is known to be one of the site. Others are
	// stored only if the store has a reply of that thread.
	Known bool `json:"-"`
}

// Missing is a request for a page that the site doesn't have.
type Missing struct {
	// Path is without a query, which may hold anything.
	Path string
	// From is where the link is: the path of a page of the site, or the scheme and
	// host of another site; "" if it is not known.
	From string
	// Agent is what sent the request, as AgentOf has it.
	Agent string
	// Status is that of the response, and To the path that it redirected to, or of
	// the page that it suggested first; "" for none.
	Status int
	To     string
}

// Outcome is redirected, suggested or nothing: what the response led to.
func (m *Missing) Outcome() string {
	switch {
	case m.To == "":
		return "nothing"
	case m.Status == 404:
		return "suggested"
	}
	return "redirected"
}
