package subscription

import (
	"log/slog"
	"time"

	"goblin-actor/actors/clientsubs"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/actors/reply"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/seal"
)

// Options configure a subscription stream. The actor lives as long as the stream.
type Options struct {
	Name     string // of its actor; unique under the gateway
	Exchange *downstream.Exchange
	Admitted message.Admitted // the client's principal and view
	Expect   int              // servers to wait for, up to StartWait, before URIs are subscribed to; 0 = none
	PassOn   message.PassOn   // passes the request on if the gateway stops before the stream is acknowledged
	Sealer   *seal.Sealer
	Registry kernel.Reference
	Log      *slog.Logger
}

// sessionID returns what identifies the stream in the status, and the actor among the children of the gateway.
func (o *Options) sessionID() string { return "listen/" + o.Name }

// mailbox is the capacity of a stream's mailbox, in messages.
const mailbox = 512

// Spawn starts a subscription stream under the gateway. It is not restarted after a panic: its client opens another stream.
func Spawn(parent kernel.Self, o Options) kernel.Reference {
	options := kernel.SpawnOptions{Name: o.sessionID(), Kind: "listen", Mailbox: mailbox, Restarts: -1, Log: o.Log}
	return kernel.SpawnChild(parent, options, func(self kernel.Self) kernel.Logic {
		return &subscription{Options: o, state: newState(o, self.Reference())}
	})
}

// subscription is the shell: it executes the effects of step.
type subscription struct {
	Options
	state *state
}

type (
	update struct { // notifies the client of a change
		reply.Notify
		subscription *clientsubs.Subscription
	}
	report struct{ message.Inspect }
)

func (l *subscription) Step(now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	return step(l.state, now, msg, out)
}

func (l *subscription) Act(self kernel.Self, act any) {
	switch a := act.(type) {
	case reply.Answer:
		a.X.Answer(a.Message)
	case reply.Notify:
		a.X.Notify(a.Message, a.Weight, a.Key)
	case update:
		a.subscription.Count(time.Now(), a.X.Notify(a.Message, a.Weight, a.Key))
	case report:
		a.Reply(l.state.report())
	case reply.Accept:
		a.X.Accept()
	case reply.Refuse:
		if !l.PassOn.Passed(a.Fault) {
			message.RefuseModern(a.X, a.Fault)
		}
	case reply.Watch:
		me := self.Reference()
		a.X.OnGone(func() { me.Tell(reply.Departed{Seq: 0, X: a.X}) })
	}
}
