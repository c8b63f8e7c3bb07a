package membership

import (
	"cmp"
	"slices"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/cluster"
	"goblin-actor/internal/policy"
)

// state is the actor's entire state. Only step modifies it.
type state struct {
	options *Options // only Act calls the functions in it
	facts   message.NodeFacts
	own     own
	join    join
	peers   map[string]*peer // the other nodes, by their incarnations
	view    *cluster.View    // newest published view

	verdicts  verdicts
	outsiders outsiders
	logs      logLimits
	revoked   revocations
	spending  spending
	hints     sentHints

	generations []uint64 // counters of the changes of this node's catalog, by kind of item
}

// own is what this node knows about itself.
type own struct {
	incarnation string
	since       int64     // start of the incarnation, in Unix milliseconds
	former      []former  // newest first
	condemned   bool      // the incarnation was given up; a new one follows
	renewed     time.Time // when the node took its incarnation; zero = it has its first one
	seq, round  uint64    // of the last beat
	beat        time.Time // of the last beat
	ticked      time.Time // of the last tick
	generation  uint64    // of the timers
	joined      bool      // the node takes part in the cluster
	greeting    bool      // the timer of greet is set
	draining    bool
	swept       time.Time // when outdated entries of the tables were last dropped
}

// former is a former incarnation of this process.
type former struct {
	incarnation string
	until       time.Time
}

// formerTime is how long a former incarnation is remembered. Sessions, questions and streams that name it are served until
// then.
const formerTime = 24 * time.Hour

// Minimum times between two events.
const (
	renewEvery = time.Second      // of taking a new incarnation
	sweepEvery = 10 * time.Second // of dropping outdated entries of the tables
)

// Messages of the actor to itself.
type (
	tick      struct{ generation uint64 }
	greeting  struct{ generation uint64 }
	collected struct{ spent []policy.Spent }
	renewed   struct{ incarnation string }
	probed    struct {
		incarnation string
		absent      bool // no process listens for it
	}
	fetched struct {
		incarnation string
		payload     []byte
		err         error
	}
	applied struct{}
)

func newState(o *Options) *state {
	return &state{
		options: o, own: own{incarnation: o.Incarnation}, peers: map[string]*peer{},
		verdicts: verdicts{}, outsiders: outsiders{}, logs: logLimits{}, revoked: newRevocations(),
	}
}

// step applies msg to s at the time now and appends the resulting effects to out.
func (s *state) step(now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	if !s.own.joined {
		return s.stepBefore(now, msg, out)
	}
	switch m := msg.(type) {
	case kernel.Started:
		return s.start(now, out)
	case kernel.Stopping:
		return s.leave(now, out)
	case collected: // belongs to the step before, like renewed
		return s.collected(now, m, out)
	case renewed:
		return s.takeIncarnation(now, m.incarnation, out)
	case message.Inspect:
		return append(out, kernel.Act(report{m, now}))
	}
	out = s.wake(now, out)
	switch m := msg.(type) {
	case tick:
		if m.generation == s.own.generation {
			out = s.tick(now, out)
		}
	case greeting:
		out = s.greetLater(now, m, out)
	case message.Heard:
		out = s.heard(now, m, out)
	case message.NodeQuery:
		out = s.query(now, m, out)
	case probed:
		out = s.probed(now, m, out)
	case message.FetchCatalog:
		out = s.fetchFirst(m, out)
	case fetched, fetchedEnded, fetchedCatalog, serverAnswer, catalogsShown:
		out = s.stepFetched(now, m, out)
	case applied:
		s.revoked.applying = false
	case kernel.GoPanicked:
		s.abandonQueries()
	case message.NodeRefused:
		out = s.suspect(now, m.Incarnation, out)
	case message.NodeFacts:
		s.facts = m
	case message.DrainNode:
		if !s.own.draining {
			s.own.draining = true
			out = s.beat(now, out)
		}
	case message.RevokeHolders:
		out = s.revokeHolders(now, m.Holders, out)
	case message.OwnCatalogChanged:
		out = s.ownCatalog(now, m, out)
	case message.TellNodes:
		out = s.tellNodes(now, m.Hint, out)
	case message.RestoreHolders:
		out = s.restoreHolders(now, m.Holders, out)
	}
	return s.publishView(s.becomeReady(now, s.applyRevoked(out)))
}

// stepFetched handles what other nodes have answered to the questions of this one.
func (s *state) stepFetched(now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	switch m := msg.(type) {
	case fetched:
		return s.fetched(now, m, out)
	case fetchedEnded:
		return s.fetchedEnded(now, m, out)
	case fetchedCatalog:
		return s.fetchedCatalog(now, m, out)
	case serverAnswer:
		return s.fetchedServer(now, m, out)
	case catalogsShown:
		s.join.catalogs.done = true
	}
	return out
}

