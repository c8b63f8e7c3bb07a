package actors

import (
	"maps"
	"slices"
	"time"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/audit"
	"goblin-actor/internal/config"
	"goblin-actor/internal/policy"
	"goblin-actor/internal/status"
	"goblin-actor/protocol"
)

const (
	surveyTime    = 200 * time.Millisecond // how long sessions have to say whether they could leave
	maxWaitingNew = 256                    // clients that wait for room at once
)

// state is all the gateway actor knows. Written by step only.
type state struct {
	config   *config.Config
	written  *config.Config // config before groups were gathered
	policy   *policy.Policy // that of config; nil = it has none
	version  string         // of the program
	self     kernel.Reference
	registry kernel.Reference
	meta     kernel.Reference // zero = it has failed for good
	store    kernel.Reference
	loaded   *message.StateLoaded             // what the state file held; nil until it has been read, and nothing else starts before
	known    map[string]*message.KnownCatalog // what servers offered when they were last asked, by pool.CatalogIdentity
	early    []any                            // clients that came before that: OpenSession, OpenStdio
	snapshot *catalog.Snapshot
	listen   []string
	bound    []string            // listen of the configuration it was started with
	fault    *status.ConfigFault // of a newer configuration file; replaced, never written to

	pools    map[string]kernel.Reference // by server
	leaving  map[string]kernel.Reference // pools that have been told to stop, by server: the next one has to wait for their name
	sessions kernel.Crowd                // listen streams too
	owners   owners                      // whose they are, and those that are being spawned
	asked    map[kernel.Reference]bool   // sessions that were asked to leave
	changed  message.Principals          // who there is
	serves   bool                        // the servers have been started
	ending   map[string]bool             // who has become nobody before that: EndLogins.Who
	desks    []kernel.Reference
	streams  uint64                              // listen streams ever opened
	opening  int                                 // sessions being spawned
	levels   map[kernel.Reference]protocol.Level // log levels sessions have set
	level    protocol.Level                      // the most verbose of them

	waiting []guest             // clients that wait for a session to make room
	survey  []message.IdleSince // answers so far
	gen     uint64              // of the survey's timer; 0 = none runs
	polling bool

	audit    audit.Settings // of the audit log, that were put in force last, or are being
	auditing bool           // they are being put in force

	reloads  uint64               // that somebody has waited for
	applying map[uint64]*applying // that somebody waits for, by number
	unseen   bool                 // the registry has failed for good

	starts starts

	draining bool
	serving  map[kernel.Reference]bool // desks whose clients wait for answers, while it drains
	done     chan<- struct{}           // closed when drained; nil = nobody waits
}

// surveyOver: the sessions asked have had their time.
type surveyOver struct{ gen uint64 }

func newState(cfg *config.Config, self kernel.Reference) *state {
	return &state{config: config.Gather(cfg), written: cfg, policy: policy.Compile(cfg.Policy), bound: cfg.Listen, self: self, pools: map[string]kernel.Reference{}, leaving: map[string]kernel.Reference{}, asked: map[kernel.Reference]bool{}, levels: map[kernel.Reference]protocol.Level{},
		audit: settingsOf(cfg), owners: newOwners(), applying: map[uint64]*applying{}}
}

// of says which version of the program the gateway is.
func (s *state) of(version string) *state {
	s.version = version
	return s
}

