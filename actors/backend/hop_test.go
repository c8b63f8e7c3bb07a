package backend

import (
	"fmt"
	"testing"
	"time"

	"goblin-actor/actors/message"
	"goblin-actor/internal/config"
)

// A call to a server of another node says whose it is. A connection of one principal need not.
func TestHopHeaders(t *testing.T) {
	for _, c := range []struct{ principal, isolation, run, want string }{
		{"key:ann@1", "shared", "b", "[{Goblin-Node-Holder key:ann@1} {Goblin-Node-Key lI_mA_YdwDa1xZbc}]"},
		{"", "shared", "b", "[{Goblin-Node-Key lI_mA_YdwDa1xZbc}]"},
		{"key:ann@1", "principal", "b", "[{Goblin-Node-Key lI_mA_YdwDa1xZbc}]"},
		{"key:ann@1", "session", "b", "[{Goblin-Node-Key lI_mA_YdwDa1xZbc}]"},
		{"key:ann@1", "session", "each", "[]"},
	} {
		caller := &message.Caller{Principal: c.principal, ClientKey: "client"}
		if got := fmt.Sprint(appendBehalf(nil, caller, &config.Server{Isolation: c.isolation, Run: c.run})); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

// A backend that waits connects when the node of its server joins. In other phases nothing happens.
func TestNodeJoinedConnects(t *testing.T) {
	for _, phase := range []message.Phase{message.Idle, message.Connecting, message.Ready, message.Waiting, message.Draining} {
		o := readyWith(t, `{}`)
		o.s.life.phase, o.s.life.failures = phase, 7
		opens := false
		for _, e := range step(o.s, time.Unix(9, 0), message.NodeJoined{Node: "b"}, nil) {
			_, is := e.Act.(open)
			opens = opens || is
		}
		if want := phase == message.Waiting; opens != want || (o.s.life.failures == 0) != want {
			t.Errorf("phase %s: opens %v, failures %d", phase, opens, o.s.life.failures)
		}
	}
}

// When the node of a server is lost, one attempt is made at once. Quick attempts follow only for other servers.
func TestPausesAfterNodeIsLost(t *testing.T) {
	for hop, most := range map[string]time.Duration{"": 2 * quickRetryPause, "b": time.Minute} {
		o := readyWith(t, `{}`)
		o.s.server.Hop, o.s.link.ownsServer, o.s.conn.readySince = hop, false, time.Unix(0, 0)
		o.s.server.Reconnect = config.Reconnect{Min: time.Second, Max: time.Minute}
		now := time.Unix(0, 0).Add(steadyTime)
		first := o.s.pause(now, message.Waiting)
		o.s.life.phase = message.Handshaking
		next := o.s.pause(now, message.Waiting)
		if first != 0 || next > most || hop != "" && next < 100*time.Millisecond {
			t.Errorf("node %q: pauses %v and %v", hop, first, next)
		}
	}
}
