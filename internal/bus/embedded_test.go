package bus

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"goblin-actor/internal/cluster"
)

// lockedLog collects what several goroutines log.
type lockedLog struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lockedLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

func (l *lockedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// tlsOf returns a node's configuration for connections between nodes.
func tlsOf(secret, node string) func() *tls.Config {
	secrets, err := cluster.NewSecrets([]string{secret + strings.Repeat("x", cluster.MinSecret)})
	if err != nil {
		panic(err)
	}
	c, err := secrets.TLS(node)
	if err != nil {
		panic(err)
	}
	return func() *tls.Config { return c }
}

// newNode returns the options of a node at 127.0.0.host.
func newNode(t testing.TB, name string, host int) Options {
	t.Helper()
	o := Options{Cluster: "test", Node: name, Routes: freeAddress(t, host)}
	complete(&o)
	return o
}

// complete sets the options of a node that cannot be encoded as JSON.
func complete(o *Options) {
	o.TLS, o.Log = tlsOf("one", o.Node), slog.New(slog.DiscardHandler)
}

func freeAddress(t testing.TB, host int) string {
	t.Helper()
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.%d:0", host))
	if err != nil {
		t.Skipf("only Linux has this address without configuration: %v", err)
	}
	defer l.Close()
	return l.Addr().String()
}

// threeNodes returns the options of three nodes with each other as seeds.
func threeNodes(t testing.TB) []Options {
	t.Helper()
	nodes := []Options{newNode(t, "a", 1), newNode(t, "b", 2), newNode(t, "c", 3)}
	for i := range nodes {
		for j := range nodes {
			nodes[i].Seeds = append(nodes[i].Seeds, nodes[j].Routes)
		}
	}
	return nodes
}

func startNode(t testing.TB, o Options) *embedded {
	t.Helper()
	b, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b.(*embedded)
}

// within waits until ok returns true.
func within(t testing.TB, limit time.Duration, what string, ok func() bool) time.Duration {
	t.Helper()
	begin := time.Now()
	for !ok() {
		if time.Since(begin) > limit {
			t.Fatalf("%s: not within %v", what, limit)
		}
		time.Sleep(time.Millisecond)
	}
	return time.Since(begin)
}

// connected reports whether each node is connected to all others.
func connected(nodes ...*embedded) bool {
	for _, n := range nodes {
		if len(n.Status().Nodes) != len(nodes)-1 {
			return false
		}
	}
	return true
}

// Nodes find each other in whatever order they start, even if each knows at most one of the others.
func TestNodesFindEachOther(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		seeds [3][]int // of each node
		order []int    // of starts; nil = all at once
	}{
		"in order":         {[3][]int{{0, 1, 2}, {0, 1, 2}, {0, 1, 2}}, []int{0, 1, 2}},
		"backwards":        {[3][]int{{0, 1, 2}, {0, 1, 2}, {0, 1, 2}}, []int{2, 1, 0}},
		"at once":          {[3][]int{{0, 1, 2}, {0, 1, 2}, {0, 1, 2}}, nil},
		"one seed":         {[3][]int{{}, {0}, {0}}, []int{0, 1, 2}},
		"one seed at once": {[3][]int{{}, {0}, {0}}, nil},
		"chain":            {[3][]int{{}, {0}, {1}}, []int{2, 1, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			options := threeNodes(t)
			for i, seeds := range c.seeds {
				options[i].Seeds = nil
				for _, seed := range seeds {
					options[i].Seeds = append(options[i].Seeds, options[seed].Routes)
				}
			}
			nodes := make([]*embedded, 3)
			begin := time.Now()
			if c.order == nil {
				var starts sync.WaitGroup
				for i := range nodes {
					starts.Go(func() { nodes[i] = startNode(t, options[i]) })
				}
				starts.Wait()
			}
			for _, i := range c.order {
				nodes[i] = startNode(t, options[i])
			}
			started := time.Since(begin)
			within(t, 10*time.Second, "connecting", func() bool { return connected(nodes...) })
			t.Logf("started after %v, connected after %v", started, time.Since(begin))
			if got := nodes[1].Status().Nodes; !slices.Equal(got, []string{"a", "c"}) {
				t.Errorf("b is connected to %v", got)
			}
		})
	}
}

