package token

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"goblin-actor/actors/claim"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/oauth"
)

// maxCopyAge is the maximum age of a login in the state file that may restore a missing shared record. If the copy is older, another
// node may have ended the login so long ago that the record of its end is deleted already.
const maxCopyAge = claim.KeepEnded - 24*time.Hour

// share connects a login with the record that all nodes of the cluster share. It is nil if this gateway alone has the login.
type share struct {
	claims  *claim.Claims
	begun   bool      // the actor has started before
	opening bool      // the record has not been read since the start
	fault   error     // why the record could not be read or used; nil = it was
	writing bool      // a claim is wanted, or a new login is being written
	unsaved bool      // the current login has been published but is not in the record yet
	ending  []*ending // logouts that wait until the record is empty
}

// ending is a logout that waits until the record is empty.
type ending struct {
	number uint64 // under which the logout waits
	logout *logout
	own    record // the login that this node had
	apart  bool   // own is not in the shared record
	told   bool   // the authorization server was told to revoke the tokens
}

// sharePause is the longest pause between two attempts to renew while the record cannot be read or written.
const sharePause = 10 * time.Second

// recordError is an error of the shared record.
type recordError struct{ error }

func (recordError) Temporary() bool { return true }
func (e recordError) Unwrap() error { return e.error }

// remoteError is the failure of a renewal on another node.
type remoteError struct{ err error }

func (e *remoteError) Error() string {
	return "another node of the cluster could not renew it: " + e.err.Error()
}
func (*remoteError) Temporary() bool { return true }

// newShare returns the share of a login, or nil if this gateway alone has the login.
func newShare(o Options) *share {
	if o.Shared == nil {
		return nil
	}
	return &share{claims: claim.New(o.NewTag)}
}

// busy reports whether a claim is wanted, or a login is being written.
func (h *share) busy() bool { return h != nil && h.writing }

// isOpening reports whether the record has not been read, and reading it has not failed.
func (h *share) isOpening() bool { return h != nil && h.opening && h.fault == nil }

// isUnreachable reports whether the record has not been read because of an error.
func (h *share) isUnreachable() bool { return h != nil && h.opening && h.fault != nil }

// stepShare handles the messages about the shared record.
func (s *state) stepShare(now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	if s.share == nil {
		return out
	}
	return s.perform(now, s.share.claims.Step(now, msg, nil), out)
}

// openShare begins to read the shared record. The copy in the state file is used meanwhile, unless it has expired.
func (s *state) openShare(now time.Time, out []kernel.Effect) []kernel.Effect {
	h := s.share
	out = append(out, kernel.Act(watchRecord{}))
	t := s.record.Token
	if t.Access != "" && (t.Expires.IsZero() || now.Before(t.Expires)) {
		out = s.publish(now, out)
	} else if h.begun {
		s.current = nil
		out = append(out, kernel.Act(publish{}))
	}
	if h.begun { // after a restart
		h.opening, h.fault, h.writing = true, nil, false
		for _, e := range h.ending {
			e.logout = &logout{} // its caller was answered
		}
		return s.perform(now, h.claims.Resume(now, nil), out)
	}
	h.begun, h.opening = true, true
	var kept json.RawMessage
	if t.Access != "" && now.Sub(t.Received) < maxCopyAge {
		kept = json.RawMessage(s.record.encode())
	}
	return s.perform(now, h.claims.Open(now, kept, nil), out)
}

// perform turns the results of the claims into effects.
func (s *state) perform(now time.Time, results []any, out []kernel.Effect) []kernel.Effect {
	overtaken := false
	for _, result := range results {
		switch r := result.(type) {
		case claim.Get, claim.Put:
			out = append(out, kernel.Act(r))
		case claim.Wake:
			out = append(out, kernel.WakeAfter(r.After, claim.Woken{Timer: r.Timer}))
		case claim.Opened:
			out = s.opened(now, r.Err, out)
		case claim.Unreachable:
			out = s.unreachable(r.Err, out)
		case claim.Changed:
			out = s.changed(now, r, out)
		case claim.Claimed:
			out = s.claimed(now, r, out)
		case claim.NotClaimed:
			out = s.notClaimed(now, r, out)
		case claim.Saved:
			out = s.saved(now, r.Previous, out)
		case claim.Unsaved:
			out = s.unsaved(now, r.Err, out)
		case claim.Overtaken:
			overtaken, s.share.writing, s.share.unsaved = true, false, false
			if r.Ended { // another node has ended the login during the renewal
				out = s.logouts.revoke(&s.requests, &logout{}, s.record.Site, s.record.Client, s.record.Token, out)
			}
		}
	}
	if overtaken {
		return s.endOvertaken(now, out)
	}
	return out
}

