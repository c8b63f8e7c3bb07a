package pool

import (
	"time"

	"goblin-actor/actors/message"
	"goblin-actor/protocol"
)

// rateKey is what calls are counted by: who makes them, over however many connections, and the tool.
type rateKey struct{ principal, item string }

// tooOften counts a call of a tool that is limited; the fault says that it is one too many. A call that begins anew because its connection broke
// is not counted again.
func (s *state) tooOften(now time.Time, r *message.Request) *protocol.Fault {
	if r.Rate.Requests == 0 {
		return nil
	}
	retryAfter, ok := s.rates.Take(now, rateKey{r.Caller.Principal, r.Item}, r.Rate)
	if ok {
		return nil
	}
	return &protocol.Fault{Name: protocol.RateLimited, Server: s.server.Name, Retryable: true, RetryAfter: retryAfter,
		Message: "Too many calls of this tool: " + r.Rate.String() + " are permitted (policy, toolRate)"}
}
