package modelserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"math"
	"net/http"
	"strings"
	"time"
	"unicode"
)

// ServeHTTP serves POST …/chat/completions, POST …/embeddings and GET
// …/models below any prefix.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch path := strings.TrimSuffix(r.URL.Path, "/"); {
	case r.Method == http.MethodPost && strings.HasSuffix(path, "/chat/completions"):
		s.chat(w, r)
	case r.Method == http.MethodPost && strings.HasSuffix(path, "/embeddings"):
		s.embeddings(w, r)
	case r.Method == http.MethodGet && strings.HasSuffix(path, "/models"):
		s.listModels(w)
	default:
		refuse(w, http.StatusNotFound, "no such path: "+r.Method+" "+r.URL.Path)
	}
}

func refuse(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": message, "type": "invalid_request_error"}})
}

func (s *Server) listModels(w http.ResponseWriter) {
	s.mu.Lock()
	models := s.models
	s.mu.Unlock()
	data := make([]map[string]any, 0, len(models))
	for _, m := range models {
		data = append(data, map[string]any{"id": m, "object": "model"})
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"object": "list", "data": data})
}

func (s *Server) chat(w http.ResponseWriter, hr *http.Request) {
	body, err := io.ReadAll(io.LimitReader(hr.Body, 64<<20))
	if err != nil {
		return
	}
	r := &Request{Body: body, Header: hr.Header.Clone(), done: make(chan struct{})}
	if err := json.Unmarshal(body, r); err != nil {
		refuse(w, http.StatusBadRequest, "malformed request: "+err.Error())
		return
	}
	_ = json.Unmarshal(body, &r.Fields)
	s.mu.Lock()
	answer := s.answer
	r.N = 1
	if n := len(s.requests); n > 0 {
		r.N = s.requests[n-1].N + 1
	}
	s.requests = append(s.requests, r)
	if len(s.requests) > s.keep {
		s.requests = append([]*Request(nil), s.requests[len(s.requests)-s.keep:]...)
	}
	s.mu.Unlock()

	p := &player{w: w, ctx: hr.Context(), request: r, reply: answer(r)}
	defer close(r.done)
	defer func() {
		r.mu.Lock()
		r.cancelled = hr.Context().Err() != nil
		r.mu.Unlock()
	}()
	if err := p.play(); errors.Is(err, errAbort) {
		panic(http.ErrAbortHandler)
	}
}

var (
	errAbort = errors.New("the connection is to be cut")
	errEnd   = errors.New("the answer is to end")
)

// player sends one reply.
type player struct {
	w       http.ResponseWriter
	ctx     context.Context
	request *Request
	reply   Reply
	buf     []byte
	pending int
	sent    int
}

func (p *player) play() error {
	rp := &p.reply
	switch {
	case rp.Fault == Refuse:
		return errAbort
	case rp.Fault == Hang && rp.After == 0:
		<-p.ctx.Done()
		return p.ctx.Err()
	case rp.Fault == HTML:
		rp.Body, rp.ContentType = "<!doctype html>\n<title>Welcome</title>\n<h1>It works</h1>\n", "text/html"
	}
	h := p.w.Header()
	maps.Copy(h, rp.Header)
	if rp.Status != 0 && rp.Status != http.StatusOK {
		h.Set("Content-Type", or(rp.ContentType, "application/json"))
		p.w.WriteHeader(rp.Status)
		_, err := io.WriteString(p.w, or(rp.Body, fmt.Sprintf(`{"error":{"message":"fake status %d","type":"fake","code":%d}}`, rp.Status, rp.Status)))
		return err
	}
	h.Set("Content-Type", or(rp.ContentType, "text/event-stream"))
	if rp.Body != "" {
		if err := p.pause(rp.First); err != nil {
			return err
		}
		_, err := io.WriteString(p.w, rp.Body)
		return err
	}
	if rp.Fault == Blank {
		p.w.WriteHeader(http.StatusOK)
		return nil
	}
	err := p.stream()
	if errors.Is(err, errEnd) {
		return nil
	}
	return err
}

func (p *player) stream() error {
	rp := &p.reply
	p.chunk(`{"role":"assistant","content":""}`, "null")
	if err := p.flush(); err != nil {
		return err
	}
	if err := p.pause(rp.First); err != nil {
		return err
	}
	for _, t := range rp.Reasoning {
		if err := p.token("reasoning_content", t); err != nil {
			return err
		}
	}
	tokens := rp.Tokens
	if tokens == nil {
		tokens = Tokens(rp.Text)
	}
	sent := 0
	for again := true; again; again = rp.Fault == Repeat && len(tokens) > 0 {
		for _, t := range tokens {
			if rp.Hold != nil && sent == rp.After {
				if err := p.hold(); err != nil {
					return err
				}
			}
			if rp.Fault != "" && rp.Fault != Repeat && sent >= rp.After {
				return p.fault()
			}
			if err := p.token("content", t); err != nil {
				return err
			}
			sent++
		}
	}
	if rp.Fault != "" && rp.Fault != Repeat {
		return p.fault()
	}
	for i, c := range rp.ToolCalls {
		half := len(c.Function.Arguments) / 2
		p.chunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":%s,"type":"function","function":{"name":%s,"arguments":%s}}]}`,
			i, quote(c.ID), quote(c.Function.Name), quote(c.Function.Arguments[:half])), "null")
		p.chunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":%s}}]}`, i, quote(c.Function.Arguments[half:])), "null")
	}
	finish := rp.Finish
	if finish == "" {
		if finish = "stop"; len(rp.ToolCalls) > 0 {
			finish = "tool_calls"
		}
	}
	p.chunk("{}", quote(finish))
	if !rp.NoUsage {
		input := len(p.request.Body) / 4
		p.buf = fmt.Appendf(p.buf, `data: {"id":"chatcmpl-fake","object":"chat.completion.chunk","model":%s,"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,"prompt_tokens_details":{"cached_tokens":%d}}}`+"\n\n",
			quote(p.request.Model), input, p.sent, input+p.sent, rp.Cached)
	}
	p.buf = append(p.buf, "data: [DONE]\n\n"...)
	return p.flush()
}

