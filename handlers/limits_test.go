package handlers

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// limited loads authentication and the limits of an API. The function it
// returns ends that configuration.
func limited(t testing.TB, api string, l Limits) (caddyhttp.Handler, func()) {
	t.Helper()
	raw, err := LimitHandlers(api, l)
	if err != nil {
		t.Fatal(err)
	}
	h, end := provision(t, append([]json.RawMessage{json.RawMessage(testAuth)}, raw...)...)
	return next(h), end
}

func per(events int, window time.Duration) *Limit { return &Limit{Events: events, Window: window} }

// ask sends a request and fails the test if it is answered otherwise than
// with 200 or 429.
func ask(t testing.TB, h caddyhttp.Handler, address, key string) (ok bool, retryAfter time.Duration) {
	t.Helper()
	w, err := serve(h, address, key)
	switch status(err) {
	case http.StatusOK:
		return true, 0
	case http.StatusTooManyRequests:
		seconds, err := strconv.Atoi(w.Header().Get("Retry-After"))
		if err != nil || seconds < 1 {
			t.Fatalf("Retry-After %q", w.Header().Get("Retry-After"))
		}
		return false, time.Duration(seconds) * time.Second
	}
	t.Fatalf("answer %v", err)
	return false, 0
}

// allowed sends n requests and returns how many were let through.
func allowed(t testing.TB, h caddyhttp.Handler, n int, address, key string) int {
	t.Helper()
	passed := 0
	for range n {
		if ok, _ := ask(t, h, address, key); ok {
			passed++
		}
	}
	return passed
}

func TestLimitsOfTheSpecificationByAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, end := limited(t, apiAssistant, DefaultLimits(apiAssistant))
		defer end()
		start := time.Now()
		for i := range 10_000 { // in 14 hours
			if ok, _ := ask(t, h, "192.0.2.7", acmeKey); !ok {
				t.Fatalf("request %d of the day is refused", i+1)
			}
			time.Sleep(5 * time.Second)
		}
		ok, wait := ask(t, h, "192.0.2.7", acmeKey)
		if ok {
			t.Fatal("request 10,001 of the day is let through")
		}
		if ok, _ := ask(t, h, "192.0.2.8", acmeKey); !ok {
			t.Fatal("another address is refused")
		}
		// The first request of the day is the first to be forgotten, not the
		// first of those that caddy-ratelimit counts.
		if left := start.Add(24 * time.Hour).Sub(time.Now()); wait < left || wait > left+2*time.Minute {
			t.Errorf("Retry-After %s, want %s to 2m more", wait, left)
		}
		time.Sleep(wait - time.Minute - 30*time.Second)
		if ok, _ := ask(t, h, "192.0.2.7", acmeKey); ok {
			t.Error("let through before Retry-After")
		}
		time.Sleep(time.Minute + 30*time.Second)
		if ok, _ := ask(t, h, "192.0.2.7", acmeKey); !ok {
			t.Error("refused after Retry-After")
		}
	})
}

func TestLimitsOfTheSpecificationByOrganization(t *testing.T) {
	for _, api := range []string{apiSearch, apiAssistant} {
		synctest.Test(t, func(t *testing.T) {
			h, end := limited(t, api, DefaultLimits(api))
			defer end()
			for i := range 10_000 {
				if ok, _ := ask(t, h, fmt.Sprintf("192.0.2.%d", i%200), acmeKey); !ok {
					t.Fatalf("%s: request %d of the hour is refused", api, i+1)
				}
			}
			ok, wait := ask(t, h, "192.0.2.201", acmeKey)
			if ok {
				t.Fatalf("%s: request 10,001 of the hour is let through", api)
			}
			if ok, _ := ask(t, h, "192.0.2.201", otherKey); !ok {
				t.Fatalf("%s: another organization is refused", api)
			}
			time.Sleep(wait)
			if ok, _ := ask(t, h, "192.0.2.201", acmeKey); !ok {
				t.Fatalf("%s: refused after Retry-After", api)
			}
		})
	}
}

func TestSearchHasNoLimitByAddressUnlessItIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		raw, err := LimitHandlers(apiSearch, DefaultLimits(apiSearch))
		if err != nil || len(raw) != 1 {
			t.Fatal(raw, err)
		}
		h, end := limited(t, apiSearch, Limits{IP: per(600, time.Minute), Organization: per(10_000, time.Hour)})
		defer end()
		if n := allowed(t, h, 700, "192.0.2.7", acmeKey); n != 600 {
			t.Errorf("%d of 700 let through, want 600", n)
		}
	})
}

