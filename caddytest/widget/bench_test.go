package widget

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/cdproto/profiler"
	"github.com/chromedp/chromedp"

	"github.com/caddy-docs/caddy-docs/caddytest/modelserver"
)

// BenchmarkAnswer measures what an answer of 5 kB in 1,300 tokens, 200 a
// second, costs the page's main thread: script alone, and all tasks, in CPU time.
// WIDGET_PROFILE names a file for a CPU profile of the answers.
//
//	go test ./caddytest/widget -run - -bench Answer -benchtime 5x
func BenchmarkAnswer(b *testing.B) {
	s := newStand(b)
	text := strings.Repeat(longAnswer+"\n\n", 20)[:5200]
	var tokens []string
	for piece := range slices.Chunk([]byte(text), 4) {
		tokens = append(tokens, string(piece))
	}
	s.on("long", modelserver.Reply{Tokens: tokens, Gap: 5 * time.Millisecond, Burst: 1})
	page := openTab(b, s)
	page.visit("/", `{"conversations":"off"}`)
	call(page, performance.Enable, performance.EnableParams{TimeDomain: performance.EnableTimeDomainThreadTicks})
	profile := os.Getenv("WIDGET_PROFILE")
	if profile != "" {
		call(page, profiler.Enable, cdp.Empty{})
		call(page, profiler.Start, cdp.Empty{})
	}
	js[bool](page, `Docs.ask(), true`)
	page.until(`seen('.ask')`)
	var script, task []float64
	for b.Loop() {
		js[bool](page, `$(".head button[title='New conversation']").click(), $('.ask textarea').value = 'A long answer', true`)
		before := page.metrics()
		length := js[int](page, `new Promise(done => {
			document.addEventListener('docs:answer', () => done(text('.answer').length), { once: true })
			$('.send').click()
		})`)
		after := page.metrics()
		if length < 3000 {
			b.Fatalf("the answer has %d characters", length)
		}
		script = append(script, 1e3*(after["ScriptDuration"]-before["ScriptDuration"]))
		task = append(task, 1e3*(after["TaskDuration"]-before["TaskDuration"]))
	}
	b.Logf("script %.1f, tasks %.1f ms", script, task)
	slices.Sort(script)
	slices.Sort(task)
	b.ReportMetric(script[len(script)/2], "script-ms")
	b.ReportMetric(task[len(task)/2], "task-ms")
	if profile != "" {
		if err := os.WriteFile(profile, call(page, profilerStop, cdp.Empty{}), 0o600); err != nil {
			b.Fatal(err)
		}
	}
}

// profilerStop is profiler.Stop with its result as it comes, for DevTools.
var profilerStop = cdp.Command[cdp.Empty, rawProfile]{Method: profiler.CommandStop}

type rawProfile []byte

func (r *rawProfile) UnmarshalJSON(b []byte) error {
	*r = slices.Clone(b)
	return nil
}

func call[P, R any](b *tab, cmd cdp.Command[P, R], params P) R {
	b.t.Helper()
	r, err := chromedp.Call(b.ctx, cmd, params)
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

func (b *tab) metrics() map[string]float64 {
	b.t.Helper()
	all := map[string]float64{}
	for _, m := range call(b, performance.GetMetrics, cdp.Empty{}).Metrics {
		all[m.Name] = m.Value
	}
	return all
}
