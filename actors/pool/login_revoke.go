package pool

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	principals "goblin-actor/internal/identity"
)

// revokeInterval is the time between two attempts to end a login whose record could not be emptied. Its actor tries more often.
const revokeInterval = time.Minute

// revokeLogins ends the logins of principals that no longer exist. A key may have been revoked because it leaked, so
// the logins made with it must end, too.
func (s *state) revokeLogins(m message.EndLogins, out []kernel.Effect) []kernel.Effect {
	keys := slices.Clone(m.Stored)
	for key := range s.logins.byKey {
		if key.Lane != "" && m.Who[key.Lane] {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, message.LoginKey.Compare)
	for _, key := range slices.Compact(keys) {
		entry := s.entry(key.Entry)
		if entry == nil || !entry.LogsIn() || s.fault != "" || s.logins.revoking[key] {
			continue
		}
		s.logins.revoking[key] = true
		out = append(out, kernel.Act(revokeLogin{key, *entry}))
	}
	return out
}

// revokeLogin asks the actor of a login to end it, and waits for the answer in a goroutine.
func (p *pool) revokeLogin(self kernel.Self, a revokeLogin) {
	reply := make(chan message.LoginFinished, 1)
	p.toLogin(self, toLogin{login: a.login, entry: a.entry, msg: message.EndLogin{Reply: reply}})
	self.Go(func(ctx context.Context) any {
		select { // the actor answers when its request has ended or timed out, or when the actor stops
		case m := <-reply:
			return loginRevoked{a.login, m.Err}
		case <-ctx.Done():
			return nil
		}
	})
}

// loginRevoked stops the actor of a login that was revoked, unless the login is used again, or the actor still has to empty the record that
// the nodes of a cluster share.
func (s *state) loginRevoked(m loginRevoked, out []kernel.Effect) []kernel.Effect {
	over := s.logins.revoking[m.login]
	delete(s.logins.revoking, m.login)
	if m.err != nil {
		out = append(out, kernel.Log(slog.LevelWarn, "login removed, but the authorization server may not have revoked it",
			"who", principals.IDIn(m.login.Lane), "entry", m.login.Entry, "err", m.err))
	}
	if !over { // a new login with that key has begun
		return out
	}
	if errors.Is(m.err, message.ErrStillShared) {
		s.logins.revoking[m.login] = true
		return append(out, kernel.WakeAfter(revokeInterval, revokeDue{m.login}))
	}
	return s.stopUnusedLogin(m.login, out)
}

// revokeDue asks the actor of a login to end it once more, which shows whether the record is empty by now. It does nothing if a new
// login with that key has begun.
func (s *state) revokeDue(m revokeDue, out []kernel.Effect) []kernel.Effect {
	if !s.logins.revoking[m.login] {
		return out
	}
	if entry := s.entry(m.login.Entry); entry != nil && entry.LogsIn() && s.fault == "" {
		return append(out, kernel.Act(revokeLogin{m.login, *entry}))
	}
	delete(s.logins.revoking, m.login)
	return s.stopUnusedLogin(m.login, out)
}
