package dashboard

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/caddy-docs/caddy-docs/caddytest"
)

// Questions of the tests with (true) and without scripts: those of topics are
// marked and voted on, those of lookups read and erased.
var (
	topics  = map[bool]string{true: "teleport hamsters", false: "levitate walruses"}
	lookups = map[bool]string{true: "Which zebras unpack the archive?", false: "Which lemurs unpack the archive?"}
)

// readers do what readers do: they search, ask and vote, with hostile texts,
// too.
func readers(t *testing.T, s *caddytest.Server) {
	t.Helper()
	texts := []string{"thrust limits", "zzqx", "zzqx", "zzqx"}
	for _, text := range hostile {
		texts = append(texts, text[:min(len(text), 900)])
	}
	for _, text := range texts {
		body, _ := json.Marshal(map[string]any{"query": text})
		if r := s.Do(caddytest.Request{Path: "/v1/search/acme-docs", Body: string(body)}); r.Status != http.StatusOK {
			t.Fatalf("searching %q: %d %s", text, r.Status, r.Body)
		}
	}
	questions := []string{"Can penguins juggle?", "Do ostriches yodel?", "Will otters tango?", "Should llamas paint?"}
	for _, topic := range topics {
		questions = append(questions, "How do I "+topic+" for breakfast?", "For breakfast, how do I "+topic+"?")
	}
	for _, question := range append(questions, "How do I limit the thrust of my rocket with max_thrust?") {
		thread, message := askQuestion(t, s, question, "")
		vote(t, s, thread, message, question)
	}
	for _, question := range lookups {
		askQuestion(t, s, question, "")
	}
	var thread string // of all hostile questions
	for name := range hostile {
		text := hostile[name][:min(len(hostile[name]), 90_000)]
		var message string
		thread, message = askQuestion(t, s, text, thread)
		vote(t, s, thread, message, text)
	}
	for _, path := range []string{"/badgers", "/weasels", hostile["a script"], "/" + hostile["a formula"], "/" + hostile["a long word"]} {
		missed(t, "acme-docs", path, "https://forum.example/x", "GPTBot/1.2")
	}
	caddytest.Until(t, "what readers did is recorded", func() bool {
		_, list := get(t, s.Client, s.Base+"/acme/acme-docs/conversations", "mia")
		return strings.Contains(list, thread) && strings.Count(string(file(t, s, "mia", "/acme/acme-docs/feedback?format=json")), `"rating"`) == len(questions)+1+len(hostile)
	})
}

var (
	threadID  = regexp.MustCompile(`thr_[a-z0-9]+`)
	messageID = regexp.MustCompile(`msg_[a-z0-9-]+`)
)

// askQuestion asks the assistant, in a thread or a new one (""), and returns the
// thread and the reply's ID.
func askQuestion(t *testing.T, s *caddytest.Server, question, in string) (thread, message string) {
	t.Helper()
	fields := map[string]any{"fp": "reader", "currentPath": "/install", "messages": []any{
		map[string]any{"id": "m", "role": "user", "parts": []any{map[string]string{"type": "text", "text": question}}},
	}}
	if in != "" {
		fields["threadId"] = in
	}
	body, _ := json.Marshal(fields)
	r := s.Do(caddytest.Request{Path: "/v2/assistant/acme-docs/message", Body: string(body)})
	thread, message = threadID.FindString(string(r.Body)), messageID.FindString(string(r.Body))
	if r.Status != http.StatusOK || thread == "" || message == "" {
		t.Fatalf("asking: %d %.500s", r.Status, r.Body)
	}
	return thread, message
}

func vote(t *testing.T, s *caddytest.Server, thread, message, comment string) {
	t.Helper()
	body, _ := json.Marshal(map[string]any{"threadId": thread, "messageId": message, "rating": "down", "comment": comment[:min(len(comment), 900)]})
	if r := s.Do(caddytest.Request{Path: "/v1/feedback/acme-docs", Body: string(body)}); r.Status != http.StatusNoContent {
		t.Fatalf("voting: %d %s", r.Status, r.Body)
	}
}

