package membership

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/cluster"
	"goblin-actor/internal/policy"
	"goblin-actor/protocol"
)

// How long another node has to answer a query. probeTime is that of a query about whether the node exists. Such a query may get
// lost while the node's connections break, and is then repeated.
const (
	queryTime = 500 * time.Millisecond
	probeTime = 100 * time.Millisecond
)

// ErrNoNode is returned by Bus.Ask if no node listens to the subject.
var ErrNoNode = errors.New("no node listens to this subject")

// Bus connects the nodes of a cluster. Its methods are safe for concurrent use.
type Bus interface {
	// Publish sends a message to all nodes that listen to the subject. It does not block. Messages may get lost.
	Publish(subject string, payload []byte)
	// Ask sends a question to the nodes that listen to the subject and returns the first answer. It blocks until then or
	// until ctx ends. If no node listens, the error is ErrNoNode.
	Ask(ctx context.Context, subject string, question []byte) ([]byte, error)
	// Serve passes queries to the incarnation on to the actor, and no longer those to the incarnation of an earlier call. It
	// does not block.
	Serve(incarnation string, to kernel.Reference)
}

// Rates are the request rates of principals.
type Rates interface {
	// TakeSpent returns what principals have spent at this node since the last call, for at most the given number of
	// principals. Later calls return the rest.
	TakeSpent(most int) []policy.Spent
	// Charge deducts what principals have spent at another node from what they may spend here.
	Charge(now time.Time, spent []policy.Spent)
}

// Options configure the actor.
type Options struct {
	Cluster     string // name of the cluster
	Node        string // name of this node
	Address     string // where this node accepts requests of other nodes, as host:port
	Version     string // of the program
	Incarnation string // the first one of this process

	Bus             Bus
	Rates           Rates                          // nil = there are no request rates
	NewIncarnation  func() string                  // returns a random incarnation; nil = cluster.NewIncarnation
	Changed         func(*cluster.View)            // called with each new view, which also says whether the node is ready; must not block
	Hint            func(*cluster.Hint)            // called with hints of other nodes about sessions; must not block; nil = they are ignored
	CatalogsChanged func([protocol.ItemKinds]bool) // called with the kinds of items that other nodes have changed; must not block; nil = not called
	Session         AnswerSession                  // answers questions of guests; nil = SessionUnknown
	ListEnded       ListEnded                      // lists the sessions that have ended; nil = there are none
	Ended           func([]cluster.EndedSession)   // called with ended sessions that another node knows; must not block; nil = they are ignored
	ListCatalogs    ListCatalogs                   // lists the catalogs of servers that this node knows; nil = none
	Catalog         func(*cluster.CatalogPart)     // called with parts of catalogs that another node knows; must not block; nil = they are ignored
	ShowCatalogs    func(reply func())             // called after the last part; calls reply, now or later, when clients see the catalogs; nil = the catalogs count as seen at once
	Revoked         func(map[string]bool)          // called with all revoked holders after a change, one call at a time; may block; nil = not called
	Log             *slog.Logger
}

// AnswerSession calls reply, now or later and at most once, with what this node knows about a session of a holder. It does
// not block.
type AnswerSession func(session, holder string, reply func(life cluster.SessionLife, level string))

// ListEnded calls reply, now or later and at most once, with a page of the sessions that have ended, and with the start of the next
// page, or "" if there is none. The page begins at after; "" = the first page. ListEnded does not block.
type ListEnded func(after string, reply func(list []cluster.EndedSession, next string))

// ListCatalogs calls reply, now or later and at most once, with the part of the catalogs that follows another one, and where the next
// part begins. It does not block.
type ListCatalogs func(after string, reply func(part *cluster.CatalogPart, next string))

// Spawn starts the actor. It is restarted after up to 10 panics within a minute, and keeps its state. If it ends, the other
// nodes give this one up.
func Spawn(system *kernel.System, o Options) kernel.Reference {
	if o.NewIncarnation == nil {
		o.NewIncarnation = cluster.NewIncarnation
	}
	s := newState(&o)
	options := kernel.SpawnOptions{Name: "membership", Kind: "membership", Restarts: 10, Within: time.Minute, Log: o.Log}
	return kernel.Spawn(system, options, func(kernel.Self) kernel.Logic { return &membership{o, s} })
}

// membership is the shell: it executes the effects of step.
type membership struct {
	Options
	state *state
}

// Step implements kernel.Logic.
func (m *membership) Step(now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	return m.state.step(now, msg, out)
}

// Effects.
type (
	publish struct {
		subject string
		payload []byte
	}
	serve   struct{ incarnation string }
	collect struct{ most int } // takes what was spent; collected follows at once
	renew   struct{}           // chooses a random incarnation; renewed follows at once
	probe   struct {           // asks whether an incarnation has a process; probed follows
		incarnation string
		question    []byte
	}
	fetch struct { // asks for a page of revocations; fetched follows
		incarnation string
		question    []byte
	}
	answer struct {
		reply   func([]byte)
		payload []byte
	}
	answerSession struct {
		query  *cluster.Query
		reply  func([]byte)
		answer cluster.Answer // complete except for Session and Level
	}
	charge struct {
		now   time.Time
		spent []policy.Spent
	}
	setView         struct{ view *cluster.View }
	catalogsChanged struct{ kinds [protocol.ItemKinds]bool }
	revoke          struct{ holders map[string]bool } // applied follows
	hint            struct{ hint *cluster.Hint }
	report          struct {
		message.Inspect
		now time.Time
	}
)

// Act implements kernel.Logic.
func (m *membership) Act(self kernel.Self, act any) {
	switch a := act.(type) {
	case publish:
		m.Bus.Publish(a.subject, a.payload)
	case serve:
		m.Bus.Serve(a.incarnation, self.Reference())
	case collect:
		self.Next(collected{m.takeSpent(a.most)})
	case renew:
		self.Next(renewed{m.NewIncarnation()})
	case probe:
		self.Go(func(ctx context.Context) any {
			_, err := m.ask(ctx, a.incarnation, a.question, probeTime)
			return probed{a.incarnation, errors.Is(err, ErrNoNode)}
		})
	case fetch:
		self.Go(func(ctx context.Context) any {
			payload, err := m.ask(ctx, a.incarnation, a.question, queryTime)
			return fetched{a.incarnation, payload, err}
		})
	case answer:
		a.reply(a.payload)
	case fetchEnded, answerEnded, ended:
		m.endedAct(self, a)
	case fetchCatalog, serverQuestion, answerCatalog, heardCatalog, showCatalogs:
		m.catalogAct(self, a)
	case catalogsChanged:
		if m.CatalogsChanged != nil {
			m.CatalogsChanged(a.kinds)
		}
	case answerSession:
		m.answerSession(a)
	case charge:
		m.Rates.Charge(a.now, a.spent)
	case setView:
		m.Changed(a.view)
	case revoke:
		self.Go(func(context.Context) any { m.Revoked(a.holders); return applied{} })
	case hint:
		m.Hint(a.hint)
	case report:
		a.Reply(m.state.report(a.now))
	}
}

func (m *membership) takeSpent(most int) []policy.Spent {
	if m.Rates == nil {
		return nil
	}
	return m.Rates.TakeSpent(most)
}

// ask sends a question to an incarnation, and waits for the answer at most for the duration limit.
func (m *membership) ask(ctx context.Context, incarnation string, question []byte, limit time.Duration) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return m.Bus.Ask(ctx, cluster.SubjectOf(incarnation), question)
}