func (p *player) hold() error {
	if err := p.flush(); err != nil {
		return err
	}
	select {
	case <-p.reply.Hold:
		return nil
	case <-p.ctx.Done():
		return p.ctx.Err()
	}
}

func (p *player) fault() error {
	if err := p.flush(); err != nil {
		return err
	}
	switch p.reply.Fault {
	case Hang:
		<-p.ctx.Done()
		return p.ctx.Err()
	case Ping, EmptyDeltas:
		for {
			if p.reply.Fault == Ping {
				p.buf = append(p.buf, ": ping\n\n"...)
			} else {
				p.chunk(`{"content":""}`, "null")
			}
			if err := p.flush(); err != nil {
				return err
			}
			if err := p.pause(time.Second); err != nil {
				return err
			}
		}
	case Cut:
		return errAbort
	case ErrorObject:
		p.buf = append(p.buf, `data: {"error":{"message":"The server had an error while processing your request","type":"server_error","code":500}}`+"\n\n"...)
		if err := p.flush(); err != nil {
			return err
		}
	}
	return errEnd
}

// token sends a token, at the reply's pace.
func (p *player) token(field, t string) error {
	p.chunk(`{"`+field+`":`+quote(t)+`}`, "null")
	p.sent++
	p.pending++
	if p.pending < max(p.reply.Burst, 1) {
		return nil
	}
	if err := p.flush(); err != nil {
		return err
	}
	return p.pause(p.reply.Gap)
}

func (p *player) chunk(delta, finish string) {
	p.buf = append(p.buf, `data: {"id":"chatcmpl-fake","object":"chat.completion.chunk","created":1700000000,"model":`...)
	p.buf = append(p.buf, quote(p.request.Model)...)
	p.buf = append(p.buf, `,"choices":[{"index":0,"delta":`...)
	p.buf = append(p.buf, delta...)
	p.buf = append(p.buf, `,"logprobs":null,"finish_reason":`...)
	p.buf = append(p.buf, finish...)
	p.buf = append(p.buf, "}]}\n\n"...)
}

func (p *player) flush() error {
	if err := p.ctx.Err(); err != nil {
		return err
	}
	_, err := p.w.Write(p.buf)
	p.buf, p.pending = p.buf[:0], 0
	if err == nil {
		err = http.NewResponseController(p.w).Flush()
	}
	p.request.mu.Lock()
	p.request.sent = p.sent
	p.request.mu.Unlock()
	return err
}

func (p *player) pause(d time.Duration) error {
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-p.ctx.Done():
		return p.ctx.Err()
	}
}

// Tokens cuts a text into words, each with the white space before it.
func Tokens(text string) []string {
	var tokens []string
	start, word := 0, false
	for i, r := range text {
		if unicode.IsSpace(r) {
			if word {
				tokens = append(tokens, text[start:i])
				start, word = i, false
			}
		} else {
			word = true
		}
	}
	if start < len(text) {
		tokens = append(tokens, text[start:])
	}
	return tokens
}

func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

func or(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

func (s *Server) embeddings(w http.ResponseWriter, hr *http.Request) {
	var in struct {
		Input      json.RawMessage `json:"input"`
		Model      string          `json:"model"`
		Dimensions int             `json:"dimensions"`
	}
	if err := json.NewDecoder(io.LimitReader(hr.Body, 64<<20)).Decode(&in); err != nil {
		refuse(w, http.StatusBadRequest, "malformed request: "+err.Error())
		return
	}
	var texts []string
	if json.Unmarshal(in.Input, &texts) != nil {
		var one string
		if json.Unmarshal(in.Input, &one) != nil {
			refuse(w, http.StatusBadRequest, "input must be a string or an array of strings")
			return
		}
		texts = []string{one}
	}
	s.mu.Lock()
	s.embedded += len(texts)
	dims := s.dims
	s.mu.Unlock()
	if in.Dimensions > 0 {
		dims = in.Dimensions
	}
	type item struct {
		Object    string    `json:"object"`
		Index     int       `json:"index"`
		Embedding []float32 `json:"embedding"`
	}
	data := make([]item, len(texts))
	tokens := 0
	for i, t := range texts {
		data[i] = item{"embedding", i, Vector(t, dims)}
		tokens += len(t)/4 + 1
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{
		"object": "list", "data": data, "model": in.Model,
		"usage": map[string]int{"prompt_tokens": tokens, "total_tokens": tokens},
	})
}

// Vector is the embedding that the server gives a text: its words, cut to
// six letters as a crude stem, hashed into dims buckets, at length 1. Texts
// that share words are near.
func Vector(text string, dims int) []float32 {
	v := make([]float32, dims)
	for _, word := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if letters := []rune(word); len(letters) > 6 {
			word = string(letters[:6])
		}
		h := fnv.New32a()
		_, _ = io.WriteString(h, word)
		weight := float32(1)
		if len(word) < 4 {
			weight = .3 // mostly words like "the"
		}
		v[h.Sum32()%uint32(dims)] += weight
	}
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if sum == 0 {
		v[0] = 1
		return v
	}
	norm := float32(1 / math.Sqrt(sum))
	for i := range v {
		v[i] *= norm
	}
	return v
}
