package agents

import (
	"encoding/json"
	"strconv"
	"strings"
)

// arguments are those of a call, names in lower case without separators.
// Models write numbers as strings and invent names; a call with one text can
// only mean that.
type arguments map[string]string

func parseArguments(raw json.RawMessage) arguments {
	out := arguments{}
	var values map[string]any
	if json.Unmarshal(raw, &values) != nil {
		var text string
		if json.Unmarshal(raw, &text) == nil && text != "" {
			out[""] = strings.TrimSpace(text)
		}
		return out
	}
	for name, v := range values {
		if s := textOf(v); s != "" {
			out[bareName(name)] = s
		}
	}
	return out
}

// textOf is a value as text: numbers as they are written, lists with blanks.
func textOf(v any) string {
	switch v := v.(type) {
	case string:
		return strings.TrimSpace(v)
	case float64, bool:
		b, _ := json.Marshal(v) // was decoded
		return string(b)
	case []any:
		var all []string
		for _, e := range v {
			if s := textOf(e); s != "" {
				all = append(all, s)
			}
		}
		return strings.Join(all, " ")
	}
	return ""
}

func bareName(name string) string {
	return strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(name))
}

// text is the argument with the first of the names that is there, or the only
// one.
func (a arguments) text(names ...string) string {
	for _, n := range names {
		if a[n] != "" {
			return a[n]
		}
	}
	if len(a) == 1 {
		for _, v := range a {
			return v
		}
	}
	return ""
}

// number is the argument of a name within bounds, or missing where it is no
// number.
func (a arguments) number(name string, missing, low, high int) int {
	n, err := strconv.ParseFloat(a[name], 64)
	if err != nil {
		return missing
	}
	return int(min(max(n, float64(low)), float64(high)))
}
