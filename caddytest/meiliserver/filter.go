package meiliserver

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Condition is one comparison of a filter.
type Condition struct {
	Attribute, Value string
	// Values are those of IN. With Empty, an empty value matches, too.
	Values     []string
	Empty, Not bool
}

var errFilter = errors.New("not a filter")

// ParseFilter parses conditions joined by AND, with the server's rules for
// quoted values. Of OR, it knows "(x IS EMPTY OR x IN [...])".
func ParseFilter(s string) ([]Condition, error) {
	if strings.TrimSpace(s) == "" {
		return nil, nil
	}
	var out []Condition
	for {
		var c Condition
		s, c.Not = strings.CutPrefix(strings.TrimLeft(s, " "), "NOT ")
		s, c.Empty = strings.CutPrefix(s, "(")
		n := strings.IndexAny(s, " =")
		if n <= 0 {
			return nil, errFilter
		}
		c.Attribute = s[:n]
		s = strings.TrimLeft(s[n:], " ")
		var ok bool
		if s, ok = strings.CutPrefix(s, "IS EMPTY OR "+c.Attribute+" "); ok != c.Empty {
			return nil, errFilter
		}
		var err error
		if list, ok := strings.CutPrefix(s, "IN ["); ok {
			c.Values, s, err = values(list)
		} else if c.Empty || !strings.HasPrefix(s, "=") {
			return nil, errFilter
		} else {
			c.Value, s, err = quoted(strings.TrimLeft(s[1:], " "))
		}
		if err != nil {
			return nil, err
		}
		if s, ok = strings.CutPrefix(s, ")"); ok != c.Empty {
			return nil, errFilter
		}
		out = append(out, c)
		s = strings.TrimLeft(s, " ")
		if s == "" {
			return out, nil
		}
		rest, ok := strings.CutPrefix(s, "AND ")
		if !ok {
			return nil, errFilter
		}
		s = rest
	}
}

// values parses values up to a closing bracket.
func values(s string) (list []string, rest string, err error) {
	list = []string{}
	if rest, ok := strings.CutPrefix(s, "]"); ok {
		return list, rest, nil
	}
	for {
		var v string
		if v, s, err = quoted(strings.TrimLeft(s, ", ")); err != nil {
			return nil, "", err
		}
		list = append(list, v)
		if rest, ok := strings.CutPrefix(s, "]"); ok {
			return list, rest, nil
		}
	}
}

// quoted parses a value in double quotation marks, as the server's value.rs
// does: to find its end, it skips each backslash and the next byte. Then it
// resolves escaped marks and, in a second pass, all escapes.
func quoted(s string) (value, rest string, err error) {
	if !strings.HasPrefix(s, `"`) {
		return "", "", errFilter
	}
	end, escaped := -1, false
	for i := 1; i < len(s); i++ {
		if s[i] == '\\' {
			i++
			escaped = escaped || i < len(s) && s[i] == '"'
			continue
		}
		if s[i] == '"' {
			end = i
			break
		}
	}
	if end < 0 {
		return "", "", errFilter
	}
	inner := s[1:end]
	if escaped {
		inner = strings.ReplaceAll(inner, `\"`, `"`)
	}
	v, err := unescape(inner)
	return v, s[end+1:], err
}

// unescape resolves \\ \" \' \n \t \r \b \f and \uXXXX.
func unescape(s string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		if r != '\\' {
			b.WriteRune(r)
			continue
		}
		if i >= len(s) {
			return "", errFilter
		}
		c := s[i]
		i++
		switch c {
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		case 'r':
			b.WriteByte('\r')
		case 'b':
			b.WriteByte('\b')
		case 'f':
			b.WriteByte('\f')
		case '\\', '"', '\'', '/':
			b.WriteByte(c)
		case 'u':
			if i+4 > len(s) {
				return "", errFilter
			}
			n, err := strconv.ParseUint(s[i:i+4], 16, 32)
			if err != nil {
				return "", errFilter
			}
			b.WriteRune(rune(n))
			i += 4
		default:
			return "", errFilter
		}
	}
	return b.String(), nil
}
