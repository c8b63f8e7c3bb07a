package actors

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"testing"
	"time"

	"goblin-actor/actors/admission"
	"goblin-actor/actors/catalog"
	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/upstream"
	"goblin-actor/protocol/upstream/pipe"
)

// BenchmarkProject measures the cost of a project. In one process, rounds of calls to /mcp and to /p/alpha/mcp alternate over
// loopback. The result is the median ratio of the rounds. "itself" compares /mcp with itself and shows the noise.
func BenchmarkProject(b *testing.B) {
	const round = 200 // calls
	at := serveForBench(b)
	call := func(c *benchConn) { c.call() }
	for name, path := range map[string]string{"itself": "/mcp", "alpha": "/p/alpha/mcp"} {
		b.Run(name, func(b *testing.B) {
			conns := []*benchConn{dialBench(b, at, "/mcp"), dialBench(b, at, path)}
			var ratios []float64
			measure := func(c *benchConn) float64 {
				began := time.Now()
				for range round {
					call(c)
				}
				return float64(time.Since(began))
			}
			b.ReportAllocs()
			n := 0
			for b.Loop() { // a round of each, in alternating order
				var took [2]float64
				for i := range 2 {
					which := (i + n) % 2
					took[which] = measure(conns[which])
				}
				ratios = append(ratios, took[1]/took[0])
				n++
			}
			slices.Sort(ratios)
			b.ReportMetric(ratios[len(ratios)/2], "ratio")
		})
	}
}

// serveForBench starts a gateway on loopback with ten projects and one server, which has 1000 tools. It returns the address.
func serveForBench(b *testing.B) string {
	b.Helper()
	tools := make([]string, 1000)
	for i := range tools {
		tools[i] = fmt.Sprintf("tool%d", i)
	}
	fake := &actortest.Server{Tools: tools, Handle: func(p *pipe.Peer, _ protocol.Frame, id []byte) {
		_ = p.Send(protocol.AppendResult(nil, id, []byte(`{"content":[{"type":"text","text":"some text that makes it about two hundred bytes long, which is typical of results"}]}`)))
	}}
	projects := []config.Project{{Name: "alpha", Tools: config.Filter{Deny: []string{"*9", "*_hidden"}}}}
	for i := range 9 {
		projects = append(projects, config.Project{Name: fmt.Sprintf("p%d", i), Servers: []string{"one"}})
	}
	return serveOnLoopback(b, fake.Open, func(c *config.Config) { c.Projects = projects })
}

