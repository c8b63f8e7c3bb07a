package pool

import (
	"crypto/rand"
	"fmt"
	"time"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
)

// If a call needs a login and its client supports URL elicitation, the user is asked to log in, as if the server had
// asked. The call continues after the login. Other clients get an error that says where or how to log in.

const (
	loginWait  = time.Minute      // time to log in after the user has agreed
	loginPulse = 10 * time.Second // interval between progress messages that keep the call's timeouts from ending it
)

// loginWaiter is a call that waits for its login.
type loginWaiter struct {
	queued
	login         message.LoginKey
	question      uint64    // key of the elicitation; 0 = it was answered
	loginDeadline time.Time // when the login must be complete; zero = the user has not answered yet, and the call's holder limits the wait
	reason        string    // why the login is needed
}

type (
	// askLogin asks the user of a call to log in.
	askLogin struct {
		call  message.CallRef
		login message.LoginKey
		key   uint64
		fault *protocol.Fault // the answer to the call if there is no login page
	}
	// failLogin fails a call with an error that says where or how to log in.
	failLogin struct {
		call  message.CallRef
		login message.LoginKey
		fault *protocol.Fault
	}
	loginPageMissing struct{ call message.CallRef } // there is no login page, and the call has been answered
	loginDue         struct{ call message.CallRef } // the call has waited for another loginPulse, or until its deadline
)

// refuseOrAskLogin fails a call that gets no connection, or asks its user to log in if a login is missing.
func (s *state) refuseOrAskLogin(now time.Time, q *queued, w target, out []kernel.Effect) []kernel.Effect {
	if conn := s.loginNeeded(w); conn != nil && s.fault == "" {
		if key, uses := s.loginOf(conn); uses && !conn.noLogin {
			return s.requireLogin(q, key, conn.attempts.failure, out)
		}
	}
	return append(out, s.refuse(q, s.unavailableFault(now, w)))
}

// requireLogin asks the user of a call to log in. If that is not possible, it fails the call. The error says how to log
// in, unless only the gateway can log in or the call may have been executed.
func (s *state) requireLogin(q *queued, key message.LoginKey, reason string, out []kernel.Effect) []kernel.Effect {
	fault := s.loginFault(reason)
	if s.loginUnavailable(key) {
		fault.Name = protocol.ServerUnavailable
		return append(out, s.refuse(q, fault))
	}
	if s.usesClientCredentials(key) {
		fault.Name, fault.Message = protocol.ServerUnavailable, fault.Message+"; "+catalog.OnlyGatewayLogsIn
		return append(out, s.refuse(q, fault))
	}
	if q.broken != nil { // the call may have been executed
		return append(out, s.refuse(q, fault))
	}
	if q.Request.Caller.Can&message.CanURL == 0 || !q.Request.Frame.Method.MayRequireInput() || len(s.logins.waiting) >= s.maxLoginWaiters() {
		return append(out, kernel.Act(failLogin{q.Call, key, fault}))
	}
	s.lastKey++
	q.deadline = time.Time{}
	s.logins.waiting[q.Call] = &loginWaiter{queued: *q, login: key, question: s.lastKey, reason: reason}
	return append(out, kernel.Act(askLogin{q.Call, key, s.lastKey, fault}))
}

// loginRefused handles a call that the server refused to execute because of its login.
func (s *state) loginRefused(now time.Time, at *connection, q *queued, w target, m message.NotExecuted, out []kernel.Effect) []kernel.Effect {
	key, uses := s.loginOf(at)
	if !uses {
		return s.refuseOrAskLogin(now, q, w, out)
	}
	if m.Login.None {
		fault := s.loginFault(m.Reason)
		fault.Retryable = false
		return append(out, s.refuse(q, fault))
	}
	return s.requireLogin(q, key, m.Reason, out)
}

// maxLoginWaiters returns how many calls may wait for logins.
func (s *state) maxLoginWaiters() int {
	if s.limits.ParkedPerServer > 0 {
		return s.limits.ParkedPerServer
	}
	return 256
}

// loginFault returns the fault of a call that needs a login. failLogin adds where or how to log in.
func (s *state) loginFault(reason string) *protocol.Fault {
	text := "server " + s.server.Name + " needs a login"
	if reason != "" {
		text = "server " + s.server.Name + ": " + reason
	}
	return &protocol.Fault{Name: protocol.NeedsLogin, Server: s.server.Name, Retryable: true, Message: text}
}

