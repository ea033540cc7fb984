package assistant

import "github.com/caddy-docs/caddy-docs/assistant/reply"

func (r *run) extract(notice string) {
	r.res.Extractive = true
	r.res.Model = "extractive"
	var b []byte
	if notice != "" {
		b = reply.Escape(b, notice+"\n\n")
	}
	if len(r.passages) == 0 {
		r.res.Answered = "no"
		r.out.text(reply.Escape(b, r.q.language.say(notFoundAtAll)))
		return
	}
	r.res.Answered = "yes"
	b = reply.Escape(b, r.q.language.say(foundSome))
	for _, p := range r.passages[:min(3, len(r.passages))] {
		b = reply.Escape(b, "\n\n**["+p.title+"]("+p.url+")**\n\n"+clip(p.text, 600))
	}
	r.out.text(b)
}
