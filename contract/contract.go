// Package contract is what the API promises to clients: its description as an
// OpenAPI 3.1 document, and its types for TypeScript. Tests hold both against
// the code and against a running server.
package contract

import (
	"bytes"
	_ "embed"
	"encoding/json"
)

//go:embed openapi.json
var document []byte

//go:embed types.d.ts
var types []byte

// placeholder is the server in the file openapi.json.
var placeholder = []byte(`"url": "https://docs.acme.com"`)

// OpenAPI returns the OpenAPI document of the API at a URL, like
// https://docs.acme.com.
func OpenAPI(server string) []byte {
	url, _ := json.Marshal(server) // strings always marshal
	return bytes.Replace(document, placeholder, append([]byte(`"url": `), url...), 1)
}

// Types returns the declarations of the API's types.
func Types() []byte { return types }
