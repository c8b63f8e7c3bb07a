package actors

import (
	"context"
	"time"

	"goblin-actor/actors/message"
	"goblin-actor/actors/session"
	"goblin-actor/internal/cluster"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/rawjson"
)

// A session of a cluster may run on several nodes: at its home, and as a guest on others. This file connects them. A guest
// asks the home whether the session lives. All of them tell each other about events of the session with hints, which the
// membership actor sends and receives.

const (
	// askTime is how long a guest waits for the answer of its session's home. Without an answer, it serves its client.
	askTime = 300 * time.Millisecond

	// maxAsking limits the guests of this node that wait for an answer at the same time. Further ones do not ask.
	maxAsking = 256
)

// askHome returns the function that asks the home of a session about it, on behalf of a guest. The function blocks for at most
// askTime. It is nil if the nodes have no bus.
func (g *Gateway) askHome() session.AskHome {
	if g.bus == nil {
		return nil
	}
	return g.ask
}

func (g *Gateway) ask(ctx context.Context, id, holder string) session.HomeAnswer {
	defer g.asking.Add(-1)
	if g.asking.Add(1) > maxAsking {
		return session.HomeAnswer{}
	}
	view := g.cluster.Members.View()
	home := view.Resolve(elsewhere{Gateway: g}.home(id))
	if home == nil { // this node has become the home, or the home is gone
		return session.HomeAnswer{}
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	q := cluster.Query{Cluster: g.cluster.Name, From: view.Self, Kind: cluster.QuerySession, Session: id, Holder: holder}
	payload, err := g.bus.Ask(ctx, cluster.SubjectOf(home.Incarnation), q.Encode())
	if err != nil {
		return session.HomeAnswer{}
	}
	a, err := cluster.ParseAnswer(payload)
	if err != nil || a.Cluster != g.cluster.Name {
		return session.HomeAnswer{}
	}
	return session.HomeAnswer{Life: a.Session, Level: levelNamed(a.Level)}
}

// answerGuest answers the question of another node about a session. It implements membership.AnswerSession.
func (g *Gateway) answerGuest(id, holder string, reply func(life cluster.SessionLife, level string)) {
	opened, _ := cluster.HomeOf(id)
	m := message.GuestAsks{Holder: holder, Reply: func(life cluster.SessionLife, level protocol.Level) {
		if life == cluster.SessionEnded && (opened != g.cluster.Members.Self() || g.stopping.Load()) {
			life = cluster.SessionUnknown // the session may live at another node
		}
		reply(life, string(level))
	}}
	ref, ok := g.session(id)
	if ok {
		ref.Tell(m)
		return
	}
	g.self.Tell(message.AskEnded{ID: id, Reply: func(ended bool) {
		if ended {
			reply(cluster.SessionEnded, "")
			return
		}
		m.Reply(cluster.SessionEnded, protocol.LevelNone)
	}})
}

// heardHint passes a hint of another node on to the session that it is about, if it runs here.
func (g *Gateway) heardHint(h *cluster.Hint) {
	if h.Kind == cluster.HintEnded {
		g.rememberEnded(h)
	}
	if h.Kind == cluster.HintMentioned {
		if ref, ok := g.system.Lookup("gateway/pool/" + h.Server); ok {
			ref.Tell(message.PeerMentioned{URIs: h.URIs})
		}
		return
	}
	if ref, ok := g.session(h.Session); ok {
		ref.Tell(message.SessionHint{Kind: h.Kind, Holder: h.Holder, Request: h.Request, Level: levelNamed(h.Level)})
	}
}

// peerCatalogsChanged notifies the clients of this node, because other nodes have changed their catalogs.
func (g *Gateway) peerCatalogsChanged(kinds [protocol.ItemKinds]bool) {
	if ref, ok := g.system.Lookup("gateway/registry"); ok {
		ref.Tell(message.PeerCatalogsChanged{Kinds: kinds})
	}
}

// levelNamed returns the log level with that name, or LevelNone if there is none.
func levelNamed(name string) protocol.Level { return protocol.LevelOf(rawjson.Quote(name)) }

// cancel handles a cancellation in a session whose home is another node. The request that it cancels may run on any node.
func (e elsewhere) cancel(home string, x *downstream.Exchange, admitted message.Admitted) {
	id := x.Origin.SessionID
	if ref, ok := e.session(id); ok {
		ref.TellInline(message.ClusterInbound{Inbound: message.Inbound{Exchange: x, Admitted: admitted}, Elsewhere: e.again()})
		return
	}
	facts, ok := e.owned(&x.Origin, &admitted, x.Frame.MethodText())
	switch {
	case !ok:
		message.RefuseNoSession(x)
	case facts.Partial || facts.Path != x.Origin.Path:
		e.relay(home, x, admitted)
	default:
		if h, ok := session.CancelHint(id, admitted.Principal(), x.Params.RequestID.Of(x.Frame.Raw)); ok {
			e.tellMembership(message.TellNodes{Hint: h})
		}
		x.Accept()
	}
}

// isCancellation reports whether a message is a cancellation outside of a batch.
func isCancellation(x *downstream.Exchange) bool {
	return x.Batch == nil && x.Frame.Kind == protocol.KindNotification && x.Frame.Method == protocol.NotificationCancelled
}
