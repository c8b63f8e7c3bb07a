package meta

import (
	"context"
	"log/slog"
	"runtime"
	"time"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
	"goblin-actor/protocol/namespace"
)

// Name is the server's.
const Name = namespace.OwnServer

// Options are what the actor needs.
type Options struct {
	Registry kernel.Reference // publishes the snapshots
	Monitor  kernel.Reference // pictures the servers
	Log      *slog.Logger
}

// Spawn starts the actor under the gateway. Ten panics in a minute stop it for good.
func Spawn(parent kernel.Self, o Options) kernel.Reference {
	options := kernel.SpawnOptions{Name: "meta", Kind: "meta", Mailbox: 2 * maxWaiting, Restarts: 10, Within: time.Minute, Log: o.Log}
	return kernel.SpawnChild(parent, options, func(self kernel.Self) kernel.Logic {
		return &meta{Options: o, state: newState(o.Registry, self.Reference()), server: newServer(), index: &index{}, running: map[uint64]context.CancelFunc{}, processors: make(chan struct{}, processors())}
	})
}

// Server is how the registry knows the actor. It comes before all others: whatever servers there are, its tools keep their names.
func Server(self kernel.Reference) catalog.Server {
	rules := config.DefaultServer()
	rules.Name, rules.Order, rules.Description = Name, -1, "search and call what all servers have"
	return catalog.Server{
		Name: Name, Order: rules.Order, Pool: self, Life: 1, Rules: rules, Protocol: protocol.LatestLegacy, Capabilities: []byte(`{"tools":{}}`),
		Settled: true, Internal: true,
	}
}

// meta is the shell: it runs the calls on goroutines.
type meta struct {
	Options
	state   *state
	server  *server
	index   *index
	running map[uint64]context.CancelFunc // by number

	processors chan struct{} // holds one of whoever computes
}

// processors is how many calls compute at the same time: half of what there is stays for those who want to call servers.
func processors() int { return max(1, runtime.GOMAXPROCS(0)/2) }

func (m *meta) Step(now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	return step(m.state, now, msg, out)
}

// What the shell carries out.
type (
	run struct {
		number   uint64
		request  *message.Request
		snapshot *catalog.Snapshot
	}
	halt      struct{ number uint64 } // nobody wants the answer any more
	dropIndex struct{}
)

// ran is told when a call has ended.
type ran struct {
	number uint64
	frame  protocol.Frame
	fault  *protocol.Fault // nil = frame is the answer
}

func (m *meta) Act(self kernel.Self, act any) {
	switch a := act.(type) {
	case run:
		m.run(self, a)
	case halt:
		if cancel := m.running[a.number]; cancel != nil {
			cancel()
		}
	case dropIndex:
		old := m.index // a search that runs still has it
		m.index = &index{}
		self.Go(func(context.Context) any { old.close(); return nil })
	case over:
		delete(m.running, a.number)
	}
}

// run answers a call on a goroutine of its own.
func (m *meta) run(self kernel.Self, a run) {
	calling, cancel := context.WithCancel(context.Background())
	m.running[a.number] = cancel
	server, asked, processors := m.server, &asked{snapshot: a.snapshot, index: m.index, monitor: m.Monitor}, m.processors
	self.Go(func(ctx context.Context) (result any) {
		defer cancel()
		stop := context.AfterFunc(ctx, cancel)
		defer stop()
		defer func() {
			if cause := recover(); cause != nil {
				self.Logger().Error("a tool of the gateway's own panicked", "tool", a.request.Item, "error", cause)
				result = ran{number: a.number, fault: internalFault}
			}
		}()
		if a.request.Item != serverStatusTool { // that one waits for others
			select {
			case processors <- struct{}{}:
				defer func() { <-processors }()
			case <-calling.Done():
				return ran{number: a.number, fault: internalFault} // nobody wants the answer
			}
		}
		frame, fault := server.answer(calling, asked, a.request)
		return ran{a.number, frame, fault}
	})
}

var internalFault = &protocol.Fault{Name: protocol.InternalFault, Server: Name, Message: "the gateway's own tool failed; its log says why"}