// step applies msg to s at the time now and appends to out what is to be done about it.
func step(s *state, now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	switch m := msg.(type) {
	case message.OpenSession:
		return s.open(sessionGuest(m), out)
	case message.OpenSubscription:
		return s.open(listenGuest(m), out)
	case message.Principals:
		return s.principals(m, out)
	case deskStarted:
		s.desks = append(s.desks, m.ref)
		return s.tellChanged(m.ref, out)
	case message.OpenStdio:
		if s.registry.IsZero() {
			s.early = append(s.early, m)
			return out
		}
		s.opening++
		who := owner{name: "stdio"}
		s.owners.opening(who, 0)
		return append(out, kernel.Act(startSession{first: message.OpenSession{Admitted: m.Admitted}, stdio: m.Reply, owner: who, limits: s.config.Limits, expect: s.awaited()}))
	case sessionStarted:
		return s.started(m, out)
	case message.ReserveSubscriptions:
		return s.askSubscriptions(m, out)
	case message.ReleaseSubscriptions:
		s.subscriptionsOver(m)
	case message.SessionBusy:
		return s.stays(m, out)
	case message.IdleSince:
		s.survey = append(s.survey, m)
		if len(s.survey) >= s.sessions.Len() {
			return s.makeRoom(out)
		}
	case surveyOver:
		if m.gen == s.gen {
			return s.makeRoom(out)
		}
	case message.SetSessionLevel:
		return s.wantLevel(m, out)
	case message.CancelStateless: // only from stdin: it may mean one of the streams there
		for _, ref := range s.sessions.All() {
			out = append(out, kernel.Tell(ref, m))
		}
	case message.ServerLog:
		return s.serverLog(m, out)
	case message.Published:
		was := s.snapshot
		s.snapshot = m.Snapshot
		if projects := s.snapshot.Projects(); was == nil || !slices.Equal(was.Projects(), projects) {
			return append(out, kernel.Act(admitTo{projects}))
		}
	case kernel.Started:
		return append(out, kernel.Act(startStore{}))
	case storeStarted:
		s.store = m.ref
		return s.begin(out)
	case message.StateLoaded:
		s.loaded, s.known = &m, maps.Clone(m.Catalogs)
		for _, key := range slices.Sorted(maps.Keys(m.Tokens)) {
			out = append(out, kernel.Act(rememberToken{key, m.Tokens[key]}))
		}
		return s.begin(s.remembered(m, out))
	case message.RememberAudit:
		return append(out, kernel.Tell(s.store, m))
	case auditApplied:
		return s.auditApplied(m, out)
	case message.RememberCatalog:
		return s.rememberCatalog(m, out)
	case registryStarted:
		s.registry = m.ref
		return append(out, kernel.Act(startMeta{}))
	case metaStarted:
		return s.begun(now, s.metaBegun(m.ref, out))
	case poolStarted:
		s.pools[m.server] = m.ref
		if s.level != "" {
			return append(out, kernel.Tell(m.ref, message.SetLevel{Level: s.level}))
		}
	case message.Reload:
		return s.reload(m, out)
	case message.ReloadFailed:
		s.reloadFailed(now, m)
	case message.Listening:
		s.listen = m.Addresses
	case message.DrainAll:
		return s.drain(m, out)
	case message.Drained:
		delete(s.serving, m.Desk)
		return s.drained(out)
	case message.AwaitPublished:
		return s.await(m.Done, s.apply(m.Done), out)
	case message.ConfirmResult:
		return s.confirmed(m, out)
	case kernel.ChildStopped:
		return s.childStopped(m, out)
	case kernel.Stopping:
		return s.answerApplying(out)
	case message.RequestStartSlot, message.ReleaseStartSlot, message.StartSlotsReset, startOverdue, startsGathered:
		return s.ofStarts(m, out)
	case message.RememberToken:
		return append(out, kernel.Act(rememberToken{m.Key, m.Value}), kernel.Tell(s.store, m))
	case message.ReadToken:
		return append(out, kernel.Tell(s.store, m))
	case message.RequestLogin:
		return s.ofLogins(m.Entry, m, out)
	case message.EndLogins:
		return s.endLogins(m, out)
	case message.LoginAnswer:
		return s.ofLogins(m.Login.Entry, m, out)
	case message.GetCatalog:
		m.Reply <- s.snapshot
	case message.Inspect:
		m.Reply(s.report())
	}
	return out
}

// wantLevel keeps what a session or a desk wants. One that has ended wants nothing: the news of its end overtakes what it said
// before.
func (s *state) wantLevel(m message.SetSessionLevel, out []kernel.Effect) []kernel.Effect {
	if m.Level == "" || !s.sessions.Has(m.Session) && !slices.Contains(s.desks, m.Session) {
		delete(s.levels, m.Session)
	} else {
		s.levels[m.Session] = m.Level
	}
	if out = s.chooseLevel(out); m.Seq != 0 {
		out = append(out, kernel.Tell(m.Session, message.SetSessionLevelResult{Seq: m.Seq}))
	}
	return out
}

// chooseLevel tells the servers the most verbose level any session wants, or that none wants any more; sessions filter for
// themselves.
func (s *state) chooseLevel(out []kernel.Effect) []kernel.Effect {
	best := protocol.LevelNone
	for _, level := range s.levels {
		if level.MoreVerbose(best) {
			best = level
		}
	}
	if best == s.level {
		return out
	}
	s.level = best
	for _, name := range slices.Sorted(maps.Keys(s.pools)) {
		out = append(out, kernel.Tell(s.pools[name], message.SetLevel{Level: s.level}))
	}
	return out
}