// A message reaches the subscriptions of all nodes. A question reaches the node that listens.
func TestMessagesBetweenNodes(t *testing.T) {
	options := threeNodes(t)
	a, b, c := startNode(t, options[0]), startNode(t, options[1]), startNode(t, options[2])
	within(t, 10*time.Second, "connecting", func() bool { return connected(a, b, c) })
	got := make(chan string, 10)
	for _, n := range []*embedded{a, b, c} {
		if _, err := n.Subscribe("beat", func(m Message) { got <- n.conn.Opts.Name + string(m.Payload) }); err != nil {
			t.Fatal(err)
		}
	}
	large := make([]byte, MaxPayload)
	if _, err := c.Subscribe("node.c", func(m Message) { m.Answer(large) }); err != nil {
		t.Fatal(err)
	}
	within(t, 5*time.Second, "an answer", func() bool {
		answer, err := a.Ask(t.Context(), "node.c", []byte("?"))
		return err == nil && len(answer) == MaxPayload
	})
	a.Publish("beat", []byte("1"))
	all := []string{receive(t, got), receive(t, got), receive(t, got)}
	if slices.Sort(all); !slices.Equal(all, []string{"a1", "b1", "c1"}) {
		t.Errorf("received %v", all)
	}
	c.Close()
	within(t, 5*time.Second, "c has left", func() bool { return errors.Is(quickAsk(a, "node.c"), ErrNoListener) })
}

// quickAsk asks a question that must be answered within 50 ms, and returns the error.
func quickAsk(b Bus, subject string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err := b.Ask(ctx, subject, nil)
	return err
}

// Nodes of another cluster, with another secret or without a certificate are refused, and so is a second node with the same name.
func TestStrangeNodes(t *testing.T) {
	for name, change := range map[string]func(*Options){
		"another secret": func(o *Options) { o.TLS = tlsOf("two", "b") },
		"another name":   func(o *Options) { o.Cluster = "other" },
		"a used name":    func(o *Options) { o.Node = "a" },
		"no certificate": func(o *Options) {
			c := o.TLS().Clone()
			c.Certificates = nil
			o.TLS = func() *tls.Config { return c }
		},
		"trusts everyone": func(o *Options) {
			mine, theirs := tlsOf("two", "b")().Clone(), tlsOf("one", "b")()
			mine.RootCAs, mine.ClientCAs = theirs.RootCAs, theirs.ClientCAs
			o.TLS = func() *tls.Config { return mine }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := new(lockedLog)
			first := newNode(t, "a", 1)
			first.Log = slog.New(slog.NewTextHandler(log, nil))
			second := newNode(t, "b", 2)
			second.Seeds = []string{first.Routes}
			change(&second)
			a, b := startNode(t, first), startNode(t, second)
			if _, err := a.Subscribe("x", func(m Message) { m.Answer(nil) }); err != nil {
				t.Fatal(err)
			}
			time.Sleep(300 * time.Millisecond)
			if !strings.Contains(log.String(), "NATS server") && name != "another name" {
				t.Errorf("the log does not mention the refused connection: %s", log)
			}
			if _, err := b.Ask(t.Context(), "x", nil); !errors.Is(err, ErrNoListener) || len(a.Status().Nodes)+len(b.Status().Nodes) > 0 {
				t.Errorf("%v; a is connected to %v, b to %v", err, a.Status().Nodes, b.Status().Nodes)
			}
		})
	}
}

// Connections that send junk to the routes port neither fill the log nor keep memory in use.
func TestStrangersAtTheRoutesPort(t *testing.T) {
	log := new(lockedLog)
	o := newNode(t, "a", 1)
	o.Log = slog.New(slog.NewTextHandler(log, nil))
	a := startNode(t, o)
	junk := map[string][]byte{
		"http": []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), "nats": []byte("INFO {}\r\nCONNECT {}\r\nPING\r\n"),
		"zeros": make([]byte, 64<<10), "nothing": nil, "line": bytes.Repeat([]byte("a"), 1<<20),
	}
	attack := func(n int) {
		var all sync.WaitGroup
		for range n {
			for _, bytes := range junk {
				all.Go(func() {
					conn, err := net.Dial("tcp", o.Routes)
					if err != nil {
						return
					}
					defer conn.Close()
					_ = conn.SetDeadline(time.Now().Add(50 * time.Millisecond))
					_, _ = conn.Write(bytes)
					_, _ = conn.Read(make([]byte, 1))
				})
			}
		}
		all.Wait()
	}
	attack(20)
	before := heap()
	for range 10 {
		attack(20)
	}
	within(t, 5*time.Second, "closing", func() bool { return a.servers[0].NumRoutes() == 0 })
	if grown := heap() - before; grown > 2<<20 {
		t.Errorf("the heap grew by %d bytes", grown)
	}
	if lines := strings.Count(log.String(), "\n"); lines > 30 || lines == 0 {
		t.Errorf("%d lines in the log:\n%s", lines, log)
	}
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// Close ends every goroutine of the bus and frees the port.
func TestCloseLeavesNothing(t *testing.T) {
	for name, voters := range map[string][]string{"node": nil, "only voter": {"a"}, "one of three voters": {"a", "b", "c"}} {
		t.Run(name, func(t *testing.T) {
			o := newNode(t, "a", 1)
			o.Seeds, o.Voters, o.Store = []string{o.Routes, "localhost:1"}, voters, t.TempDir()
			startNode(t, o).Close()
			before := runtime.NumGoroutine()
			for range 3 {
				b := startNode(t, o)
				if _, err := b.Subscribe("x", func(Message) {}); err != nil {
					t.Fatal(err)
				}
				_, _ = b.Ask(t.Context(), "y", nil)
				if _, err := b.Records().Watch("x", func(Record) {}); err != nil && voters != nil {
					t.Fatal(err)
				}
				b.Close()
			}
			begin := time.Now()
			for runtime.NumGoroutine() > before {
				if time.Since(begin) > 5*time.Second {
					buf := make([]byte, 1<<20)
					t.Fatalf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, buf[:runtime.Stack(buf, true)])
				}
				time.Sleep(time.Millisecond)
			}
		})
	}
}

