package actors

import (
	"time"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
)

// state is the gateway actor's entire state. Only step modifies it.
type state struct {
	self     kernel.Reference
	version  string            // of the program
	config   *config.Config    // in force
	listen   []string          // addresses the gateway listens on
	tls      bool              // the listeners use TLS
	snapshot *catalog.Snapshot // newest published catalog; nil until the registry has published one

	store    kernel.Reference
	registry kernel.Reference
	meta     kernel.Reference // the gateway's own tools; zero = not started yet, or failed permanently

	startup    startup
	servers    servers
	starts     startSlots
	sessions   sessions
	eviction   eviction
	stateless  statelessSessions
	principals principals
	levels     logLevels
	reloads    reloads
	audit      auditReload
	drain      drain
}

func newState(cfg *config.Config, self kernel.Reference) *state {
	return &state{
		self: self, config: config.Gather(cfg),
		servers: newServers(), sessions: newSessions(), eviction: newEviction(), levels: newLogLevels(),
		reloads: newReloads(cfg), audit: auditReload{settings: auditSettingsOf(cfg)},
	}
}

// step applies msg to s at the time now and appends the resulting effects to out. It passes each message to the component that owns
// the state the message is about.
func step(s *state, now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	switch m := msg.(type) {
	case kernel.Started, storeStarted, message.StateLoaded, registryStarted, metaStarted:
		return s.stepStartup(now, m, out)
	case message.OpenSession, message.OpenSubscription, message.OpenStdio, sessionStarted, message.CancelStateless, message.ServerLog:
		return s.stepSessions(m, out)
	case message.SessionBusy, message.IdleSince, surveyDue:
		return s.stepEviction(m, out)
	case message.ReserveSubscriptions, message.ReleaseSubscriptions:
		return s.stepSubscriptions(m, out)
	case statelessStarted:
		s.stateless.add(m.ref)
		return s.principals.catchUp(m.ref, out)
	case message.ListCatalogs, message.HeardCatalog, message.ShowCatalogs:
		return s.stepPeerCatalogs(m, out)
	case poolStarted, message.RememberCatalog, message.NodeJoined, message.NodesChanged:
		return s.stepServers(m, out)
	case message.RequestStartSlot, message.ReleaseStartSlot, message.StartSlotsReset, slotExpired, requestsGathered:
		return s.starts.step(m, &s.servers, s.config.Limits.StartsAtOnce, out)
	case message.SetSessionLevel:
		return s.setLevel(m, out)
	case message.MembersChanged, message.KeepNote, message.TakeNote, sweepNotes, notePassed, passDue:
		return s.stepNotes(now, m, out)
	case message.RememberEnded, message.RememberAllEnded, message.EndUnopened, message.AskEnded, message.ListEnded, sweepEnded:
		return s.stepEnded(now, m, out)
	case message.Principals:
		return s.setPrincipals(m, out)
	case message.RequestLogin, message.LoginAnswer, message.EndLogins, message.RememberToken, message.ReadToken:
		return s.stepLogins(m, out)
	case message.Reload, reloadWithPolicy, message.ReloadFailed, message.AwaitPublished, message.ConfirmResult:
		return s.stepReload(now, m, out)
	case message.RememberAudit:
		return append(out, kernel.Tell(s.store, m))
	case auditApplied:
		return s.auditApplied(m, out)
	case witnessDue:
		return s.witnessDue(out)
	case message.DrainAll, message.Drained:
		return s.stepDrain(m, out)
	case kernel.ChildStopped:
		return s.childStopped(m, out)
	case kernel.Stopping:
		return s.reloads.completeAll(out)
	case message.Published, message.Listening, message.GetCatalog, message.Inspect:
		return s.stepStatus(m, out)
	}
	return out
}
