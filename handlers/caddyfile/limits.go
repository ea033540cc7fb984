package caddyfile

import (
	"cmp"
	"strconv"
	"time"

	"github.com/caddyserver/caddy/v2"
	caddyrl "github.com/mholt/caddy-ratelimit"

	"github.com/caddy-docs/caddy-docs/handlers"
	"github.com/caddy-docs/caddy-docs/handlers/options"
)

// limits are what the rate_limit lines of a block say.
type limits struct {
	handlers.Limits // those that are written
	off             bool
}

// of returns the limits of an API: those that are written, and the defaults
// of the others. Those of an open part are its own, unless all are off.
func (s *limits) of(api string, open bool) handlers.Limits {
	if s.off {
		return handlers.Limits{}
	}
	if open {
		return handlers.DefaultLimits(api, nil)
	}
	l := handlers.DefaultLimits(api, s.Organization)
	l.IP = cmp.Or(s.IP, l.IP)
	l.Distributed = s.Distributed
	return l
}

func (s *limits) word() word {
	return word{
		name: "rate_limit", repeat: true, parse: s.parse,
		forms: []form{
			{args: "organization|ip <n> <window>", example: "ip 600 1m"},
			{args: "distributed", example: "distributed", block: distributedWords(new(caddyrl.DistributedRateLimiting))},
			{args: "off", example: "off"},
		},
	}
}

func (s *limits) parse(l line) error {
	args, err := l.between(1, 3)
	if err != nil {
		return err
	}
	scope := args[0]
	if s.off || scope == "off" && s.Limits != (handlers.Limits{}) {
		return l.refuse("off can't be combined with another rate_limit in this block; keep one of them")
	}
	switch {
	case scope == "off" && len(args) == 1:
		s.off = true
		return nil
	case scope == "distributed" && len(args) == 1:
		if s.Distributed != nil {
			return l.refuse("distributed is written twice; keep one")
		}
		s.Distributed = new(caddyrl.DistributedRateLimiting)
		return parseBlock(l, "rate_limit distributed", distributedWords(s.Distributed), s.validate)
	case scope == "off" || scope == "distributed":
		return l.refuse("%s takes no arguments; unexpected argument %q", scope, args[1])
	case scope != "ip" && scope != "organization":
		return l.refuse("%q is not known", scope)
	case len(args) < 3:
		return l.refuse("%s needs a number of requests and a window", scope)
	}
	var limit handlers.Limit
	if limit.MaxEvents, err = strconv.Atoi(args[1]); err != nil {
		return l.refuse("%q is not a number of requests", args[1])
	}
	window, err := caddy.ParseDuration(args[2])
	if err != nil {
		return l.refuse("window %q is not a duration", args[2])
	}
	limit.Window = caddy.Duration(window)
	if wrong := fieldErrors(limit.Validate()); len(wrong) > 0 && wrong[0].Field == "window" {
		return l.refuse("window %s", wrong[0].Problem)
	} else if len(wrong) > 0 {
		return l.refuse("%s", wrong[0].Problem)
	}
	to := &s.IP
	if scope == "organization" {
		to = &s.Organization
	}
	if *to != nil {
		return l.refuse("%s is limited twice; keep one", scope)
	}
	*to = &limit
	return nil
}

// distributedWords are those of caddy-ratelimit's own directive.
func distributedWords(d *caddyrl.DistributedRateLimiting) []word {
	return []word{
		durationWord("read_interval", "5s", &d.ReadInterval),
		durationWord("write_interval", "5s", &d.WriteInterval),
		durationWord("purge_age", "7d", &d.PurgeAge),
	}
}

// validate checks the values of caddy-ratelimit's fields, which has no bounds
// itself.
func (s *limits) validate() error {
	c := new(options.Checker)
	c.Duration("read_interval", s.Distributed.ReadInterval, 100*time.Millisecond, time.Hour)
	c.Duration("write_interval", s.Distributed.WriteInterval, 100*time.Millisecond, time.Hour)
	c.Duration("purge_age", s.Distributed.PurgeAge, time.Minute, 365*24*time.Hour)
	return c.Err()
}
