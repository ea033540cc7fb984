package model

import "encoding/json"

func isNull(raw []byte) bool { return len(raw) == 0 || string(raw) == "null" }

// plain returns the text of a JSON string, and any other value as it is
// written.
func plain(raw []byte) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}