func TestRequestsRefusedForTheirAddressSpendNothingOfTheOrganization(t *testing.T) {
	for _, ip := range []int{2, 50} { // one zone alone, and a divided one
		synctest.Test(t, func(t *testing.T) {
			h, end := limited(t, apiAssistant, Limits{IP: per(ip, time.Hour), Organization: per(2*ip, time.Hour)})
			defer end()
			if n := allowed(t, h, 10*ip, "192.0.2.7", acmeKey); n != ip {
				t.Fatalf("%d let through, want %d", n, ip)
			}
			if n := allowed(t, h, 10*ip, "192.0.2.8", acmeKey); n != ip {
				t.Fatalf("then %d of another address let through, want %d", n, ip)
			}
		})
	}
}

func TestRequestsWithoutAKeySpendNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, end := limited(t, apiAssistant, Limits{IP: per(3, time.Hour), Organization: per(3, time.Hour)})
		defer end()
		for range 10 {
			if _, err := serve(h, "192.0.2.7", ""); status(err) != http.StatusUnauthorized {
				t.Fatal(err)
			}
		}
		if n := allowed(t, h, 5, "192.0.2.7", acmeKey); n != 3 {
			t.Errorf("%d let through, want 3", n)
		}
	})
}

func TestIPv6AddressesOfANetworkShareALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, end := limited(t, apiAssistant, Limits{IP: per(30, time.Hour)})
		defer end()
		passed := 0
		for i := range 100 {
			passed += allowed(t, h, 1, fmt.Sprintf("2001:db8:1:2:%x::%x", i, i+7), acmeKey)
		}
		if passed != 30 {
			t.Errorf("%d requests of a /64 let through, want 30", passed)
		}
		if n := allowed(t, h, 1, "2001:db8:1:3::1", acmeKey); n != 1 {
			t.Error("the next /64 is refused")
		}
		if n := allowed(t, h, 40, "::ffff:192.0.2.9", acmeKey) + allowed(t, h, 40, "192.0.2.9", acmeKey); n != 30 {
			t.Errorf("%d requests of an address in two forms let through, want 30", n)
		}
	})
}

func TestCountsSurviveAReloadAndAreSharedByRoutes(t *testing.T) {
	for _, ip := range []int{20, 100} {
		synctest.Test(t, func(t *testing.T) {
			l := Limits{IP: per(ip, time.Hour), Organization: per(3*ip, time.Hour)}
			old, endOld := limited(t, apiAssistant, l)
			beside, endBeside := limited(t, apiAssistant, l)
			defer endBeside()
			passed := allowed(t, old, ip/2, "192.0.2.7", acmeKey)
			reloaded, end := limited(t, apiAssistant, l) // new first, then the old ends
			endOld()
			defer end()
			passed += allowed(t, reloaded, ip/4, "192.0.2.7", acmeKey)
			passed += allowed(t, beside, ip, "192.0.2.7", acmeKey)
			if passed != ip {
				t.Errorf("%d let through over a reload and two routes, want %d", passed, ip)
			}
		})
	}
}

func TestSearchAndAssistantHaveBudgetsOfTheirOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Limits{Organization: per(30, time.Hour)}
		search, endSearch := limited(t, apiSearch, l)
		defer endSearch()
		assistant, endAssistant := limited(t, apiAssistant, l)
		defer endAssistant()
		if n := allowed(t, search, 40, "192.0.2.7", acmeKey) + allowed(t, assistant, 40, "192.0.2.7", acmeKey); n != 60 {
			t.Errorf("%d let through, want 30 of each", n)
		}
	})
}

func TestAChangedLimitTakesEffectOnReload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limits := func(n int) Limits { return Limits{IP: per(n, time.Hour), Organization: per(n, time.Hour)} }
		h, end := limited(t, apiAssistant, limits(30))
		if n := allowed(t, h, 100, "192.0.2.7", acmeKey); n != 30 {
			t.Fatalf("%d of 30", n)
		}
		raised, endRaised := limited(t, apiAssistant, limits(50))
		end()
		if n := allowed(t, raised, 100, "192.0.2.7", acmeKey); n != 50 {
			t.Errorf("after raising it to 50: %d", n)
		}
		lowered, endLowered := limited(t, apiAssistant, limits(10))
		endRaised()
		defer endLowered()
		if n := allowed(t, lowered, 100, "192.0.2.7", acmeKey); n != 10 {
			t.Errorf("after lowering it to 10: %d", n)
		}
	})
}