// notClaimed handles a renewal that cannot begin. If the record cannot be used, a person has to log in once the old token is of no use.
func (s *state) notClaimed(now time.Time, m claim.NotClaimed, out []kernel.Effect) []kernel.Effect {
	s.share.writing = false
	expires := s.record.Token.Expires
	switch {
	case m.Remote:
		return s.renewalFailed(now, &remoteError{m.Err}, out)
	case m.Invalid && (s.current == nil || len(s.refusals.waiting) > 0 || !expires.IsZero() && !now.Before(expires)):
		s.renewal.retryAt = now.Add(discoveryInterval)
		return s.needLogin(&Error{"renew the login", errors.Join(ErrNeedsLogin, m.Err), "run goblin-actor login " + s.login.Entry}, out)
	}
	return s.renewalFailed(now, recordError{m.Err}, out)
}

// isUnusable reports whether the record could not be used when it was seen last, for example because its secret is unknown.
func (h *share) isUnusable() bool { return h != nil && h.claims.Unusable() }

// endOvertaken ends a renewal that was overtaken by a record that cannot be used.
func (s *state) endOvertaken(now time.Time, out []kernel.Effect) []kernel.Effect {
	if s.phase != refreshing || s.busy() {
		return out
	}
	return s.renewalFailed(now, recordError{errors.New("the login that the nodes share was replaced by one that this node cannot use")}, out)
}

// opened ends the first read if it brings no login for this node to adopt: the record is missing, has the login that this node
// knows, or cannot be used.
func (s *state) opened(now time.Time, err error, out []kernel.Effect) []kernel.Effect {
	s.share.opening, s.share.fault, s.share.writing = false, err, false
	if err != nil {
		out = append(out, s.log(slog.LevelWarn, "the login that the nodes share cannot be used; log in again", err))
	}
	switch {
	case s.current != nil:
		return out
	case s.record.Token.Access != "" && s.canRenew():
		return s.renew(now, out)
	case s.record.Token.Access != "":
		return s.publish(now, out)
	}
	if s.reported == message.LoginUnavailable {
		out = s.announce(message.LoginNone, "", out)
	}
	return s.discoverFor(out)
}

// discoverFor begins to discover where a person logs in, if requests wait for a login.
func (s *state) discoverFor(out []kernel.Effect) []kernel.Effect {
	if len(s.refusals.waiting) == 0 || s.renewal.busy() || s.phase == discovering {
		return out
	}
	s.phase = discovering
	return append(out, kernel.Act(discover{s.renewal.begin(&s.requests), s.demand.challenge}))
}

// unreachable handles a read that has failed. Requests without a token cannot wait longer.
func (s *state) unreachable(err error, out []kernel.Effect) []kernel.Effect {
	h := s.share
	if h.fault == nil {
		out = append(out, s.log(slog.LevelWarn, "the login that the nodes share cannot be read; retrying", err))
	}
	h.fault = err
	if s.current != nil || len(s.refusals.waiting) == 0 {
		return out
	}
	return s.refusals.denyAll(h.unavailable(), s.announceUnavailable(h.unavailable(), out))
}

// announceUnavailable tells the owner that a request is denied because of an error of the record.
func (s *state) announceUnavailable(err error, out []kernel.Effect) []kernel.Effect {
	if _, is := errors.AsType[recordError](err); !is {
		return out
	}
	return s.announce(message.LoginUnavailable, err.Error(), out)
}

// unavailable returns the error for requests that need the record while it cannot be read.
func (h *share) unavailable() error {
	return &Error{"read the login that the nodes of the cluster share", recordError{h.fault}, ""}
}

// changed adopts what another node has written: a new token, or the end of the login.
func (s *state) changed(now time.Time, m claim.Changed, out []kernel.Effect) []kernel.Effect {
	h := s.share
	h.opening, h.fault, h.writing, h.unsaved = false, nil, false, false
	if s.renewal.request != 0 && s.phase == refreshing { // the claim was overtaken by a login or logout
		if m.Value == nil {
			s.logouts.expect(&logout{}, s.renewal.request, s.record.Site, s.record.Client)
		}
		s.renewal.request = 0
	}
	if m.Value == nil {
		return s.endedElsewhere(out)
	}
	other, ok := decode(message.Token(m.Value), s.server, s.config)
	if !ok {
		out = append(out, kernel.Log(slog.LevelWarn, "the login that the nodes share is ignored: it belongs to another server, client or authorization server", "server", s.login.Entry))
		return s.endOvertaken(now, s.opened(now, nil, out))
	}
	if s.phase == discovering && other.Token.Access != "" { // its result is to be ignored
		s.renewal.request = 0
	}
	return s.adopt(now, other, m.Live, out)
}

// adopt uses a login that another node has written. If it was seen when it was written, its times are shifted to the clock of this node.
func (s *state) adopt(now time.Time, other record, live bool, out []kernel.Effect) []kernel.Effect {
	if t := &other.Token; live && !t.Expires.IsZero() {
		t.Received, t.Expires = now, now.Add(t.Expires.Sub(t.Received))
	}
	if other.Token.Access == "" {
		if s.record.Token.Access == "" {
			s.record = other
			return s.discoverFor(out)
		}
		s.record = record{Server: other.Server, Token: s.record.Token, Site: other.Site, Client: other.Client, Clients: other.Clients}
		return s.needLogin(&Error{"renew the login", ErrNeedsLogin, "run goblin-actor login " + s.login.Entry}, out)
	}
	s.record, s.demand.scopes = other, nil
	out = append(out, kernel.Tell(s.store, message.RememberToken{Key: s.key, Value: other.encode()}))
	if t := other.Token; s.canRenew() && !t.Expires.IsZero() && !now.Before(t.Expires) {
		return s.renew(now, out)
	}
	return s.publish(now, out)
}

