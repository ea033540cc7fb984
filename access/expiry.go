package access

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ParseExpiry reads when a key expires: a period in hours, days, weeks, or
// years (12h, 90d, 6w, 1y); a date in UTC, which is included (2027-01-31); an
// RFC 3339 time; or never, for which it returns the zero time, as for an empty
// string.
func ParseExpiry(s string, now time.Time) (time.Time, error) {
	s = strings.TrimSpace(s)
	if s == "" || s == "never" {
		return time.Time{}, nil
	}
	at, err := parseExpiry(s, now)
	if err != nil {
		return time.Time{}, err
	}
	if !at.After(now) {
		return time.Time{}, fmt.Errorf("expiry %q is not in the future", s)
	}
	if at.After(now.AddDate(100, 0, 1)) {
		return time.Time{}, fmt.Errorf("expiry %q is more than 100 years away; omit it for a key that never expires", s)
	}
	return at.UTC().Truncate(time.Second), nil
}

func parseExpiry(s string, now time.Time) (time.Time, error) {
	if n, err := strconv.ParseUint(s[:len(s)-1], 10, 16); err == nil {
		hours := map[byte]int{'h': 1, 'd': 24, 'w': 7 * 24}
		switch unit := s[len(s)-1]; {
		case hours[unit] > 0:
			return now.Add(time.Duration(int(n)*hours[unit]) * time.Hour), nil
		case unit == 'y':
			return now.AddDate(int(n), 0, 0), nil
		}
	}
	if t, err := time.Parse(time.DateOnly, s); err == nil {
		return t.AddDate(0, 0, 1), nil
	}
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t, nil
	}
	return time.Time{}, fmt.Errorf("expiry %q: write a time from now like 12h, 90d, 6w or 1y, or a day like 2027-01-31", s)
}
