package modelserver

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func post(t *testing.T, ctx context.Context, h http.Handler, body string) (*http.Response, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://model.test/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return Client(h).Do(r)
}

func TestTokensJoinedAreTheText(t *testing.T) {
	for _, text := range []string{"", "one", " lead and  two\nspaces\n\n", "emoji 🎉 and “quotes”"} {
		if got := strings.Join(Tokens(text), ""); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func TestAReplyKeepsItsPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := New()
		srv.Always(Reply{Text: "a b c d", First: time.Second, Gap: 100 * time.Millisecond, Burst: 2})
		start := time.Now()
		resp, err := post(t, t.Context(), srv, `{"model":"m","stream":true,"messages":[{"role":"user","content":"hello"}]}`)
		if err != nil {
			t.Fatal(err)
		}
		var at []time.Duration
		lines := bufio.NewScanner(resp.Body)
		for lines.Scan() {
			if strings.Contains(lines.Text(), `"content":"`) && !strings.Contains(lines.Text(), `"content":""`) {
				at = append(at, time.Since(start))
			}
		}
		if len(at) != 4 || at[0] != time.Second || at[1] != time.Second || at[2] != 1100*time.Millisecond {
			t.Errorf("tokens came at %v", at)
		}
		if r := srv.Last(); r.Question() != "hello" || r.Model != "m" || r.Sent() != 4 || r.N != 1 {
			t.Errorf("recorded %+v", r)
		}
	})
}

func TestFaultsAreSeenByTheClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := New()
		srv.Script(Reply{Fault: Refuse}, Reply{Text: "a b", Fault: Cut, After: 1}, Reply{Status: 503}, Reply{Text: "fine"})
		if _, err := post(t, t.Context(), srv, `{}`); err == nil {
			t.Error("a refused connection gave an answer")
		}
		resp, err := post(t, t.Context(), srv, `{}`)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(resp.Body); err == nil || !strings.Contains(string(b), `"a"`) || strings.Contains(string(b), "DONE") {
			t.Errorf("a cut stream gave %q, %v", b, err)
		}
		if resp, err = post(t, t.Context(), srv, `{}`); err != nil || resp.StatusCode != 503 {
			t.Error(resp, err)
		}
		_, _ = io.ReadAll(resp.Body)
		for range 2 { // the last of a script stays
			resp, err = post(t, t.Context(), srv, `{}`)
			if err != nil {
				t.Fatal(err)
			}
			if b, err := io.ReadAll(resp.Body); err != nil || !strings.Contains(string(b), "[DONE]") {
				t.Errorf("%q, %v", b, err)
			}
		}
	})
}

func TestARequestKnowsThatItWasCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := New()
		srv.Always(Reply{Text: "a b", Fault: Hang, After: 1})
		ctx, cancel := context.WithCancel(t.Context())
		if _, err := post(t, ctx, srv, `{}`); err != nil {
			t.Fatal(err)
		}
		cancel()
		<-srv.Last().Done()
		if !srv.Last().Cancelled() {
			t.Error("it doesn't")
		}
	})
}

func TestSimilarTextsAreNear(t *testing.T) {
	near := func(a, b string) (sum float64) {
		x, y := Vector(a, 256), Vector(b, 256)
		for i := range x {
			sum += float64(x[i]) * float64(y[i])
		}
		return sum
	}
	question := "How is the server installed on Windows?"
	if good, bad := near(question, "Installing the server on Windows"), near(question, "Rate limits of the billing API"); good < .5 || bad > .3 {
		t.Errorf("near %v, far %v", good, bad)
	}
	if one := near("", ""); one < .99 || one > 1.01 {
		t.Errorf("length of the vector of nothing: %v", one)
	}
}

func TestModelsAreListed(t *testing.T) {
	srv := New()
	srv.Models("a", "b")
	resp, err := Client(srv).Get("http://model.test/v1/models")
	if err != nil {
		t.Fatal(err)
	}
	var list struct{ Data []struct{ ID string } }
	if err := json.NewDecoder(resp.Body).Decode(&list); err != nil || len(list.Data) != 2 || list.Data[1].ID != "b" {
		t.Errorf("%+v, %v", list, err)
	}
	resp.Body.Close()
}