// begin starts the rest once the state file has been read.
func (s *state) begin(out []kernel.Effect) []kernel.Effect {
	if s.store.IsZero() || s.loaded == nil {
		return out
	}
	return append(out, kernel.Act(startRegistry{s.naming(s.config), s.config.Projects, s.enabled()}))
}

// begun: the registry stands, and knows of the gateway's own tools: nobody sees a catalog without them. The desks come before the
// sessions, so that they hear of a new catalog first.
func (s *state) begun(now time.Time, out []kernel.Effect) []kernel.Effect {
	out = append(out, kernel.Act(startDesks{s.config.Limits, s.awaited(), s.loaded.Key}), kernel.Tell(s.registry, message.Subscribe{Who: s.self}))
	for _, server := range s.config.Servers {
		out = s.startServer(server, out)
	}
	if s.serves = true; s.changed.Newest != nil {
		out = s.endInherited(out)
	}
	if s.ending != nil {
		out = append(out, kernel.Act(findLogins{s.ending}))
		s.ending = nil
	}
	early := s.early
	s.early = nil
	for _, open := range early {
		out = step(s, now, open, out)
	}
	return out
}

// drain asks every session to leave when its calls have ended, and every desk to say so.
func (s *state) drain(m message.DrainAll, out []kernel.Effect) []kernel.Effect {
	if s.draining {
		return append(out, kernel.Act(closeDone{m.Done}))
	}
	s.draining, s.done, s.serving = true, m.Done, map[kernel.Reference]bool{}
	for _, ref := range s.sessions.All() {
		out = append(out, kernel.Tell(ref, message.DrainSession{}))
	}
	for _, desk := range s.desks {
		s.serving[desk] = true
		out = append(out, kernel.Tell(desk, message.DrainSession{}))
	}
	for i := range s.waiting {
		out = append(out, s.waiting[i].refuse(message.NoRoom(kernel.Gone)))
	}
	s.waiting = nil
	return s.drained(out)
}

func (s *state) drained(out []kernel.Effect) []kernel.Effect {
	if !s.draining || s.done == nil || s.sessions.Len()+len(s.serving) > 0 {
		return out
	}
	done := s.done
	s.done = nil
	return append(out, kernel.Act(closeDone{done}))
}

// report is what the gateway knows beside its children.
func (s *state) report() message.CatalogReport {
	r := message.CatalogReport{Listen: s.listen, Config: s.config.Path, Fault: s.fault, Draining: s.draining,
		Counts: map[string]status.Catalog{}, Invalid: map[string][]status.Invalid{}, Settled: map[string]bool{}}
	for _, server := range s.config.Servers {
		if server.Disabled {
			r.Disabled = append(r.Disabled, status.Server{Name: server.Name, State: string(message.Disabled), Description: server.Description, Settled: true})
			continue
		}
		r.Enabled = append(r.Enabled, server.Name)
		for _, m := range server.Members {
			switch {
			case m.Disabled:
				r.Disabled = append(r.Disabled, status.Server{Name: m.Name, State: string(message.Disabled), Description: "of " + server.Name, Settled: true})
			case m.Fault != "" && server.Fault == "":
				r.Disabled = append(r.Disabled, status.Server{Name: m.Name, State: string(message.Misconfigured), Reason: m.Fault, Hint: "mend the configuration: goblin-actor config check",
					Description: "of " + server.Name, Settled: true})
			}
		}
	}
	if s.snapshot == nil {
		return r
	}
	r.Catalog.Version = s.snapshot.Version
	r.Projects = projectsOf(s.snapshot)
	for _, server := range s.snapshot.Servers() {
		r.Settled[server.Name] = server.Listed()
		n := s.snapshot.Counts(server.Name)
		c := status.Catalog{Tools: n[protocol.Tools], Prompts: n[protocol.Prompts], Resources: n[protocol.Resources], Templates: n[protocol.Templates]}
		r.Counts[server.Name] = c
		for _, t := range s.snapshot.Invalid(server.Name) {
			r.Invalid[server.Name] = append(r.Invalid[server.Name], status.Invalid{Tool: t.Own, Pointer: t.Fault.Pointer, Reason: t.Fault.Reason, Hidden: t.Hidden, Output: t.Output})
		}
		r.Catalog.Tools += c.Tools
		r.Catalog.Prompts += c.Prompts
		r.Catalog.Resources += c.Resources
		r.Catalog.Templates += c.Templates
	}
	return r
}