// file gets a table as a file.
func file(t *testing.T, s *caddytest.Server, user, path string) []byte {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.Base+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.SetBasicAuth(user, password)
	resp, err := s.Client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s is %d (%v)\n%s", path, resp.StatusCode, err, body)
	}
	return body
}

func testUnanswered(t *testing.T, s *suite) {
	eachWay(t, s, "mia", func(t *testing.T, b *tab, scripts bool) {
		row := `$$('tbody tr').find(r => r.textContent.includes(` + quote(topics[scripts]) + `))`
		b.visit("/acme/acme-docs/unanswered")
		b.until(row)
		b.is(row + `.querySelector('.n').textContent === '2'`) // two wordings, one entry
		if scripts {
			b.check("unanswered")
		}
		js[bool](b, row+`.querySelector('th a').click() ?? true`)
		b.until(`text('#again') === "Do today's pages answer it?"`)
		b.fill("[name=again]")
		b.until(`$('[role=status] .badge')`)
		if scripts {
			b.check("unanswered question")
		}
		b.fill("section form[method=post] button", "textarea[name=note]", "see <b>issue</b> 12", "select[name=state]", "done")
		b.until(`text('.head .badge') === 'done' && $('textarea').value === 'see <b>issue</b> 12'`)
		b.visit("/acme/acme-docs/unanswered")
		b.until(`text('h1') === 'Unanswered' && $('tbody') && !` + row)
		b.fill("form.row button", "select[name=state]", "done")
		b.until(row)
		b.fill("form.row button", "form.row [name=near]", "no/such page")
		b.until(`text('.empty h2') === 'No question matches'`)
		b.visit("/acme/acme-docs/unanswered?by=page")
		b.until(`$$('tbody tr').length > 0`)
		if scripts {
			b.check("unanswered pages")
		}
	})
	eachWay(t, s, "mia", func(_ *testing.T, b *tab, _ bool) { // marked in the list
		b.visit("/acme/acme-docs/unanswered?days=90")
		b.until(`$$('tbody form').length > 0`)
		question := js[string](b, `$('tbody form').group.value`)
		b.fill("tbody form button")
		b.arrived()
		b.is(`location.search.startsWith('?days=90&did=') && !$$('tbody form').some(f => f.group.value === ` + quote(question) + `) && text('.note [role=status]').startsWith('Done: ')`)
		b.fill(".note form button")
		b.arrived()
		b.is(`location.search === '?days=90' && !$('.note') && $$('tbody form').some(f => f.group.value === ` + quote(question) + `)`)
	})
	if !s.rest {
		return
	}
	t.Run("hostile notes", func(t *testing.T) {
		b := newTab(t, s.Server, "mia")
		b.visit("/acme/acme-docs/unanswered?state=")
		b.until(`$('tbody th a')`)
		question := js[string](b, `(a => a.pathname + a.search)($('tbody th a'))`)
		hostileNotes(b, func() {
			b.visit(question)
			b.until(`$('#again')`)
		})
	})
}

// hostileNotes saves hostile texts as the note of a form, which open leads to,
// and looks for them there.
func hostileNotes(b *tab, open func()) {
	b.t.Helper()
	save := func(note string) {
		open()
		js[bool](b, `$('textarea').removeAttribute('maxlength'), $('textarea').value = `+quote(note)+`, true`)
		b.send(`$('textarea').form.querySelector('button')`)
	}
	save(hostile["a long word"])
	b.until(`text('h1') === 'Bad Request'`)
	save(hostileText())
	b.arrived()
	open()
	b.is(`$('textarea').value === ` + quote(hostileText()) + ` && bad.length === 0 && document.documentElement.scrollWidth <= innerWidth`)
}

