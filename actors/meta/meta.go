package meta

import (
	"context"
	"errors"
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

// Name is the name of the gateway's own server.
const Name = namespace.OwnServer

// Options configures the actor.
type Options struct {
	Registry kernel.Reference // publishes the snapshots
	Monitor  kernel.Reference // reports the state of the servers
	Log      *slog.Logger
}

// Spawn starts the actor as a child of the gateway. It is restarted after up to ten panics within a minute. The next
// panic stops it for good.
func Spawn(parent kernel.Self, o Options) kernel.Reference {
	options := kernel.SpawnOptions{Name: "meta", Kind: "meta", Mailbox: 2 * maxWaiting, Restarts: 10, Within: time.Minute, Log: o.Log}
	return kernel.SpawnChild(parent, options, func(self kernel.Self) kernel.Logic {
		return &meta{Options: o, state: newState(o.Registry, self.Reference()), server: newServer(), index: &index{}, running: map[uint64]context.CancelFunc{}, processors: make(chan struct{}, processors())}
	})
}

// Server returns the description of the actor for the registry. Its Order precedes all other servers, so its tools
// keep their names whichever servers are configured.
func Server(self kernel.Reference) catalog.Server {
	rules := config.DefaultServer()
	rules.Name, rules.Order, rules.Description = Name, -1, "search and use the items of all servers"
	return catalog.Server{
		Name: Name, Order: rules.Order, Pool: self, Life: 1, Rules: rules, Protocol: protocol.LatestLegacy, Capabilities: []byte(`{"tools":{}}`),
		Settled: true, Internal: true,
	}
}

// meta is the actor's shell. It runs the calls on goroutines.
type meta struct {
	Options
	state   *state
	server  *server
	index   *index
	running map[uint64]context.CancelFunc // by call number

	processors chan struct{} // semaphore that limits the calls that compute
}

// processors returns how many calls may compute at the same time: half of the processors. The others remain free for
// calls to servers.
func processors() int { return max(1, runtime.GOMAXPROCS(0)/2) }

func (m *meta) Step(now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	return step(m.state, now, msg, out)
}

// The actions that step requests from the shell.
type (
	run struct {
		number   uint64
		request  *message.Request
		snapshot *catalog.Snapshot
	}
	cancelRun struct{ number uint64 } // the call was canceled
	dropIndex struct{}
)

// ran reports that a call has ended.
type ran struct {
	number uint64
	frame  protocol.Frame
	fault  *protocol.Fault // nil if frame is the answer
}

func (m *meta) Act(self kernel.Self, act any) {
	switch a := act.(type) {
	case run:
		m.run(self, a)
	case cancelRun:
		if cancel := m.running[a.number]; cancel != nil {
			cancel()
		}
	case dropIndex:
		old := m.index // a running search may still use it
		m.index = &index{}
		self.Go(func(context.Context) any { old.close(); return nil })
	case release:
		delete(m.running, a.number)
	}
}

// run answers a call on its own goroutine.
func (m *meta) run(self kernel.Self, a run) {
	calling, cancel := context.WithCancel(context.Background())
	m.running[a.number] = cancel
	server, with, processors := m.server, &access{snapshot: a.snapshot, index: m.index, monitor: m.Monitor}, m.processors
	self.Go(func(ctx context.Context) (result any) {
		defer cancel()
		stop := context.AfterFunc(ctx, cancel)
		defer stop()
		defer func() {
			if cause := recover(); cause != nil {
				self.Logger().Error("a tool of the gateway panicked", "tool", a.request.Item, "error", cause)
				result = ran{number: a.number, fault: internalFault}
			}
		}()
		if a.request.Item != serverStatusTool { // it waits for the monitor and does not compute
			select {
			case processors <- struct{}{}:
				defer func() { <-processors }()
			case <-calling.Done():
				return ran{number: a.number, fault: internalFault} // canceled: the answer is discarded
			}
		}
		frame, err := server.answer(calling, with, a.request)
		return ran{a.number, frame, faultOf(self.Logger(), a.request.Item, err)}
	})
}

// faultOf returns the error that the client gets. If err is not meant for clients, faultOf logs it.
func faultOf(log *slog.Logger, tool string, err error) *protocol.Fault {
	if err == nil {
		return nil
	}
	if fault, is := errors.AsType[*protocol.Fault](err); is {
		return fault
	}
	log.Error("a tool of the gateway failed", "tool", tool, "error", err)
	return internalFault
}

var internalFault = &protocol.Fault{Name: protocol.InternalFault, Server: Name, Message: "a tool of the gateway failed; the gateway's log has the cause"}
