package pool

import (
	"log/slog"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	principals "goblin-actor/internal/identity"
	"goblin-actor/internal/policy"
	"goblin-actor/protocol"
)

// rateKey identifies the counter of a rate limit: one principal's calls of one tool, from all of the principal's clients. All
// clients without authentication count as one principal.
type rateKey struct{ principal, item string }

// dispatchLimited dispatches a call, or refuses it if the principal has called the tool more often than policy permits.
// In report-only mode, such a call is dispatched anyway, and at most one a second is logged.
func (s *state) dispatchLimited(now time.Time, m message.Dispatch, out []kernel.Effect) []kernel.Effect {
	switch fault := s.checkRate(now, m.Request); {
	case fault == nil:
	case !m.Request.RateReports:
		return append(out, s.fail(m, fault))
	case now.Sub(s.calls.rates.loggedAt) >= time.Second:
		s.calls.rates.loggedAt = now
		out = append(out, kernel.Log(slog.LevelInfo, "policy would refuse a call: rate limit exceeded",
			m.Request.Trace.LogArgs("who", principals.IDIn(m.Request.Caller.Principal), "item", m.Request.Item, "rate", m.Request.Rate.String())...))
	}
	return s.dispatch(now, queued{Dispatch: m, since: now}, out)
}

// checkRate counts a call of a tool with a rate limit, and returns a fault if the limit is exceeded. A call that
// is sent again after its connection broke is not counted again.
func (s *state) checkRate(now time.Time, r *message.Request) *protocol.Fault {
	if r.Rate.Requests == 0 {
		return nil
	}
	retryAfter, ok := s.calls.rates.buckets.Take(now, rateKey{r.Caller.Principal, r.Item}, r.Rate)
	if ok {
		return nil
	}
	return &protocol.Fault{Name: protocol.RateLimited, Server: s.server.Name, Retryable: true, RetryAfter: retryAfter,
		Message: "too many calls of this tool: policy permits " + r.Rate.String() + " (toolRate); retry after " + message.Seconds(max(retryAfter, time.Second))}
}

// rateLimits counts the calls of tools for which policy sets a rate limit.
type rateLimits struct {
	buckets  policy.Buckets[rateKey]
	loggedAt time.Time // when a call over a limit in report-only mode was last logged
}
