package actors

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/actortest"
	"goblin-actor/internal/bus"
	"goblin-actor/internal/cluster"
)

// natsBus is the bus of a node with an embedded NATS server.
type natsBus struct{ bus.Bus }

func (b natsBus) Subscribe(subject string, handle func([]byte, func([]byte))) (func(), error) {
	return b.Bus.Subscribe(subject, func(m bus.Message) { handle(m.Payload, m.Answer) })
}

func (b natsBus) Ask(ctx context.Context, subject string, question []byte) ([]byte, error) {
	answer, err := b.Bus.Ask(ctx, subject, question)
	if errors.Is(err, bus.ErrNoListener) {
		err = ErrNoNode
	}
	return answer, err
}

// freeAddress returns an address on which nothing listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// eventually returns how long it takes until ok returns true.
func eventually(t *testing.T, what string, ok func() bool) time.Duration {
	t.Helper()
	began := time.Now()
	for !ok() {
		if time.Since(began) > 20*time.Second {
			t.Fatalf("%s: not within 20 seconds", what)
		}
		time.Sleep(time.Millisecond)
	}
	return time.Since(began)
}

// Three nodes with real buses find each other, tell each other what is revoked, and give up one whose connections have
// broken: at once if a connection to it was refused, else when it is silent.
func TestMembersOverNATS(t *testing.T) {
	secrets, err := cluster.NewSecrets([]string{strings.Repeat("x", cluster.MinSecret)})
	if err != nil {
		t.Fatal(err)
	}
	var seeds []string
	for range 4 {
		seeds = append(seeds, freeAddress(t))
	}
	revoked := make(chan string, 10)
	buses := map[string]bus.Bus{}
	start := func(i int) *Gateway {
		name := string(rune('a' + i))
		config, err := secrets.TLS(name)
		if err != nil {
			t.Fatal(err)
		}
		b, err := bus.Start(bus.Options{Cluster: "prod", Node: name, Routes: seeds[i], Seeds: seeds, TLS: func() *tls.Config { return config }, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		buses[name] = b
		t.Cleanup(b.Close)
		g := startMember(t, actortest.NewNetwork(ErrNoNode), name, func(c *Cluster) {
			c.Bus = natsBus{b}
			c.Revoked = func(holders map[string]bool) { revoked <- fmt.Sprint(name, holders) }
		})
		t.Cleanup(func() {
			if err := g.Stop(context.Background(), time.Second); err != nil {
				t.Error(err)
			}
		})
		return g
	}
	see := func(n int, nodes ...*Gateway) func() bool {
		return func() bool {
			for _, g := range nodes {
				if v := g.cluster.Members.View(); len(v.Members) != n || !v.Ready() {
					return false
				}
			}
			return true
		}
	}
	a, b, c := start(0), start(1), start(2)
	t.Logf("three nodes that start together are ready after %v", eventually(t, "start", see(3, a, b, c)))
	began := time.Now()
	a.RevokeHolders([]string{"key:x"})
	for range 3 {
		if got := <-revoked; !strings.Contains(got, "map[key:x:true]") {
			t.Errorf("%s", got)
		}
	}
	t.Logf("a revocation is known to all after %v", time.Since(began))
	d := start(3)
	t.Logf("a fourth node is ready after %v", eventually(t, "join", see(4, a, b, c, d)))
	<-revoked
	was := d.cluster.Members.Self()
	buses["d"].Close()
	a.NodeRefused(was)
	t.Logf("a node that is gone and was refused is given up after %v", eventually(t, "refused", func() bool {
		a.NodeRefused(was)
		return see(3, a, b, c)()
	}))
	buses["c"].Close()
	silent := eventually(t, "silent", see(2, a, b))
	t.Logf("a node that is silent is given up after %v", silent)
	if silent < cluster.SilentAfter-cluster.BeatEvery {
		t.Errorf("a node was given up after %v", silent)
	}
}
