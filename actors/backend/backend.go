package backend

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
	"goblin-actor/internal/status"
	"goblin-actor/protocol/upstream"
)

// Options configures a backend.
type Options struct {
	Server    config.Server
	Replica   int
	Name      string // of the connection, for operators: <replica>.<number>
	Whose     string // the only client or principal that it serves, for operators; "" = several
	Member    string // name of its entry in a group; "" = the server is not a group
	Node      string // names this gateway to other gateways; never empty
	Pool      kernel.Reference
	Open      func(upstream.Sink) upstream.Link // opens one connection; called for every incarnation
	Transport string                            // stdio | embedded | http | sse
	Announce  message.CapabilitySet             // client capabilities declared to the server
	Catalog   bool                              // it fetches the server's lists
	Legacy    bool                              // only legacy versions are used, regardless of the configuration
	Before    uint64                            // number of connections that the replaced backend has made
	Known     message.KnownEra                  // the remembered era of the server
	Metrics   *status.ServerMetrics             // nil = no metrics
	Links     *Links                            // counts open connections
	Log       *slog.Logger
	Seed      uint64 // of the backoff's jitter
}

// mailbox is the maximum number of waiting messages. The pool limits calls. The connection's reader blocks while the
// mailbox has no room for its next event (TellWait).
const mailbox = 1024

// Spawn starts a backend as a child of its pool. It is restarted after up to ten panics within a minute. The next panic
// stops it for good, and the pool treats it as lost.
func Spawn(parent kernel.Self, name string, o Options) kernel.Reference {
	connections := &o.Before // survives a restart, so that an old connection's frames are never taken for a new one's
	options := kernel.SpawnOptions{Name: name, Kind: "backend", Mailbox: mailbox, Restarts: 10, Within: time.Minute, Log: o.Log}
	return kernel.SpawnChild(parent, options, func(self kernel.Self) kernel.Logic {
		return &backend{Options: o, state: newState(o, self.Reference(), connections), runInline: self.RunInline}
	})
}

// backend is the actor's shell. It executes the effects of step.
type backend struct {
	Options
	state     *state
	link      upstream.Link               // nil if none is open
	runInline func(job upstream.Job) bool // runs a job on the goroutine of the inline call that is being handled; see kernel.Self.RunInline
}

func (b *backend) Step(now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	return step(b.state, now, msg, out)
}

type (
	open         struct{ incarnation }
	write        struct{ out upstream.Outgoing }
	cancelTicket struct{ ticket uint64 }
	listen       struct{}
	setVersion   struct{ version string }
	closeLink    struct{ grace time.Duration }
)

func (b *backend) Act(self kernel.Self, act any) {
	switch a := act.(type) {
	case traced:
		a.trace.On(a.connection, a.id)
	case write:
		b.Metrics.Bytes(status.Out, len(a.out.Frame))
		a.out.RunInline = b.runInline
		b.link.Send(a.out)
	case cancelTicket:
		b.link.Cancel(a.ticket)
	case open:
		b.open(self, a.incarnation)
	case listen:
		b.link.Listen()
	case setVersion:
		b.link.SetVersion(a.version)
	case closeLink:
		if b.link != nil {
			b.link.Close(a.grace)
			b.link = nil
		}
	}
}

// open opens a connection whose events carry its incarnation. The connection is closed when the actor restarts or
// stops.
func (b *backend) open(self kernel.Self, n incarnation) {
	me := self.Reference()
	done := b.Links.opened()
	closed, end := context.WithCancel(context.Background())
	var began time.Time // one goroutine at a time reports events
	link := b.Open(func(ctx context.Context, e upstream.Event) error {
		switch e := e.(type) {
		case upstream.Opened:
			began = time.Now()
		case upstream.Received:
			b.Metrics.Bytes(status.In, len(e.Frame.Raw))
		case upstream.Closed:
			b.Metrics.SessionEnded(b.Transport, "", began)
			end()
			done()
		}
		return me.TellWait(ctx, linkEvent{n, e})
	})
	b.link = link
	self.Go(func(ctx context.Context) any {
		select {
		case <-ctx.Done():
			link.Close(0)
		case <-closed.Done():
		}
		return nil
	})
}

// jitter returns a random pause between d/2 and d.
func jitter(r *rand.Rand, d time.Duration) time.Duration {
	if d <= 1 {
		return d
	}
	return d/2 + time.Duration(r.Int64N(int64(d/2)+1))
}

var _ kernel.Logic = (*backend)(nil)
