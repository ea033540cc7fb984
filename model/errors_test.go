package model

import (
	"context"
	"errors"
	"testing"
)

func TestErrorsAreReadInTheShapesOfAllVendors(t *testing.T) {
	for body, want := range map[string]string{
		`{"error":{"message":"Incorrect key","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`: "Incorrect key (type invalid_request_error) (code invalid_api_key)",
		`{"error":{"message":"No quota","type":"server_error","param":null,"code":null}}`:                            "No quota (type server_error)",
		`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`:                                "Overloaded (type overloaded_error)",
		`[{"error":{"code":400,"message":"Bad key","status":"INVALID_ARGUMENT"}}]`:                                   "Bad key (code 400)",
		`{"object":"error","message":"no such model","type":"NotFoundError","param":null,"code":404}`:                "no such model (type NotFoundError) (code 404)",
		`{"code":"permission_denied","error":"No credits"}`:                                                          "No credits (code permission_denied)",
		`{"error":{"message":"Of a numeric type","type":7,"code":3}}`:                                                "Of a numeric type",
		`{"message":["first","second"]}`:                                                                             "first, second",
		`{"detail":"Not found"}`:                                                                                     "Not found",
		`{"detail":[{"loc":["body"],"msg":"Field required"}]}`:                                                       `[{"loc":["body"],"msg":"Field required"}]`,
		`{"error":{"reason":"unknown"}}`:                                                                             `{"reason":"unknown"}`,
		"Service Unavailable\n":                                                                                      "Service Unavailable",
		`"quoted"`:                                                                                                   "quoted",
		``:                                                                                                           "",
	} {
		if got := describe(parseError([]byte(body))); got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}

func TestARequestThatNoEndpointAcceptedIsFree(t *testing.T) {
	refused, late := &Error{Kind: RateLimited}, &Error{Kind: FirstTokenTimeout}
	for name, test := range map[string]struct {
		err  error
		want bool
	}{
		"one that refuses":      {refused, true},
		"two that refuse":       {errors.Join(refused, refused), true},
		"one that accepts it":   {late, false},
		"the second accepts it": {errors.Join(refused, late), false},
		"the client went away":  {context.Canceled, false},
	} {
		if got := Free(test.err); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
