package actors

import (
	"log/slog"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/actors/meta"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// sessions holds the running sessions and subscription streams. A subscription stream counts as a session here.
type sessions struct {
	members  kernel.ActorSet
	owners   owners
	starting int    // number of sessions being spawned
	streams  uint64 // number of subscription streams opened so far
	notes    notes  // about sessions of other nodes
	ended    endedSessions
}

func newSessions() sessions { return sessions{owners: newOwners()} }

// tell sends msg to every session, the oldest first.
func (v *sessions) tell(msg any, out []kernel.Effect) []kernel.Effect {
	for _, ref := range v.members.All() {
		out = append(out, kernel.Tell(ref, msg))
	}
	return out
}

// count returns the number of sessions, including those being spawned.
func (v *sessions) count() int { return v.members.Len() + v.starting }

// begin records that a session of who is being spawned.
func (v *sessions) begin(who owner, subscriptions int) {
	v.starting++
	v.owners.begin(who, subscriptions)
}

// started records the end of a spawn. It reports whether the session exists: spawning fails while the gateway stops.
func (v *sessions) started(m sessionStarted) bool {
	v.starting--
	if m.ref.IsZero() {
		v.owners.release(m.owner, m.subscriptions)
		return false
	}
	v.members.Add(m.ref)
	v.owners.add(m.ref, m.owner, m.subscriptions)
	return true
}

// serverLog passes on a log message that belongs to no call. A message from a principal's own connection goes to that principal's
// sessions. A message from a shared connection may be about any client's call. With authentication it therefore goes only to
// unauthenticated clients, which are on stdio or in the same program.
func (v *sessions) serverLog(m message.ServerLog, authentication bool, out []kernel.Effect) []kernel.Effect {
	for _, ref := range v.members.All() {
		of := v.owners.of[ref]
		shared := m.Principal == "" && !(authentication && of.authenticated)
		if shared || m.Principal != "" && of == (owner{m.Principal, true}) {
			out = append(out, kernel.Tell(ref, m))
		}
	}
	return out
}

// openRequest is a client's request for a session or a subscription stream. Exactly one of session and stream is set.
type openRequest struct {
	session       *message.OpenSession
	stream        *message.OpenSubscription
	owner         owner
	subscriptions int // of the stream
}

func requestSession(m message.OpenSession) openRequest {
	o := (*downstream.Origin)(nil)
	if m.Stream != nil {
		o = &m.Stream.Origin
	}
	return openRequest{session: &m, owner: ownerOf(&m.Admitted, o, m.Exchange)}
}

func requestStream(m message.OpenSubscription) openRequest {
	return openRequest{stream: &m, owner: ownerOf(&m.Admitted, nil, m.Exchange), subscriptions: m.Subscriptions}
}

func (r *openRequest) admitted() *message.Admitted {
	if r.session != nil {
		return &r.session.Admitted
	}
	return &r.stream.Admitted
}

// isGuest reports whether the session's home is another node.
func (r *openRequest) isGuest() bool { return r.session != nil && r.session.Guest }

// refuse returns the effect that answers the client with an error.
func (r *openRequest) refuse(why *protocol.Fault) kernel.Effect {
	if r.session != nil {
		return kernel.Act(refuseSession{*r.session, why})
	}
	return kernel.Act(refuseStream{*r.stream, why})
}

func (s *state) stepSessions(msg any, out []kernel.Effect) []kernel.Effect {
	switch m := msg.(type) {
	case message.OpenSession:
		return s.open(requestSession(m), out)
	case message.OpenSubscription:
		return s.open(requestStream(m), out)
	case message.OpenStdio:
		return s.openStdio(m, out)
	case sessionStarted:
		if s.sessions.started(m) { // its principal may have changed while it was spawned
			return s.principals.catchUp(m.ref, out)
		}
	case message.CancelStateless: // sent for stdio only; the canceled request may be a subscription stream
		return s.sessions.tell(m, out)
	case message.ServerLog:
		return s.sessions.serverLog(m, s.config.Auth.On(), out)
	}
	return out
}

// openStdio spawns the session of the client on stdio.
func (s *state) openStdio(m message.OpenStdio, out []kernel.Effect) []kernel.Effect {
	if s.registry.IsZero() {
		s.startup.early = append(s.startup.early, m)
		return out
	}
	who := owner{name: "stdio"}
	s.sessions.begin(who, 0)
	return append(out, kernel.Act(startSession{
		first: message.OpenSession{Admitted: m.Admitted}, stdio: m.Reply, owner: who, limits: s.config.Limits, expect: s.servers.expected(s.config),
	}))
}

// open spawns the actor that a client requests. At the session limit, the client waits until another session has been closed.
func (s *state) open(r openRequest, out []kernel.Effect) []kernel.Effect {
	if r.session != nil && s.sessions.ended.has(r.session.SessionID()) {
		return append(out, kernel.Act(refuseEnded{*r.session}))
	}
	if fault := s.principals.current.Readmit(r.admitted()); fault != nil {
		return append(out, r.refuse(fault))
	}
	if fault := s.sessions.owners.tooMany(r.owner, r.subscriptions, s.config.Limits.MaxSubscriptionsPerPrincipal); fault != nil {
		return append(out, r.refuse(fault))
	}
	switch {
	case s.drain.started, r.stream != nil && s.registry.IsZero():
		return append(out, r.refuse(message.NoRoom(kernel.NotRunning)))
	case s.registry.IsZero() && len(s.startup.early) < maxWaitingClients:
		s.startup.early = append(s.startup.early, *r.session)
		return out
	case s.registry.IsZero():
		return append(out, r.refuse(message.NoRoom(kernel.Overloaded)))
	case s.sessions.count() < s.config.Limits.MaxSessions:
		return s.start(r, out)
	}
	out, queued := s.eviction.enqueue(r, out)
	if !queued {
		return out
	}
	return s.eviction.survey(s.self, &s.sessions, out)
}

// start spawns the actor that serves a client.
func (s *state) start(r openRequest, out []kernel.Effect) []kernel.Effect {
	s.sessions.begin(r.owner, r.subscriptions)
	if r.session != nil {
		return append(out, kernel.Act(startSession{first: *r.session, owner: r.owner, limits: s.config.Limits}))
	}
	s.sessions.streams++
	expect := 0
	if r.stream.Exchange.Origin.Stdio { // the first request may arrive before the servers have started
		expect = enabledServers(s.config)
	}
	return append(out, kernel.Act(startStream{*r.stream, r.owner, r.subscriptions, s.sessions.streams, expect}))
}

// childStopped removes the state kept for a child actor that has ended.
func (s *state) childStopped(m kernel.ChildStopped, out []kernel.Effect) []kernel.Effect {
	if m.Child == s.registry {
		s.reloads.registryFailed = true
		if s.reloads.localRights != 0 {
			out = s.sendLocalRights(out)
		}
		return append(s.reloads.completeAll(out), kernel.Log(slog.LevelError, "the registry failed permanently; restart the gateway", "err", m.Err))
	}
	s.starts.forget(m.Child)
	out = s.starts.grant(s.config.Limits.StartsAtOnce, out)
	if m.Child == s.meta {
		s.meta = kernel.Reference{}
		return append(out, kernel.Tell(s.registry, message.RemoveServer{Server: meta.Name}))
	}
	if server, wasStopping := s.servers.ended(m.Child); wasStopping {
		return s.poolEnded(server, out)
	} else if server != "" {
		return append(out, kernel.Tell(s.registry, message.RemoveServer{Server: server}))
	}
	if _, set := s.levels.wanted[m.Child]; set {
		s.levels.set(m.Child, "")
		out = s.updateLevel(out)
	}
	if s.sessions.members.Remove(m.Child) {
		return s.sessionEnded(m.Child, out)
	}
	s.stateless.remove(m.Child)
	return s.drainEnded(m.Child, out)
}

// sessionEnded removes the state kept for a session. The client that has waited longest may open one instead.
func (s *state) sessionEnded(ref kernel.Reference, out []kernel.Effect) []kernel.Effect {
	s.sessions.owners.remove(ref)
	out = append(out, kernel.Tell(s.registry, message.Unsubscribe{From: ref}))
	next, waits := s.eviction.sessionEnded(ref, s.drain.started)
	if waits {
		return s.open(next, out)
	}
	return s.checkDrained(out)
}
