package handlers

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	caddyrl "github.com/mholt/caddy-ratelimit"

	"github.com/caddy-docs/caddy-docs/access"
	"github.com/caddy-docs/caddy-docs/insights"
)

// limited loads authentication and the limits of an API. The function it
// returns ends that configuration.
func limited(t testing.TB, api string, l Limits) (caddyhttp.Handler, func()) {
	t.Helper()
	h, end := provision(t, append([]json.RawMessage{json.RawMessage(testAuth)}, l.Handlers(api)...)...)
	return next(h), end
}

func per(events int, window time.Duration) *Limit { return &Limit{events, caddy.Duration(window)} }

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
		h, end := limited(t, apiAssistant, DefaultLimits(apiAssistant, nil))
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
		// The first request leaves the window with its bucket of an hour.
		left := start.Add(24 * time.Hour).Sub(time.Now())
		if wait < left || wait > left+time.Hour {
			t.Errorf("Retry-After %s, want %s to 1h more", wait, left)
		}
		time.Sleep(wait - 1)
		if ok, _ := ask(t, h, "192.0.2.7", acmeKey); ok {
			t.Error("let through before Retry-After")
		}
		time.Sleep(1)
		if ok, _ := ask(t, h, "192.0.2.7", acmeKey); !ok {
			t.Error("refused after Retry-After")
		}
	})
}