// Whatever comes when, no window holds more than the limit, and nobody is
// refused who had not used it up to the accuracy of access.Recent.
func TestADividedLimitIsOneSlidingWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit, window = 200, time.Hour
		h, end := limited(t, apiAssistant, Limits{IP: per(limit, window)})
		defer end()
		rnd := rand.New(rand.NewPCG(3, 4))
		var taken []time.Time
		refused := 0
		for i := range 20_000 {
			pace := window / limit / 2
			if i/500%2 == 1 {
				pace = window / limit * 3
			}
			time.Sleep(time.Duration(rnd.Int64N(int64(pace))))
			in, nearly := 0, 0
			for j := len(taken) - 1; j >= 0; j-- {
				age := time.Since(taken[j])
				if age > window+window/500 {
					break
				}
				nearly++
				if age <= window {
					in++
				}
			}
			if ok, _ := ask(t, h, "192.0.2.7", acmeKey); ok {
				if in >= limit {
					t.Fatalf("%d requests within an hour", in+1)
				}
				taken = append(taken, time.Now())
			} else {
				refused++
				if nearly < limit {
					t.Fatalf("refused after %d requests", nearly)
				}
			}
		}
		if refused < 100 {
			t.Fatalf("only %d refused: the test shows little", refused)
		}
	})
}

func TestAHundredThousandAddressesStayUnderAHundredMegabytes(t *testing.T) {
	h, end := limited(t, apiAssistant, DefaultLimits(apiAssistant))
	defer end()
	allowed(t, h, 1, "192.0.2.1", acmeKey)
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	for i := range 100_000 {
		serve(h, fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255), acmeKey) //nolint:errcheck // refusals are fine
	}
	used := int64(heap()) - int64(before)
	t.Logf("%.1f MB for 100,000 addresses", float64(used)/1e6)
	if used > 100e6 {
		t.Errorf("%d bytes, want at most 100 MB", used)
	}
	counted := 0
	busyClients.Range(func(_, count any) bool {
		counted += count.(busyCount).Clients()
		return true
	})
	if counted < 100_000 {
		t.Errorf("only %d addresses are counted", counted)
	}
	runtime.KeepAlive(h)
}

