package token

import (
	"crypto/subtle"
	"maps"
	"slices"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/oauth"
)

// logins holds the logins that people have begun.
type logins struct {
	pending    map[uint64]*pendingLogin       // by number
	completing []chan<- message.LoginFinished // callers waiting until a completed login is on disk
}

// pendingLogin is a login that a person has begun.
type pendingLogin struct {
	who       string                       // the principal's holder
	reply     chan<- message.LoginStarted  // nil once it has been answered
	finish    chan<- message.LoginFinished // nil if no caller waits for the end
	login     *oauth.Login                 // nil until it has begun at the authorization server
	device    bool
	interval  time.Duration // between two polls of a device login
	redeeming bool          // a request for its token is in progress
	answered  bool          // FinishLogin has arrived; a second one is refused
	taken     bool          // counted in the budget
	stepUp    bool          // requests more scopes than the current login has
}

// displaced returns the number of the principal's oldest pending login if it has maxLoginsOfOne or more, else 0.
func (l *logins) displaced(who string) (number uint64) {
	var own []uint64
	for _, n := range slices.Sorted(maps.Keys(l.pending)) {
		if l.pending[n].who == who {
			own = append(own, n)
		}
	}
	if len(own) < maxLoginsOfOne {
		return 0
	}
	return own[0]
}

// drop removes a pending login and answers its callers with err, which is nil if the login succeeded.
func (l *logins) drop(number uint64, err error, out []kernel.Effect) []kernel.Effect {
	p := l.pending[number]
	delete(l.pending, number)
	if p.reply != nil {
		out = append(out, kernel.Act(started{p.reply, message.LoginStarted{Err: err, Hint: hintOf(err)}}))
	}
	if p.finish != nil {
		out = append(out, kernel.Act(finished{p.finish, err}))
	}
	if p.taken {
		out = append(out, kernel.Act(release{1}))
	}
	return out
}

// dropAll drops all pending logins.
func (l *logins) dropAll(err error, out []kernel.Effect) []kernel.Effect {
	for _, n := range slices.Sorted(maps.Keys(l.pending)) {
		out = l.drop(n, err, out)
	}
	return out
}

// find returns the pending login with the given state and its number, or nil and 0. It compares every state in constant
// time.
func (l *logins) find(state string) (number uint64, p *pendingLogin) {
	for n, candidate := range l.pending {
		if candidate.login != nil && subtle.ConstantTimeCompare([]byte(candidate.login.State), []byte(state)) == 1 {
			number, p = n, candidate
		}
	}
	return number, p
}

// complete answers, with err, the callers that waited until the login was on disk.
func (l *logins) complete(err error, out []kernel.Effect) []kernel.Effect {
	for _, to := range l.completing {
		out = append(out, kernel.Act(finished{to, err}))
	}
	l.completing = nil
	return out
}

// redeeming yields the pending logins for which a token request is in progress.
func (l *logins) redeeming(yield func(number uint64, login *oauth.Login) bool) {
	for number, p := range l.pending {
		if p.redeeming && !yield(number, p.login) {
			return
		}
	}
}