// Other processes of the machine cannot use the port for clients.
func TestClientsNeedTheToken(t *testing.T) {
	for name, voters := range map[string][]string{"node": nil, "only voter": {"a"}} {
		o := newNode(t, "a", 1)
		o.Voters, o.Store = voters, t.TempDir()
		a := startNode(t, o)
		for _, option := range []nats.Option{nats.Name("anonymous"), nats.Token("x"), nats.UserInfo("node", "x")} {
			if conn, err := nats.Connect(a.servers[0].ClientURL(), option); !errors.Is(err, nats.ErrAuthorization) {
				t.Errorf("%s: %v, %v", name, conn, err)
			}
		}
		if len(a.servers) > 1 && a.servers[1].Addr() != nil {
			t.Errorf("the server for records listens on %v", a.servers[1].Addr())
		}
	}
}

func TestBadOptions(t *testing.T) {
	busy := startNode(t, newNode(t, "a", 1))
	for name, c := range map[string]struct {
		change func(*Options)
		want   string
	}{
		"cluster":      {func(o *Options) { o.Cluster = "a b" }, `cluster name "a b"`},
		"node":         {func(o *Options) { o.Node = "../b" }, `node name "../b"`},
		"port":         {func(o *Options) { o.Routes = "127.0.0.1:http" }, `port "http" is not a number`},
		"no port":      {func(o *Options) { o.Routes = "127.0.0.1" }, "missing port"},
		"no TLS":       {func(o *Options) { o.TLS = nil }, "nodes connect with TLS only"},
		"seed":         {func(o *Options) { o.Seeds = []string{"nodes"} }, "seed: address nodes: missing port"},
		"two voters":   {func(o *Options) { o.Voters = []string{"b", "c"} }, "2 voters; only 1, 3 or 5 are possible"},
		"no directory": {func(o *Options) { o.Voters = []string{"b"} }, "voter b needs a directory"},
		"no such path": {func(o *Options) { o.Voters, o.Store = []string{"b"}, "/dev/null/x" }, "directory of the records"},
		"voter in use": {func(o *Options) {
			o.Voters, o.Store, o.Routes = []string{"b"}, t.TempDir(), busy.servers[0].ClusterAddr().String()
		}, "address already in use"},
		"port in use":  {func(o *Options) { o.Routes = busy.servers[0].ClusterAddr().String() }, "address already in use"},
		"foreign host": {func(o *Options) { o.Routes = "192.0.2.1:8732" }, "cannot assign requested address"},
	} {
		t.Run(name, func(t *testing.T) {
			o := newNode(t, "b", 1)
			c.change(&o)
			b, err := Start(o)
			if err == nil {
				b.Close()
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// Questions are answered fast, also by another node. A question without listeners fails at once.
func BenchmarkAsk(b *testing.B) {
	options := threeNodes(b)
	x, y := startNode(b, options[0]), startNode(b, options[1])
	within(b, 10*time.Second, "connecting", func() bool { return connected(x, y) })
	for _, n := range []*embedded{x, y} {
		if _, err := n.Subscribe("node."+n.conn.Opts.Name, func(m Message) { m.Answer(m.Payload) }); err != nil {
			b.Fatal(err)
		}
	}
	for _, subject := range []string{"node.a", "node.b", "node.none"} {
		within(b, 5*time.Second, "subscribing", func() bool {
			_, err := x.Ask(context.Background(), subject, nil)
			return (err == nil) == (subject != "node.none")
		})
		b.Run(subject, func(b *testing.B) {
			for b.Loop() {
				_, _ = x.Ask(context.Background(), subject, []byte("question"))
			}
		})
	}
}
