package actors

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
	"goblin-actor/protocol/upstream"
)

// staged is a server whose replicas each wait with some requests until they are let go.
type staged struct {
	*actortest.Server
	gates map[string]chan struct{} // by replica and method; not written to while it is open
}

func (s *staged) options() Options {
	return Options{Open: func(_ config.Server, replica int) (func(upstream.Sink) upstream.Link, string) {
		return func(sink upstream.Sink) upstream.Link { return &stagedLink{s.Server.Open(sink), s, replica} }, "stdio"
	}}
}

type stagedLink struct {
	upstream.Link
	of      *staged
	replica int
}

func (l *stagedLink) Send(o upstream.Outgoing) {
	if gate := l.of.gates[fmt.Sprint(l.replica, " ", o.Method)]; gate != nil {
		<-gate
	}
	l.Link.Send(o)
}

// Two replicas start side by side: whichever list came while the other one led, clients see a catalog.
func TestReplicasThatStartSideBySide(t *testing.T) {
	within(func(t *testing.T) {
		gates := map[string]chan struct{}{}
		order := []string{"0 initialize", "1 tools/list", "0 tools/list"}
		for _, name := range order {
			gates[name] = make(chan struct{})
		}
		server := &staged{Server: &actortest.Server{Tools: []string{"a"}, Resources: []string{"file:///a"}}, gates: gates}
		h := openOn(t, map[string]func(upstream.Sink) upstream.Link{"one": server.Open}, "stdio", server.options(),
			func(c *config.Config) { c.Servers[0].Replicas, c.Servers[0].Protocol = 2, "legacy" })
		defer h.close()
		synctest.Wait()
		for _, name := range order {
			close(gates[name])
			synctest.Wait()
		}
		h.initialize()
		if got := toolNames(t, h.one(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)); len(got) != 1 {
			t.Errorf("both are ready, and clients see the tools %v", got)
		}
		time.Sleep(time.Hour)
		if n := len(server.Received("tools/list")); n != 2 {
			t.Errorf("the replicas were asked %d times, want once each", n)
		}
	})(t)
}