// stepBefore is step before the node takes part in the cluster. It keeps only what the first beat contains, and ignores other messages.
func (s *state) stepBefore(now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	switch m := msg.(type) {
	case message.JoinCluster:
		s.own.joined = true
		return s.start(now, out)
	case message.OwnCatalogChanged:
		s.generations = m.Generations
	case message.NodeFacts:
		s.facts = m
	case message.Inspect:
		return append(out, kernel.Act(report{m, now}))
	}
	return out
}

// start makes the node take part in the cluster. After a panic the node keeps its incarnation and the members.
func (s *state) start(now time.Time, out []kernel.Effect) []kernel.Effect {
	s.own.generation++
	s.own.greeting = false
	if s.own.ticked.IsZero() {
		s.own.since = now.UnixMilli()
		s.join.started, s.own.swept = now, now
	}
	s.abandonQueries()
	s.own.ticked, s.own.beat = now, now
	s.forgive(now)
	out = append(out, kernel.Act(serve{s.own.incarnation}), kernel.WakeAfter(cluster.BeatEvery, tick{s.own.generation}))
	return s.publishView(s.beat(now, out))
}

// leave tells the other nodes that this one stops.
func (s *state) leave(now time.Time, out []kernel.Effect) []kernel.Effect {
	if s.own.condemned {
		return out
	}
	b := s.newBeat(now)
	b.Leaving = true
	return append(out, kernel.Act(publish{cluster.SubjectBeat, b.Encode()}))
}

// wake checks before most messages (see step) whether this node's last beat is too old. If it is, the other nodes have given
// this one up: the process was stopped, or got no CPU time.
func (s *state) wake(now time.Time, out []kernel.Effect) []kernel.Effect {
	if now.Sub(s.own.beat) <= cluster.SilentAfter || s.own.condemned {
		return out
	}
	return s.condemn(now, "the node was stopped for "+now.Sub(s.own.beat).Round(time.Millisecond).String(), out)
}

// forgive gives every peer the time to send a beat, because this node could not receive any.
func (s *state) forgive(now time.Time) {
	for _, p := range s.peers {
		p.heard = now
	}
}

// tick sends the regular beat, and gives up peers that are silent.
func (s *state) tick(now time.Time, out []kernel.Effect) []kernel.Effect {
	s.excuse(now)
	s.own.ticked = now
	out = append(out, kernel.WakeAfter(cluster.BeatEvery, tick{s.own.generation}))
	for _, incarnation := range s.silent(now) {
		out = s.giveUp(now, incarnation, cluster.ReasonSilent, out)
	}
	out = s.watch(now, out)
	if now.Sub(s.own.swept) >= sweepEvery {
		s.own.swept = now
		s.sweep(now)
	}
	if s.own.condemned {
		return s.renewSoon(now, out)
	}
	return append(out, kernel.Act(collect{s.spending.room()}))
}

// excuse deducts the time by which this node's own tick is late from the silence of its peers.
func (s *state) excuse(now time.Time) {
	late := now.Sub(s.own.ticked) - cluster.BeatEvery
	if late < cluster.BeatEvery/4 {
		return
	}
	for _, p := range s.peers {
		if p.heard = p.heard.Add(late); p.heard.After(now) {
			p.heard = now
		}
	}
}

// sweep drops what is too old from the tables.
func (s *state) sweep(now time.Time) {
	s.own.former = slices.DeleteFunc(s.own.former, func(f former) bool { return now.Sub(f.until) > formerTime })
	s.verdicts.sweep(now)
	s.outsiders.sweep(now)
	s.logs.sweep(now)
	s.revoked.sweep(now)
}

// publishView publishes a new view if the members have changed.
func (s *state) publishView(out []kernel.Effect) []kernel.Effect {
	list := make([]cluster.Member, 0, len(s.peers)+1)
	if !s.own.condemned {
		list = append(list, cluster.Member{
			Incarnation: s.own.incarnation, Former: s.formerNames(), Node: s.options.Node, Address: s.options.Address, Version: s.options.Version,
			Since: s.own.since, Joining: !s.join.done, Draining: s.own.draining,
		})
	}
	for _, p := range s.peers {
		list = append(list, p.member())
	}
	view := cluster.NewView(s.own.incarnation, s.formerNames(), list)
	if s.view != nil && view.Equal(s.view) {
		return out
	}
	s.view = view
	return append(out, kernel.Act(setView{view}))
}

func (s *state) formerNames() []string {
	names := make([]string, len(s.own.former))
	for i := range names {
		names[i] = s.own.former[i].incarnation
	}
	return names
}

// mine reports whether this process has or had the incarnation.
func (s *state) mine(incarnation string) bool {
	return incarnation == s.own.incarnation || slices.ContainsFunc(s.own.former, func(f former) bool { return f.incarnation == incarnation })
}

// sorted returns the peers in the order of their incarnations, because the order of effects must not depend on a map's.
func (s *state) sorted() []*peer {
	list := make([]*peer, 0, len(s.peers))
	for _, p := range s.peers {
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b *peer) int { return cmp.Compare(a.beat.Incarnation, b.beat.Incarnation) })
	return list
}
