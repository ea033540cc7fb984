package model

import "testing"

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
