package session

import (
	"log/slog"
	"time"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol/downstream"
)

// ListenerOptions say which subscriptions/listen stream a listener serves. A listener lives as long as its stream.
type ListenerOptions struct {
	Name     string // unique under the gateway
	Exchange *downstream.Exchange
	View     catalog.Key
	Expect   int    // servers to wait for, up to startWait, before URIs are subscribed to; 0 = none
	Version  string // of the gateway, for serverInfo
	Registry kernel.Reference
	Log      *slog.Logger
}

// SpawnListener starts a listener under the gateway. One that panics is gone, and its client opens another stream.
func SpawnListener(parent kernel.Self, o ListenerOptions) kernel.Reference {
	options := kernel.SpawnOptions{Name: "listen/" + o.Name, Kind: "listen", Mailbox: mailbox, Restarts: -1, Log: o.Log}
	return kernel.SpawnChild(parent, options, func(self kernel.Self) kernel.Logic {
		return &listener{ListenerOptions: o, state: newListenState(o, self.Reference())}
	})
}

// listener is the shell: it carries out what step wants done.
type listener struct {
	ListenerOptions
	state *listenState
}

func (l *listener) Step(now time.Time, msg any, out []kernel.Effect) []kernel.Effect {
	return listenStep(l.state, now, msg, out)
}

func (l *listener) Act(self kernel.Self, act any) {
	switch a := act.(type) {
	case answer:
		a.x.Answer(a.frame, a.newline)
	case forward:
		a.x.Notify(a.frame, a.newline, a.weight, a.key)
	case accept:
		a.x.Accept()
	case deny:
		message.RefuseModern(a.x, a.fault)
	case watch:
		me := self.Reference()
		a.x.OnGone(func() { me.Tell(departed{seq: 0, x: a.x}) })
	}
}
