package insights

import (
	"regexp"
	"strings"
)

// What replaces personal and secret parts of texts.
const (
	redactedMail   = "[email]"
	redactedSecret = "[secret]"
	redactedCard   = "[card]"
)

var (
	mail = regexp.MustCompile(`[\p{L}\p{N}._%+-]+[@＠][\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)+`)
	// password=…, --token …, my password is …, "token": "…", Authorization: Bearer …
	named = regexp.MustCompile(`(?i)(\b(?:[a-z0-9]+[_-])*(?:[a-z]*password|passwd|pwd|secret|token|api[_-]?key|apikey|access[_-]?key|authorization|bearer)["']?(?:\s*[:=]\s*|\s+is\s+)["']?(?:bearer\s+|basic\s+)?|\bbearer\s+|(?:^|\s)--?[a-z-]*(?:password|secret|token|key)\s+)([^\s"',;&<>()]{6,})`)
	// What follows is a secret, also one of letters only.
	credentials = regexp.MustCompile(`(?i)authorization["']?\s*[:=]\s*["']?(?:bearer|basic)\s+$`)
	// user:password@host
	inURL = regexp.MustCompile(`(://[^\s/:@]*:)[^\s/@]+@`)
	block = regexp.MustCompile(`(?s)-----BEGIN [A-Z0-9 ]+-----.*?(?:-----END [A-Z0-9 ]+-----|$)`)
	// Prefixes of keys that services give.
	prefixed = regexp.MustCompile(`\b(?:svc_dsc_|sk[-_]|pk[-_](?:live|test)|rk_|gh[pousr]_|github_pat_|glpat-|xox[a-z]-|AKIA|ASIA|AIza|ya29\.|eyJ[A-Za-z0-9_-]{8,}\.|npm_|pypi-|hf_|SG\.|mint_)[A-Za-z0-9_\-./+=]{8,}`)
	long     = regexp.MustCompile(`[A-Za-z0-9_+=-]{20,}`)
	digits   = regexp.MustCompile(`\b\d(?:[ .-]?\d){12,18}\b`)
)

// Redact replaces e-mail addresses and what looks like a key, a password or a
// payment card. It can't know all secrets; it catches those that people paste
// most.
func Redact(s string) string {
	if len(s) < 6 {
		return s
	}
	if strings.Contains(s, "-----BEGIN ") {
		s = block.ReplaceAllString(s, redactedSecret)
	}
	if strings.ContainsAny(s, "@＠") {
		s = inURL.ReplaceAllString(s, "${1}"+redactedSecret+"@")
		s = mail.ReplaceAllString(s, redactedMail)
	}
	s = named.ReplaceAllStringFunc(s, redactNamed)
	s = prefixed.ReplaceAllString(s, redactedSecret)
	if !strings.ContainsAny(s, "0123456789") {
		return s // the others have digits
	}
	s = digits.ReplaceAllStringFunc(s, func(match string) string {
		if luhn(match) {
			return redactedCard
		}
		return match
	})
	return long.ReplaceAllStringFunc(s, func(match string) string {
		if looksRandom(match) {
			return redactedSecret
		}
		return match
	})
}

// redactNamed replaces the value of a match of named.
func redactNamed(match string) string {
	m := named.FindStringSubmatch(match)
	value := m[2]
	word := !strings.ContainsAny(value, "0123456789+/=!#%^*$") // "bearer authentication"
	placeholder := strings.HasPrefix(value, "$") || strings.HasPrefix(value, "{")
	if value == redactedSecret || word && !credentials.MatchString(m[1]) || placeholder {
		return match
	}
	return m[1] + redactedSecret
}

// looksRandom reports whether a long run of letters and digits is a key rather
// than an identifier: it changes between letters and digits often.
func looksRandom(s string) bool {
	changes, digits := 0, 0
	var last byte
	for i := range len(s) {
		kind := byte('a')
		switch c := s[i]; {
		case c >= '0' && c <= '9':
			kind = '0'
			digits++
		case c == '_' || c == '-' || c == '+' || c == '=':
			continue
		}
		if last != 0 && kind != last {
			changes++
		}
		last = kind
	}
	return digits >= 3 && changes >= 4
}

// luhn reports whether digits have the check digit of payment cards.
func luhn(s string) bool {
	sum, n := 0, 0
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] < '0' || s[i] > '9' {
			continue
		}
		d := int(s[i] - '0')
		if n%2 == 1 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
		n++
	}
	return n >= 13 && sum%10 == 0
}
