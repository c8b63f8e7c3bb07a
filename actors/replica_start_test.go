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

// stagedServer is a server whose replicas hold back some requests until they are released.
type stagedServer struct {
	*actortest.Server
	gates map[string]chan struct{} // by replica and method; read-only once the server is open
}

func (s *stagedServer) options() Options {
	return Options{Open: func(_ config.Server, replica int) (func(upstream.Sink) upstream.Link, string) {
		return func(sink upstream.Sink) upstream.Link { return &stagedLink{s.Server.Open(sink), s, replica} }, "stdio"
	}}
}

type stagedLink struct {
	upstream.Link
	of      *stagedServer
	replica int
}

func (l *stagedLink) Send(o upstream.Outgoing) {
	if gate := l.of.gates[fmt.Sprint(l.replica, " ", o.Method)]; gate != nil {
		<-gate
	}
	l.Link.Send(o)
}

// Two replicas start at the same time. Clients see a catalog, whichever replica's lists arrive first.
func TestReplicasStartAtTheSameTime(t *testing.T) {
	inBubble(func(t *testing.T) {
		gates := map[string]chan struct{}{}
		order := []string{"0 initialize", "1 tools/list", "0 tools/list"}
		for _, name := range order {
			gates[name] = make(chan struct{})
		}
		server := &stagedServer{Server: &actortest.Server{Tools: []string{"a"}, Resources: []string{"file:///a"}}, gates: gates}
		h := startStdioWith(t, map[string]func(upstream.Sink) upstream.Link{"one": server.Open}, "stdio", server.options(),
			func(c *config.Config) { c.Servers[0].Replicas, c.Servers[0].Protocol = 2, "legacy" })
		defer h.close()
		synctest.Wait()
		for _, name := range order {
			close(gates[name])
			synctest.Wait()
		}
		h.initialize()
		if got := toolNames(t, h.roundTrip(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)); len(got) != 1 {
			t.Errorf("both replicas are ready, but the tools are %v", got)
		}
		time.Sleep(time.Hour)
		if n := len(server.Received("tools/list")); n != 2 {
			t.Errorf("the replicas got %d list requests, want one each", n)
		}
	})(t)
}