func TestLimitHandlersJSON(t *testing.T) {
	for name, tt := range map[string]struct {
		api  string
		l    Limits
		want string
	}{
		"SPEC.md's of the assistant": {apiAssistant, DefaultLimits(apiAssistant), `[
			{"handler":"rate_limit","rate_limits":{"docs_assistant_ip_10000_24h":{
				"match":[{"docs_busy_client":{"zone":"docs_assistant_ip_10000_24h","events":9000,"window":86400000000000}}],
				"key":"{http.auth.user.client}","window":86400000000000,"max_events":1000}}},
			{"handler":"rate_limit","rate_limits":{"docs_assistant_organization_10000_1h":{
				"key":"{http.auth.user.organization}","window":3600000000000,"max_events":10000}}}]`},
		"SPEC.md's of search": {apiSearch, DefaultLimits(apiSearch), `[
			{"handler":"rate_limit","rate_limits":{"docs_search_organization_10000_1h":{
				"key":"{http.auth.user.organization}","window":3600000000000,"max_events":10000}}}]`},
		"a small limit is not divided": {apiSearch, Limits{IP: per(20, 90*time.Second)}, `[
			{"handler":"rate_limit","rate_limits":{"docs_search_ip_20_90s":{
				"key":"{http.auth.user.client}","window":90000000000,"max_events":20}}}]`},
		"the least limit that is": {apiSearch, Limits{IP: per(21, time.Minute)}, `[
			{"handler":"rate_limit","rate_limits":{"docs_search_ip_21_1m":{
				"match":[{"docs_busy_client":{"zone":"docs_search_ip_21_1m","events":1,"window":60000000000}}],
				"key":"{http.auth.user.client}","window":60000000000,"max_events":20}}}]`},
		"none": {apiSearch, Limits{}, `null`},
	} {
		t.Run(name, func(t *testing.T) {
			raw, err := LimitHandlers(tt.api, tt.l)
			if err != nil {
				t.Fatal(err)
			}
			got, _ := json.Marshal(raw)
			want := strings.NewReplacer("\n", "", "\t", "", " ", "").Replace(tt.want)
			if string(got) != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

func TestLimitsThatCannotBeKeptAreRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		api  string
		l    Limits
		want string
	}{
		"no requests":        {apiSearch, Limits{IP: per(0, time.Hour)}, "rate_limit ip: 0 requests: must be 1 to 1000000; for no limit write: rate_limit off"},
		"too many requests":  {apiSearch, Limits{Organization: per(1_000_001, time.Hour)}, "rate_limit organization: 1000001 requests"},
		"no window":          {apiSearch, Limits{IP: per(5, 0)}, "whole seconds, from 1s to 31d"},
		"a part of a second": {apiSearch, Limits{IP: per(5, 1500*time.Millisecond)}, "whole seconds"},
		"a year":             {apiSearch, Limits{IP: per(5, 365*24*time.Hour)}, "31d"},
		"another API":        {"chat", Limits{}, `limits of "chat": must be search or assistant`},
	} {
		if _, err := LimitHandlers(tt.api, tt.l); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", name, err, tt.want)
		}
	}
}

func TestParseLimit(t *testing.T) {
	for _, tt := range []struct {
		events, window string
		want           Limit
	}{{"600", "1m", Limit{600, time.Minute}}, {"10000", "24h", Limit{10_000, 24 * time.Hour}}, {"5", "7d", Limit{5, 7 * 24 * time.Hour}}} {
		if got, err := ParseLimit(tt.events, tt.window); err != nil || got != tt.want {
			t.Errorf("%s %s: %v %v", tt.events, tt.window, got, err)
		}
	}
	for _, tt := range []struct{ events, window, want string }{
		{"many", "1m", `"many" requests: must be a number`},
		{"1.5", "1m", "must be a number"},
		{"-5", "1m", "must be 1 to"},
		{"99999999999999999999", "1m", "must be a number"},
		{"5", "minute", "write a duration like 1m"},
		{"5", "", "write a duration like 1m"},
		{"5", "60", "write a duration like 1m"},
		{"5", "-1h", "whole seconds"},
	} {
		if _, err := ParseLimit(tt.events, tt.window); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q %q: error %v, want %q", tt.events, tt.window, err, tt.want)
		}
	}
}

func TestPolicyHeader(t *testing.T) {
	for want, l := range map[string]Limits{
		`"ip";q=10000;w=86400, "organization";q=10000;w=3600`: DefaultLimits(apiAssistant),
		`"organization";q=10000;w=3600`:                       DefaultLimits(apiSearch),
		"":                                                    {},
	} {
		if got := PolicyHeader(l); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestBusyClientRefusesAnIncompleteConfiguration(t *testing.T) {
	for name, b := range map[string]BusyClient{
		"no zone":   {Events: 5, Window: caddy.Duration(time.Hour)},
		"no events": {Zone: "z", Window: caddy.Duration(time.Hour)},
		"no window": {Zone: "z", Events: 5},
	} {
		if err := b.Provision(caddy.Context{}); err == nil {
			t.Errorf("%s: accepted", name)
		}
		if err := b.Cleanup(); err != nil { // Caddy calls it then, too
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestBusyClientForgetsItsCountWithItsLastConfiguration(t *testing.T) {
	b := func() *BusyClient {
		b := &BusyClient{Zone: "alone", Events: 1, Window: caddy.Duration(time.Hour)}
		if err := b.Provision(caddy.Context{}); err != nil {
			t.Fatal(err)
		}
		return b
	}
	first, second := b(), b()
	if first.recent != second.recent {
		t.Error("two of a zone count apart")
	}
	for _, m := range []*BusyClient{first, second, second} {
		if err := m.Cleanup(); err != nil {
			t.Fatal(err)
		}
	}
	third := b()
	defer third.Cleanup() //nolint:errcheck // it is a test's
	if third.recent == first.recent {
		t.Error("the count outlived its configurations")
	}
}

func BenchmarkLimits(b *testing.B) {
	h, end := limited(b, apiAssistant, Limits{IP: per(1_000_000, 24*time.Hour), Organization: per(1_000_000, time.Hour)})
	defer end()
	b.ReportAllocs()
	for b.Loop() {
		serve(h, "192.0.2.7", acmeKey) //nolint:errcheck // refusals are fine
	}
}