// loginAnswered handles the user's answer to the login question. A user who agrees has loginWait to log in. If the user
// declines, the call fails.
func (s *state) loginAnswered(now time.Time, m message.ServerRequestResult, out []kernel.Effect) []kernel.Effect {
	for _, call := range s.logins.waiters() {
		w := s.logins.waiting[call]
		if w.question != m.Key {
			continue
		}
		w.question = 0
		if !accepts(m.Result) {
			delete(s.logins.waiting, w.Call)
			return append(out, s.fail(w.Dispatch, s.loginFault("the login was declined")))
		}
		w.loginDeadline = now.Add(loginWait)
		return append(out, kernel.WakeAfter(loginPulse, loginDue{w.Call}))
	}
	return out
}

// accepts reports whether the answer to an elicitation accepts it.
func accepts(result []byte) bool {
	action := rawjson.Member(result, rawjson.Span{Off: 0, End: uint32(len(result))}, "action").Of(result)
	return string(action) == `"accept"`
}

// loginDue fails a call that has waited long enough. Otherwise it reports progress, which keeps the call's timeouts from
// ending the call.
func (s *state) loginDue(now time.Time, m loginDue, out []kernel.Effect) []kernel.Effect {
	w := s.logins.waiting[m.call]
	switch {
	case w == nil || w.loginDeadline.IsZero():
		return out
	case !now.Before(w.loginDeadline):
		delete(s.logins.waiting, m.call)
		return append(out, kernel.Act(failLogin{w.Call, w.login, s.loginFault(fmt.Sprintf("the login was not completed within %v", loginWait))}))
	}
	return append(out, kernel.Tell(m.call.Holder, message.Progress{Seq: m.call.Seq, Behind: true}), kernel.WakeAfter(min(loginPulse, w.loginDeadline.Sub(now)), loginDue{m.call}))
}

// resumeLoginWaiters dispatches the calls that waited for the login with which a connection is now ready.
func (s *state) resumeLoginWaiters(now time.Time, conn *connection, out []kernel.Effect) []kernel.Effect {
	if len(s.logins.waiting) == 0 {
		return out
	}
	key, _ := s.loginOf(conn)
	for _, call := range s.logins.waiters() {
		w := s.logins.waiting[call]
		if w.login != key {
			continue
		}
		delete(s.logins.waiting, call)
		if w.question != 0 {
			out = append(out, kernel.Tell(call.Holder, message.ServerRequestCanceled{Seq: call.Seq, Key: w.question}))
		}
		w.since = now
		out = s.dispatch(now, w.queued, out)
	}
	return out
}

// loginPageMissing forgets a call that was failed because there is no page to log in at.
func (s *state) loginPageMissing(m loginPageMissing, out []kernel.Effect) []kernel.Effect {
	delete(s.logins.waiting, m.call)
	return out
}

// failLogins fails all calls that wait for a login.
func (s *state) failLogins(name protocol.FaultName, text string, out []kernel.Effect) []kernel.Effect {
	f := &protocol.Fault{Name: name, Server: s.server.Name, Retryable: true, Message: text}
	for _, call := range s.logins.waiters() {
		out = append(out, s.fail(s.logins.waiting[call].Dispatch, f))
	}
	clear(s.logins.waiting)
	return out
}

// askLogin sends the call's holder a URL elicitation, as if the server had asked. If there is no login page, the call
// fails.
func (p *pool) askLogin(self kernel.Self, a askLogin) {
	address := p.state.logins.url(a.login)
	if address == "" {
		self.Next(loginPageMissing{a.call})
		p.failLogin(failLogin{a.call, a.login, a.fault})
		return
	}
	text := rawjson.Quote("Log in to " + p.Server.Name + ": " + a.fault.Message)
	params := fmt.Appendf(nil, `{"mode":"url","message":%s,"url":%s,"elicitationId":%s}`, text, rawjson.Quote(address), rawjson.Quote(rand.Text()))
	ask := message.ServerRequest{Seq: a.call.Seq, Key: a.key, From: self.Reference()}
	raw := protocol.AppendRequest(nil, a.key, protocol.MethodElicitationCreate.String(), params)
	if err := ask.Frame.Parse(raw); err != nil {
		panic("login elicitation: " + err.Error())
	}
	a.call.Holder.Tell(ask)
}

// failLogin fails a call with an error that names the login page, or else the command to log in.
func (p *pool) failLogin(a failLogin) {
	f := *a.fault
	if f.LoginURL = p.state.logins.url(a.login); f.LoginURL != "" {
		f.Message += "; log in at " + f.LoginURL
	} else {
		f.Message += "; log in with: goblin-actor login " + a.login.Entry
	}
	a.call.Holder.Tell(message.Failed{Seq: a.call.Seq, Fault: &f})
}

// loginURLOf returns a function that returns the URL of a login's page, or "" if there is none.
func loginURLOf(o Options) func(message.LoginKey) string {
	if o.LoginURL == nil {
		return func(message.LoginKey) string { return "" }
	}
	return o.LoginURL
}