func testSearches(t *testing.T, s *suite) {
	eachWay(t, s, "vic", func(t *testing.T, b *tab, scripts bool) {
		b.visit("/acme/acme-docs/searches")
		b.until(`text('tbody tr').startsWith('zzqx')`)
		b.is(`$$('.number').length === 4 && $$('.number .value')[2].textContent.includes('no value') && $('svg.chart title').textContent.includes('searches')`)
		if scripts {
			b.check("searches")
		}
		b.do(chromedp.Click(".tabs a:last-child"))
		b.until(`text('main').includes('thrust limits') && text('.tabs [aria-current]') === 'Top'`)
		b.do(chromedp.Click(".period a"))
		b.until(`location.search === '?days=7&kind=top' && document.readyState === 'complete' && text('.period [aria-current]') === '7 days'`)
		for name, text := range hostile {
			begin := strings.ToLower(string([]rune(text)[:9]))
			if !js[bool](b, `$$('tbody th').some(e => e.textContent.trim().startsWith(`+quote(begin)+`))`) {
				t.Errorf("%s is not listed", name)
			}
		}
	})
	if !s.rest {
		return
	}
	rows, err := csv.NewReader(strings.NewReader(string(file(t, s.Server, "vic", "/acme/acme-docs/searches?kind=top&format=csv")))).ReadAll()
	if err != nil || len(rows) < 5 {
		t.Errorf("%d rows (%v)", len(rows), err)
	}
	formula := false
	for _, row := range rows {
		formula = formula || strings.HasPrefix(row[0], "'=hyperlink")
	}
	if !formula {
		t.Errorf("the formula is not marked as text: %q", rows)
	}
	var objects []map[string]any
	if err := json.Unmarshal(file(t, s.Server, "vic", "/acme/acme-docs/searches?kind=top&format=json"), &objects); err != nil || len(objects) != len(rows)-1 {
		t.Errorf("%d objects (%v)", len(objects), err)
	}
}

func testConversations(t *testing.T, s *suite) {
	eachWay(t, s, "mia", func(t *testing.T, b *tab, scripts bool) {
		question := lookups[scripts]
		word := strings.Fields(question)[1]
		b.visit("/acme/acme-docs/conversations")
		b.until(`$$('tbody tr').length > 5`)
		if scripts {
			b.check("conversations")
			// Beside a long question, the words of the other columns stay whole.
			b.is(`(() => {
				$('tbody th bdi').textContent = 'How do I rename a column? '.repeat(10)
				const [page, source] = [$('td.mid'), $('td.mid + td')]
				page.textContent = 'rename_all_columns'
				source.textContent = 'command'
				return [page, source].every(cell => {
					const words = document.createRange()
					words.selectNodeContents(cell)
					return words.getClientRects().length === 1
				})
			})()`)
		}
		b.fill("form[role=search] button", "[name=text]", word)
		b.until(`$$('tbody tr').length === 1 && text('tbody').includes(` + quote(question) + `)`)
		b.do(chromedp.Click("tbody th a"))
		b.until(`text('.question') === ` + quote(question) + ` && text('.answer').includes('archive')`)
		if scripts {
			b.check("conversation")
		}
		thread := js[string](b, `location.pathname.split('/').pop()`)
		b.do(chromedp.Click("details.act summary"), chromedp.WaitVisible("details.act button"))
		b.fill("details.act button")
		b.until(`text('h1') === 'Conversations'`)
		b.visit("/acme/acme-docs/conversations/" + thread)
		b.until(`text('h1') === 'Not Found'`)
		b.visit("/acme/acme-docs/audit")
		b.until(`text('main').includes('conversation erased') && text('main').includes(` + quote(thread) + `) && text('main').includes('mia')`)
		if scripts {
			b.check("audit")
		}
	})
	if !s.rest {
		return
	}
	t.Run("hostile questions and comments", func(t *testing.T) {
		b := newTab(t, s.Server, "vic")
		b.visit("/acme/acme-docs/conversations")
		row := fmt.Sprintf(`$$('tbody tr').find(r => r.querySelector('.n').textContent === '%d')`, len(hostile))
		b.until(row)
		js[bool](b, row+`.querySelector('th a').click() ?? true`)
		b.until(fmt.Sprintf(`$$('.question').length === %d`, len(hostile)))
		for name, text := range hostile {
			if !js[bool](b, `$$('.question').some(q => q.textContent.trim().startsWith(`+quote(text[:min(len(text), 500)])+`))`) {
				t.Errorf("%s is not shown", name)
			}
		}
		b.is(`!$('details.act')`) // a viewer erases nothing
		b.fits("hostile conversation")
		b.visit("/acme/acme-docs/conversations?text=" + url.QueryEscape(hostile["a script"]) + "&on=" + url.QueryEscape(hostile["bidi"]))
		b.until(`text('.empty h2') === 'No conversation matches'`)
		b.is(`$('[name=text]').value === ` + quote(hostile["a script"]))
		b.fits("no conversation")
	})
}