func TestLimitsOfTheSpecificationByOrganization(t *testing.T) {
	for _, api := range []string{apiSearch, apiAssistant} {
		synctest.Test(t, func(t *testing.T) {
			h, end := limited(t, api, DefaultLimits(api, nil))
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

// A key is public: who has it must not close search for everyone.
func TestOneAddressLeavesThreeQuartersOfAnOrganizationsSearches(t *testing.T) {
	for _, api := range []string{apiSearch, apiPage} {
		for organization, others := range map[*Limit]int{nil: 7500, per(1000, time.Minute): 750, per(2, time.Hour): 1} {
			synctest.Test(t, func(t *testing.T) {
				l := DefaultLimits(api, organization)
				h, end := limited(t, api, l)
				defer end()
				one := allowed(t, h, l.Organization.MaxEvents, "192.0.2.7", acmeKey)
				rest := 0
				for i := range 8 {
					rest += allowed(t, h, l.Organization.MaxEvents/4+1, fmt.Sprintf("192.0.2.%d", 10+i), acmeKey)
				}
				if rest < others || one+rest != l.Organization.MaxEvents {
					t.Errorf("%s of %d: one address took %d, the others %d", api, l.Organization.MaxEvents, one, rest)
				}
			})
		}
	}
}

func TestTheWidgetHasAShareOfItsOwn(t *testing.T) {
	user := func(source string) map[string]string {
		r := caddyhttp.PrepareRequest(httptest.NewRequest(http.MethodPost, "/", nil), caddy.NewReplacer(), httptest.NewRecorder(), &caddyhttp.Server{})
		u, _, _ := accept(r, identity{&access.Key{ID: "x", Organization: "acme"}, source})
		return u.Metadata
	}
	key, token := user(insights.API), user(insights.Widget)
	if key["share"] != "acme" || token["share"] == key["share"] || access.CheckName("organization", token["share"]) == nil || token["organization"] != "acme" {
		t.Errorf("a key counts as %v, a token as %v", key, token)
	}
}

func TestRequestsRefusedForTheirAddressSpendNothingOfTheOrganization(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, end := limited(t, apiAssistant, Limits{IP: per(50, time.Hour), Organization: per(100, time.Hour)})
		defer end()
		if n := allowed(t, h, 500, "192.0.2.7", acmeKey); n != 50 {
			t.Fatalf("%d let through, want 50", n)
		}
		if n := allowed(t, h, 500, "192.0.2.8", acmeKey); n != 50 {
			t.Fatalf("then %d of another address let through, want 50", n)
		}
	})
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
	synctest.Test(t, func(t *testing.T) {
		l := Limits{IP: per(100, time.Hour), Organization: per(300, time.Hour)}
		old, endOld := limited(t, apiAssistant, l)
		second, endSecond := limited(t, apiAssistant, l)
		defer endSecond()
		passed := allowed(t, old, 50, "192.0.2.7", acmeKey)
		reloaded, end := limited(t, apiAssistant, l) // the new one starts before the old one ends
		endOld()
		defer end()
		passed += allowed(t, reloaded, 25, "192.0.2.7", acmeKey)
		passed += allowed(t, second, 100, "192.0.2.7", acmeKey)
		if passed != 100 {
			t.Errorf("%d let through by two routes and after a reload, want 100", passed)
		}
	})
}

func TestSearchAndAssistantAreCountedSeparately(t *testing.T) {
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

func TestLimitHandlersInJSON(t *testing.T) {
	for name, tt := range map[string]struct {
		api  string
		l    Limits
		want string
	}{
		"the assistant's defaults": {apiAssistant, DefaultLimits(apiAssistant, nil), `[
			{"handler":"docs_client_limit","max_events":10000,"window":86400000000000,"zone":"docs_assistant_ip_10000_24h0m0s"},
			{"handler":"rate_limit","rate_limits":{"docs_assistant_organization_10000_1h0m0s":{
				"key":"{http.auth.user.share}","max_events":10000,"window":3600000000000}}}]`},
		"the defaults of search": {apiSearch, DefaultLimits(apiSearch, nil), `[
			{"handler":"docs_client_limit","max_events":2500,"window":3600000000000,"zone":"docs_search_ip_2500_1h0m0s"},
			{"handler":"rate_limit","rate_limits":{"docs_search_organization_10000_1h0m0s":{
				"key":"{http.auth.user.share}","max_events":10000,"window":3600000000000}}}]`},
		"distributed": {apiSearch, Limits{Organization: per(5, time.Minute), Distributed: &caddyrl.DistributedRateLimiting{ReadInterval: caddy.Duration(time.Second)}}, `[
			{"distributed":{"read_interval":1000000000},"handler":"rate_limit","rate_limits":{"docs_search_organization_5_1m0s":{
				"key":"{http.auth.user.share}","max_events":5,"window":60000000000}}}]`},
		"none": {apiSearch, Limits{}, `null`},
	} {
		t.Run(name, func(t *testing.T) {
			got, _ := json.Marshal(tt.l.Handlers(tt.api))
			want := strings.NewReplacer("\n", "", "\t", "").Replace(tt.want)
			if string(got) != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

func TestPolicyHeader(t *testing.T) {
	for want, l := range map[string]Limits{
		`"ip";q=10000;w=86400, "organization";q=10000;w=3600`: DefaultLimits(apiAssistant, nil),
		`"ip";q=2500;w=3600, "organization";q=10000;w=3600`:   DefaultLimits(apiSearch, nil),
		"": {},
	} {
		if got := l.PolicyHeader(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestClientLimitRefusesFieldsThatAreOutOfBounds(t *testing.T) {
	for fields, want := range map[string]string{
		`"max_events":5,"window":"1h"`:                    "zone: is missing",
		`"zone":"z","window":"1h"`:                        "max_events: 0 must be from 1 to 1000000",
		`"zone":"z","max_events":-1,"window":"1h"`:        "max_events: -1 must be from 1 to 1000000",
		`"zone":"z","max_events":1000001,"window":"1h"`:   "max_events: 1000001 must be from 1 to 1000000",
		`"zone":"z","max_events":5`:                       "window: 0s must be whole seconds, from 1s to 31d",
		`"zone":"z","max_events":5,"window":"-1h"`:        "window: -1h0m0s must be",
		`"zone":"z","max_events":5,"window":"1500ms"`:     "window: 1.5s must be whole seconds",
		`"zone":"z","max_events":5,"window":"32d"`:        "to 31d",
		`"zone":"z","max_events":5,"window":"1h","key":1`: `unknown field "key"`,
	} {
		ctx, cancel := caddy.NewContext(caddy.Context{Context: t.Context()})
		_, err := ctx.LoadModuleByID("http.handlers.docs_client_limit", json.RawMessage("{"+fields+"}"))
		cancel()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", fields, err, want)
		}
	}
	clientLimiters.Range(func(key, _ any) bool {
		t.Errorf("the count %q is kept", key)
		return true
	})
}

func TestACountEndsWithItsLastConfiguration(t *testing.T) {
	l := Limits{IP: per(1, time.Hour)}
	first, endFirst := limited(t, apiSearch, l)
	second, endSecond := limited(t, apiSearch, l)
	if n := allowed(t, first, 1, "192.0.2.7", acmeKey) + allowed(t, second, 1, "192.0.2.7", acmeKey); n != 1 {
		t.Errorf("%d let through by two handlers of a zone, want 1", n)
	}
	endFirst()
	endSecond()
	third, endThird := limited(t, apiSearch, l)
	defer endThird()
	if n := allowed(t, third, 1, "192.0.2.7", acmeKey); n != 1 {
		t.Error("the count outlived its configurations")
	}
}

func TestARefusedClientIsLimitedByItsZonesName(t *testing.T) {
	h, end := limited(t, apiSearch, Limits{IP: per(1, time.Hour)})
	defer end()
	allowed(t, h, 1, "192.0.2.7", acmeKey)
	r := httptest.NewRequest(http.MethodPost, "/v1/search/docs", nil)
	r.RemoteAddr = "192.0.2.7:4711"
	r.Header.Set("Authorization", "Bearer "+acmeKey)
	repl := caddy.NewReplacer()
	w := httptest.NewRecorder()
	r = caddyhttp.PrepareRequest(r, repl, w, &caddyhttp.Server{})
	if err := h.ServeHTTP(w, r); status(err) != http.StatusTooManyRequests {
		t.Fatal(err)
	}
	if got, _ := repl.GetString("http.rate_limit.exceeded.name"); got != "docs_search_ip_1_1h0m0s" {
		t.Errorf("{http.rate_limit.exceeded.name} is %q", got)
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
