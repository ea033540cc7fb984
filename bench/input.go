package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// badInput is an abusive or broken request.
type badInput struct {
	name, path string
	body       []byte
}

func badInputs() []badInput {
	const search, v1, v2 = "/v1/search/bench", "/v1/assistant/bench/message", "/v2/assistant/bench/message"
	nested := func(open, shut string) string { return strings.Repeat(open, 10000) + strings.Repeat(shut, 10000) }
	words := strings.TrimSpace(strings.Repeat("config ", 10000))
	distinct := &strings.Builder{}
	for i := range 10000 {
		fmt.Fprintf(distinct, "wrd%d ", i)
	}
	long := make([]byte, 0, 1000)
	for i := 0; len(long) < 985; i++ {
		long = fmt.Appendf(long, "confgi%d ", i)
	}
	garbage := make([]byte, 1<<20)
	for i := range garbage {
		garbage[i] = byte(i*7919 + i>>8)
	}
	message := func(text string) string {
		return `{"fp":"x","messages":[{"id":"1","role":"user","content":"` + text + `","parts":[{"type":"text","text":"` + text + `"}]}]}`
	}
	data := strings.Repeat("QUJD", 5<<20/4)
	return []badInput{
		{"search: invalid UTF-8", search, []byte("{\"query\":\"\xff\xfe\xc3(\"}")},
		{"search: NUL", search, []byte(`{"query":"a\u0000b"}`)},
		{"search: 10,000 words", search, []byte(`{"query":"` + words + `"}`)},
		{"search: 1,000 characters of unknown words", search, []byte(`{"query":"` + string(long) + `"}`)},
		{"search: 1,000 characters without a space", search, []byte(`{"query":"` + strings.Repeat("abcdefghij", 100) + `"}`)},
		{"search: JSON 10,000 deep", search, []byte(`{"query":` + nested("[", "]") + `}`)},
		{"search: an unknown field 10,000 deep", search, []byte(`{"query":"x","y":` + strings.Repeat(`{"a":`, 10000) + `1` + strings.Repeat("}", 10000) + `}`)},
		{"search: 1 MB of garbage", search, garbage[:1<<20-1000]},
		{"search: 1 MB of [", search, bytes.Repeat([]byte("["), 1<<20-1000)},
		{"v2: invalid UTF-8", v2, []byte(message("\xff\xfe\xc3("))},
		{"v2: NUL", v2, []byte(message(`a\u0000b`))},
		{"v2: a question of 10,000 words", v2, []byte(message(words))},
		{"v2: a question of 10,000 different words", v2, []byte(message(strings.TrimSpace(distinct.String())))},
		{"v2: parts 10,000 deep", v2, []byte(`{"fp":"x","messages":[{"role":"user","parts":` + nested("[", "]") + `}]}`)},
		{"v2: tool output 10,000 deep", v2, []byte(`{"fp":"x","messages":[{"role":"user","parts":[{"type":"text","text":"hi"},{"type":"tool-x","output":` + nested("[", "]") + `}]}]}`)},
		{"v2: 5 MB data URL in a file part", v2, []byte(`{"fp":"x","messages":[{"role":"user","parts":[{"type":"text","text":"hi"},{"type":"file","mediaType":"image/png","url":"data:image/png;base64,` + data + `"}]}]}`)},
		{"v2: 5 MB of text as data URL", v2, []byte(`{"fp":"x","messages":[{"role":"user","parts":[{"type":"text","text":"hi"},{"type":"file","mediaType":"text/plain","url":"data:text/plain;base64,` + data + `"}]}]}`)},
		{"v2: 20,000 messages", v2, []byte(`{"fp":"x","messages":[` + strings.Repeat(`{"role":"assistant","parts":[]},`, 20000) + `{"role":"user","parts":[{"type":"text","text":"hi"}]}]}`)},
		{"v2: 1 MB of garbage", v2, garbage[:1<<20-1000]},
		{"v1: JSON 10,000 deep", v1, []byte(`{"fp":` + nested("[", "]") + `}`)},
		{"v1: a question of 10,000 words", v1, []byte(message(words))},
		{"v1: 5 MB data URL in an attachment", v1, []byte(`{"fp":"x","messages":[{"role":"user","content":"hi","experimental_attachments":[{"url":"data:image/png;base64,` + data + `"}]}]}`)},
	}
}

// maxInputCPU is the target for the CPU time of a bad request, in milliseconds.
const maxInputCPU = 50

// benchInput sends each bad input to a real Caddy often enough to measure its
// CPU time, which the system counts in ticks of 10 ms.
func benchInput(ctx context.Context, b *bench) error {
	sections := b.siteSize()
	root, _, err := b.generated(sections)
	if err != nil {
		return err
	}
	srv, err := b.moduleForInput(ctx, root)
	if err != nil {
		return err
	}
	defer srv.end()
	if err := srv.ready(ctx); err != nil {
		return err
	}
	if err := pause(ctx, 2*time.Second); err != nil {
		return err
	}
	times := 40
	if b.short {
		times = 10
	}
	var rows [][]string
	for _, in := range badInputs() {
		if err := ctx.Err(); err != nil {
			return err
		}
		before, begin := srv.cpu(), time.Now()
		status := 0
		for range times {
			if status, err = send(ctx, srv.addr, in); err != nil {
				return fmt.Errorf("%s: %w", in.name, err)
			}
		}
		cpu := ms(srv.cpu()-before) / float64(times)
		wall := ms(time.Since(begin)) / float64(times)
		rows = append(rows, []string{in.name, bytesOf(len(in.body)), fmt.Sprint(status), number(cpu), number(wall), result(cpu, fmt.Sprintf("< %d", maxInputCPU), cpu < maxInputCPU)})
	}
	table(fmt.Sprintf("CPU time of bad input, %d sections, max_body 10MB, extractive replies, mean of %d", sections, times),
		[]string{"input", "body", "status", "CPU, ms", "time, ms", "result"}, rows)
	return nil
}

func (b *bench) moduleForInput(ctx context.Context, root string) (*server, error) {
	options := fmt.Sprintf("\tdocs {\n\t\tkey %s\n\t\tsite bench {\n\t\t\troot %q\n\t\t}\n\t}", benchKey, root)
	const words = "{\n\t\trate_limit off\n\t\tmax_body 10MB\n\t}"
	return b.startCaddy(ctx, options, "\tassistant bench "+words+"\n\tsearch bench "+words, "")
}

func send(ctx context.Context, addr string, in badInput) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+addr+in.path, bytes.NewReader(in.body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Authorization", "Bearer "+benchKey)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	return res.StatusCode, err
}

// bytesOf formats a number of bytes.
func bytesOf(n int) string {
	switch {
	case n >= 1e6:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	case n >= 1e3:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%d B", n)
}