func testFeedback(t *testing.T, s *suite) {
	eachWay(t, s, "mia", func(t *testing.T, b *tab, scripts bool) {
		row := `$$('tbody tr').find(r => r.textContent.includes(` + quote("For breakfast, how do I "+topics[scripts]) + `))`
		b.visit("/acme/acme-docs/feedback?rating=down&comments=1")
		b.until(row)
		if scripts {
			b.check("feedback")
		}
		js[bool](b, `(r => { r.querySelector('summary').click(); r.querySelector('textarea').value = 'thanks'; r.querySelector('select').value = 'dismissed' })(`+row+`) ?? true`)
		b.send(row + `.querySelector('form button')`)
		b.until(`location.search === '?comments=1&rating=down' && $('tbody') && !` + row)
		b.fill("form.row button", "select[name=state]", "dismissed", "select[name=rating]", "")
		b.until(row + `.textContent.includes('thanks')`)
		b.visit("/acme/acme-docs/feedback?by=page")
		b.until(`text('.empty h2').startsWith('None in')`)
	})
	if !s.rest {
		return
	}
	t.Run("hostile notes", func(t *testing.T) {
		b := newTab(t, s.Server, "mia")
		b.visit("/acme/acme-docs/feedback?state=")
		b.until(`$('tbody details.act')`)
		vote := js[string](b, `$('tbody details.act form').action`) // the same one each time
		hostileNotes(b, func() {
			b.visit("/acme/acme-docs/feedback?state=")
			b.until(`$('tbody details.act')`)
			js[bool](b, `$$('tbody tr').forEach(r => r.querySelector('form').action === `+quote(vote)+` || r.remove()), true`)
		})
	})
}

// testLists asks for the lists that the other tests don't show with both stores.
func testLists(t *testing.T, s *suite) {
	for path, has := range map[string]string{
		"":                           "Searches per day from",
		"/unanswered?state=":         "teleport hamsters",
		"/unanswered?by=page&state=": "Write here",
		"/searches?kind=weak":        "Searches",
		"/searches?kind=top&days=90": "thrust limits",
		"/searches?kind=low_clicks":  "Few clicks",
		"/feedback?rating=down&comments=1&state=": "teleport hamsters",
		"/missing?state=":                         "GPTBot",
		"/audit":                                  "Audit",
		"/keys":                                   "uses in 30 days",
		"/conversations?text=breakfast&answered=no&feedback=down": "teleport hamsters",
	} {
		status, body := get(t, s.Client, s.Base+"/acme/acme-docs"+path, "vic")
		if status != http.StatusOK || !strings.Contains(body, has) {
			t.Errorf("%s is %d, without %q:\n%s", path, status, has, body)
		}
	}
}
