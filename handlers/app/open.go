package app

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/caddy-docs/caddy-docs/assistant"
)

// openSite gives a site its index, reply slots, budget and assistants.
func (a *App) openSite(r *LiveSite, model *pooledModel) (err error) {
	r.ctx, r.cancel = context.WithCancel(a.background)
	if r.index, err = a.openIndex(r); err != nil {
		return err
	}
	if err := a.openReach(r); err != nil {
		return err
	}
	if r.slots, err = share(&r.holds, replySlotsKey{r.Name}, newReplySlots); err != nil {
		return err
	}
	r.quoting = a.newAssistant(r)
	r.answering = r.quoting
	if model != nil {
		r.answering = a.newAssistant(r)
		r.answering.Model, r.answering.MaxTokens = observed{model}, a.models.AnswerTokens()
		if o, ok := a.models.(AnswerOptions); ok {
			r.answering.Reasoning, r.answering.MaxDuration = o.ShowReasoning(), o.AnswerDuration()
		}
		if r.budget, err = a.openBudget(r); err != nil {
			return err
		}
		if r.budget != nil {
			r.answering.Model = &budgeted{Model: r.answering.Model, budget: r.budget, answer: r.answering.MaxTokens}
		}
	}
	r.goBackground(func(ctx context.Context) { a.announce(ctx, r, model) })
	return nil
}

// newAssistant makes an assistant without a model.
func (a *App) newAssistant(r *LiveSite) *assistant.Assistant {
	s, prefer := r.Config, r.Prefer()
	return &assistant.Assistant{
		Site: assistant.Site{
			Name: r.Name, Title: s.Name, URL: s.URL, Instructions: s.instructions, SupportURL: s.SupportURL,
			AllowLinks: s.AllowLinks, Version: prefer.Version, Language: prefer.Language,
			Suggestions: s.Suggestions, SuggestionsFence: s.SuggestionsFence, StarterQuestions: s.StarterQuestions,
		},
		Search: r, Log: a.ctx.Slogger(),
	}
}

// announce writes the site's line of the start log, once its index is known.
// Of the sites of folders, which may be a thousand, it writes what is wrong.
func (a *App) announce(ctx context.Context, r *LiveSite, model *pooledModel) {
	log := a.log.With(zap.String("site", r.Name))
	if r.folder == nil && !a.keys.Opened(r.Organization, r.Name) {
		log.Warn("the site has no key", zap.String("run", "caddy docs key create --site "+r.Name))
	}
	select {
	case <-ctx.Done():
		return
	case <-r.index.looked:
	}
	a.AwaitStart(ctx)
	if r.reach != nil {
		r.reach.Tick() // not a second later
	}
	if _, err := a.checkAPI(ctx, r); err != nil && ctx.Err() == nil {
		found := err.Error()
		r.hidden.Store(&found)
		warn := func() {
			log.Warn("the site's API can't be reached", zap.String("found", found), zap.String("do", whatToDo(err)))
		}
		if r.folder == nil {
			warn()
		} else {
			r.folder.hidden.Do(warn) // the others have the same routes
		}
	}
	answers := "none: replies are extractive"
	if model != nil {
		answers = model.Name()
	}
	threads := "off"
	if ttl := a.threadsTTL(); ttl > 0 {
		threads = "kept for " + Days(ttl)
	}
	st := r.index.refresher.Status()
	log = log.With(
		zap.String("model", answers), zap.String("embedder", cmp.Or(a.embedderName(), "none: keyword search")),
		zap.String("threads", threads), zap.Int("pages", st.Pages), zap.Int("sections", st.Sections), zap.Duration("took", st.Last.Took),
	)
	switch {
	case !st.Ready:
		log.Warn("the site has no index yet", zap.String("reason", cmp.Or(st.Error, st.Held)), zap.String("do", r.remedy(st)))
	case st.Pages == 0:
		log.Warn("the site has no pages", zap.String("do", r.remedy(st)))
	case r.folder != nil:
		log.Debug("the site is ready")
	default:
		log.Info("the site is ready")
	}
}

// Days formats a duration, in days if it is a whole number of them.
func Days(d time.Duration) string {
	if d%(24*time.Hour) == 0 {
		return fmt.Sprintf("%d days", d/(24*time.Hour))
	}
	return strings.TrimSuffix(d.String(), "0s")
}