// serveOnLoopback starts a gateway on loopback with one server, called one, and returns the address.
func serveOnLoopback(tb testing.TB, open func(upstream.Sink) upstream.Link, change func(*config.Config)) string {
	tb.Helper()
	cfg := config.Default()
	server := config.DefaultServer()
	server.Name, server.Written, server.Command = "one", "one", "fake"
	cfg.Servers = []config.Server{server}
	change(&cfg)
	log := slog.New(slog.DiscardHandler)
	g, err := Start(&cfg, Options{Version: "test", Log: log,
		Open: func(config.Server, int) (func(upstream.Sink) upstream.Link, string) { return open, "stdio" }})
	if err != nil {
		tb.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	s := downstream.NewServer(g.Front(), downstream.Options{MaxMessageBytes: 1 << 20, Budget: g.Budget()}, log)
	go func() { _ = s.Serve(l) }()
	tb.Cleanup(func() { _ = g.Stop(context.Background(), 0); _ = s.Shutdown(context.Background()) })
	for began := time.Now(); time.Since(began) < 5*time.Minute; time.Sleep(time.Millisecond) {
		if status, err := g.Status(tb.Context()); err == nil && status.Ready {
			return l.Addr().String()
		}
	}
	tb.Fatal("the gateway did not become ready")
	return ""
}

const benchCall = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"one_tool500","arguments":{"a":1,"b":"some text that makes it about two hundred bytes long, typical of calls"}}}`

// benchConn is a keep-alive connection. After begin it has a session. Its calls do not allocate.
type benchConn struct {
	tb       testing.TB
	conn     net.Conn
	r        *bufio.Reader
	at, path string
	session  string
	request  []byte
	body     []byte
}

func dialBench(b *testing.B, at, path string) *benchConn {
	b.Helper()
	c := connect(b, at, path)
	c.begin()
	c.request = c.post("", benchCall)
	return c
}

func connect(tb testing.TB, at, path string) *benchConn {
	tb.Helper()
	conn, err := net.Dial("tcp", at)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { conn.Close() })
	return &benchConn{tb: tb, conn: conn, r: bufio.NewReaderSize(conn, 1<<16), at: at, path: path}
}

// begin initializes a session.
func (c *benchConn) begin() {
	c.session = ""
	c.request = c.post("", initializeFrame)
	c.call()
}

// post returns a request of the session. The parameter more holds additional header lines.
func (c *benchConn) post(more, body string) []byte {
	if c.session != "" {
		more += "Mcp-Session-Id: " + c.session + "\r\n"
	}
	return fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n%sContent-Length: %d\r\n\r\n%s",
		c.path, c.at, more, len(body), body)
}

// call sends the request and returns the body of the response, which is valid until the next call.
func (c *benchConn) call() []byte {
	if _, err := c.conn.Write(c.request); err != nil {
		c.tb.Fatal(err)
	}
	n := c.head()
	if n > cap(c.body) {
		c.body = make([]byte, n)
	}
	if _, err := io.ReadFull(c.r, c.body[:n]); err != nil {
		c.tb.Fatal(err)
	}
	return c.body[:n]
}

// head reads the header of a successful response and returns the length of its body.
func (c *benchConn) head() (length int) {
	for first := true; ; first = false {
		line, err := c.r.ReadSlice('\n')
		if err != nil || first && !bytes.HasPrefix(line, []byte("HTTP/1.1 20")) {
			rest, _ := c.r.Peek(c.r.Buffered())
			c.tb.Fatalf("%s%s: %v", line, rest, err)
		}
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			return length
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimSpace(value)
		switch {
		case bytes.EqualFold(name, []byte("Content-Length")):
			for _, digit := range value {
				length = 10*length + int(digit-'0')
			}
		case c.session == "" && bytes.EqualFold(name, []byte("Mcp-Session-Id")):
			c.session = string(value)
		}
	}
}

// BenchmarkProjectDecision measures the parts of a call that depend on projects: admission, the choice of the view, and the
// lookup of the tool.
func BenchmarkProjectDecision(b *testing.B) {
	source := catalog.Source{Server: &catalog.Server{Name: "one"}}
	for i := range 1000 {
		source.Items[protocol.Tools] = append(source.Items[protocol.Tools], fmt.Appendf(nil, `{"name":"tool%d"}`, i))
	}
	s := catalog.Build(nil, []catalog.Source{source}, catalog.Naming{Namespace: config.Default().Namespace}, config.Project{Name: "alpha", Tools: config.Filter{Deny: []string{"*9"}}})
	e := admission.Entrance{Projects: map[string]bool{"alpha": true}}
	x := &downstream.Exchange{}
	if err := x.Frame.Parse([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"one_tool500"}}`)); err != nil {
		b.Fatal(err)
	}
	for name, path := range map[string]string{"none": "/mcp", "alpha": "/p/alpha/mcp"} {
		b.Run(name, func(b *testing.B) {
			x.Origin.Path = path
			b.ReportAllocs()
			for b.Loop() {
				admitted, _ := e.Admit(&x.Origin, x)
				view, _ := s.View(admitted.View)
				if _, fault := view.Tool("one_tool500"); fault != nil {
					b.Fatal(fault)
				}
			}
		})
	}
}

// BenchmarkProjectViews measures what ten projects add to building a snapshot of 10 000 tools after one of 100 servers has
// changed.
func BenchmarkProjectViews(b *testing.B) {
	var sources []catalog.Source
	for s := range 100 {
		source := catalog.Source{Server: &catalog.Server{Name: fmt.Sprintf("server%d", s), Order: s}}
		for i := range 100 {
			source.Items[protocol.Tools] = append(source.Items[protocol.Tools], fmt.Appendf(nil, `{"name":"tool_%d","inputSchema":{"type":"object"}}`, i))
		}
		sources = append(sources, source)
	}
	naming := catalog.Naming{Namespace: config.Default().Namespace, PageSize: 1000}
	for _, n := range []int{0, 10} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			var projects []config.Project
			for i := range n {
				projects = append(projects, config.Project{Name: fmt.Sprintf("p%d", i), Tools: config.Filter{Deny: []string{fmt.Sprintf("*_tool_%d*", i), "*_delete", "*_secret*"}}})
			}
			previous := catalog.Build(nil, sources, naming, projects...)
			b.ReportAllocs()
			for b.Loop() {
				changed := &sources[50].Items[protocol.Tools]
				*changed = append(slices.Clone((*changed)[:99]), fmt.Appendf(nil, `{"name":"other_%d","inputSchema":{"type":"object"}}`, previous.Version))
				previous = catalog.Build(previous, sources, naming, projects...)
			}
		})
	}
}
