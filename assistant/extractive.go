package assistant

func (r *run) extract(notice string) {
	r.res.Extractive = true
	r.res.Model = "extractive"
	var b []byte
	if notice != "" {
		b = appendEscaped(b, notice+"\n\n")
	}
	if len(r.passages) == 0 {
		r.res.Answered = "no"
		r.out.text(appendEscaped(b, r.q.language.say(notFoundAtAll)))
		return
	}
	r.res.Answered = "yes"
	b = appendEscaped(b, r.q.language.say(foundSome))
	for _, p := range r.passages[:min(3, len(r.passages))] {
		b = appendEscaped(b, "\n\n**["+p.title+"]("+p.url+")**\n\n"+clip(p.text, 600))
	}
	r.out.text(b)
}
