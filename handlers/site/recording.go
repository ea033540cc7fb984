package site

import (
	"github.com/caddy-docs/caddy-docs/handlers/observe"
	"github.com/caddy-docs/caddy-docs/insights"
	"github.com/caddy-docs/caddy-docs/store"
)

// Recording is where events go. Configurations share it, so that replies that
// began before a reload are recorded by the newest one.
type Recording struct {
	Newest[*Recorder]

	// shown are the last results that the widget was given, to judge the final
	// query of a typing session by.
	shown store.Recent[shown]
}

// Recorder is a recorder in use by a configuration; it has none with insights off.
type Recorder struct {
	*insights.Recorder[*insights.Store]
	Privacy insights.Privacy
}

// NewRecording returns a Recording without a recorder.
func NewRecording() *Recording {
	return &Recording{shown: store.Recent[shown]{Max: maxShown}}
}

// add counts an event and gives it to the newest recorder.
func (r *Recording) add(e insights.Event) {
	m := observe.Metrics
	m.Events.WithLabelValues(e.Site, e.Kind(), e.Source).Inc()
	switch {
	case e.Click != nil:
		m.Clicks.WithLabelValues(e.Site).Inc()
	case e.Missing != nil:
		m.Missing.WithLabelValues(e.Site, e.Missing.Outcome()).Inc()
	case e.Vote != nil && e.Vote.Rating != "":
		m.Feedback.WithLabelValues(e.Site, e.Vote.Rating).Inc()
	case e.Reply != nil && e.Reply.Judged():
		m.Answered.WithLabelValues(e.Site, e.Reply.Answered).Inc()
	}
	if in := r.Current(); in != nil && in.Recorder != nil {
		in.Recorder.Add(e, in.Privacy)
	}
}