// endedElsewhere ends the login on this node after another node has ended it.
func (s *state) endedElsewhere(out []kernel.Effect) []kernel.Effect {
	had := s.record.Token.Access != ""
	out = s.forget(out)
	if had {
		out = append(out, kernel.Tell(s.store, message.RememberToken{Key: s.key}), kernel.Log(slog.LevelInfo, "logged out by another node", "server", s.login.Entry))
		out = s.refusals.denyAll(errLoggedOut, out)
		return s.announce(message.LoginNone, "", out)
	}
	return s.discoverFor(out)
}

// claimed renews the login: this node alone may use its refresh token until m.Until.
func (s *state) claimed(now time.Time, m claim.Claimed, out []kernel.Effect) []kernel.Effect {
	s.share.opening, s.share.fault = false, nil
	newest, ok := decode(message.Token(m.Value), s.server, s.config)
	if !ok || newest.Token.Refresh == "" {
		err := errors.New("the login that the nodes share has no refresh token, or belongs to another server, client or authorization server; log in again")
		s.share.writing = false
		out = s.perform(now, s.share.claims.GiveUp(now, err.Error(), nil), out)
		return s.renewalFailed(now, err, out)
	}
	s.record, s.phase = newest, refreshing
	return append(out, kernel.Act(refresh{s.renewal.begin(&s.requests), newest.Site, newest.Client, newest.Token, m.Until}))
}

// grantedShared handles the authorization server's response to a renewal under a claim.
func (s *state) grantedShared(now time.Time, m granted, out []kernel.Effect) []kernel.Effect {
	claims := s.share.claims
	switch {
	case m.err == nil:
		s.record.Server, s.record.Token = s.server, m.token
		s.share.unsaved = true
		results, _ := claims.Done(now, json.RawMessage(s.record.encode()), nil)
		return s.perform(now, results, out)
	case oauth.GrantEnded(m.err):
		s.share.writing = false // requests need not wait for the end of the write
		without := s.record.without()
		results, _ := claims.Done(now, json.RawMessage(without.encode()), nil)
		out = s.needLogin(&Error{"renew the login", errors.Join(ErrNeedsLogin, m.err), "run goblin-actor login " + s.login.Entry}, out)
		return s.perform(now, results, out)
	}
	s.share.writing = false
	out = s.perform(now, claims.GiveUp(now, m.err.Error(), nil), out)
	return s.renewalFailed(now, m.err, out)
}

// acceptShared writes a person's new login into the record.
func (s *state) acceptShared(now time.Time, next record, out []kernel.Effect) []kernel.Effect {
	raw := next.encode()
	if raw == nil {
		return s.logins.complete(errors.New("the login is too large to be stored"), out)
	}
	s.record, s.phase = next, refreshing
	s.share.opening, s.share.writing, s.share.unsaved = false, true, true
	return s.perform(now, s.share.claims.Replace(now, json.RawMessage(raw), nil), out)
}

// saved handles a successful write: this node's login, or its end, is in the record.
func (s *state) saved(now time.Time, previous json.RawMessage, out []kernel.Effect) []kernel.Effect {
	h := s.share
	published := h.unsaved && s.phase == fresh // see unsaved
	h.opening, h.fault, h.writing, h.unsaved = false, nil, false, false
	out = s.endAll(previous, out)
	switch {
	case s.record.Token.Access == "":
		return s.answerWithout(out)
	case published:
		return out
	}
	out = append(out, kernel.Tell(s.store, message.RememberToken{Key: s.key, Value: s.record.encode()}))
	return s.publish(now, out)
}

// answerWithout answers the requests that wait although there is no login.
func (s *state) answerWithout(out []kernel.Effect) []kernel.Effect {
	if s.phase == needsLogin {
		return s.refusals.denyAll(s.renewal.fault, out)
	}
	return s.discoverFor(out)
}

// unsaved uses a new token although it could not be written, because its predecessor may no longer be valid. A person who is logging in
// gets an error that says so.
func (s *state) unsaved(now time.Time, err error, out []kernel.Effect) []kernel.Effect {
	s.share.opening = false // this node's own value counts, not what the record contains
	out = s.endAnyway(err, out)
	if s.record.Token.Access == "" {
		return s.answerWithout(out)
	}
	if !s.share.unsaved || s.phase == fresh {
		return out
	}
	s.share.writing = false
	failure := fmt.Errorf("the login works on this node, but could not be given to the other nodes yet: %w", err)
	out = append(out, s.log(slog.LevelWarn, "login not shared with the other nodes yet; retrying", err))
	out = append(out, kernel.Tell(s.store, message.RememberToken{Key: s.key, Value: s.record.encode()}))
	out = s.logins.complete(failure, out)
	return s.publish(now, out)
}
