package actors

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/textproto"
	"slices"
	"strconv"
	"testing"
	"time"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/edge"
	"goblin-actor/internal/actortest"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/upstream"
	"goblin-actor/protocol/upstream/pipe"
)

// BenchmarkProject is what a project adds to a call: rounds of calls to /mcp and to /p/alpha/mcp take turns, in one process over
// loopback, and the median of the rounds' ratios is what counts. "itself" is /mcp against /mcp: what the machine adds.
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
			for b.Loop() { // one round of each, in changing order
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

// serveForBench is a gateway on loopback with one server, 1000 tools, and ten projects.
func serveForBench(b *testing.B) string {
	b.Helper()
	tools := make([]string, 1000)
	for i := range tools {
		tools[i] = fmt.Sprintf("tool%d", i)
	}
	fake := &actortest.Server{Tools: tools, Handle: func(p *pipe.Peer, _ protocol.Frame, id []byte) {
		_ = p.Send(protocol.AppendResult(nil, id, []byte(`{"content":[{"type":"text","text":"some text that makes it about two hundred bytes long, as results are, too"}]}`)))
	}}
	cfg := config.Default()
	server := config.DefaultServer()
	server.Name, server.Written, server.Command = "one", "one", "fake"
	cfg.Servers = []config.Server{server}
	cfg.Projects = []config.Project{{Name: "alpha", Tools: config.Filter{Deny: []string{"*9", "*_hidden"}}}}
	for i := range 9 {
		cfg.Projects = append(cfg.Projects, config.Project{Name: fmt.Sprintf("p%d", i), Servers: []string{"one"}})
	}
	log := slog.New(slog.DiscardHandler)
	g, err := Start(&cfg, Options{Version: "test", Log: log,
		Open: func(config.Server, int) (func(upstream.Sink) upstream.Link, string) { return fake.Open, "stdio" }})
	if err != nil {
		b.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	s := downstream.NewServer(g.Front(), downstream.Options{MaxMessageBytes: 1 << 20, Budget: g.Budget()}, log)
	go func() { _ = s.Serve(l) }()
	b.Cleanup(func() { _ = g.Stop(b.Context(), 0); _ = s.Shutdown(b.Context()) })
	for {
		if status, err := g.Status(b.Context()); err == nil && status.Ready {
			return l.Addr().String()
		}
	}
}

// benchConn is a keep-alive connection with a session.
type benchConn struct {
	b       *testing.B
	conn    net.Conn
	r       *bufio.Reader
	request []byte
}

func dialBench(b *testing.B, at, path string) *benchConn {
	b.Helper()
	conn, err := net.Dial("tcp", at)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close() })
	c := &benchConn{b: b, conn: conn, r: bufio.NewReaderSize(conn, 1<<16)}
	post := func(body, session string) []byte {
		return fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n%sContent-Length: %d\r\n\r\n%s",
			path, at, session, len(body), body)
	}
	c.request = post(initializeFrame, "")
	session := c.call()
	c.request = post(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"one_tool500","arguments":{"a":1,"b":"some text that makes it about two hundred bytes long, as calls are"}}}`,
		"Mcp-Session-Id: "+session+"\r\n")
	return c
}

// call sends the request, reads the answer and returns the session it names.
func (c *benchConn) call() string {
	if _, err := c.conn.Write(c.request); err != nil {
		c.b.Fatal(err)
	}
	head := textproto.NewReader(c.r)
	line, err := head.ReadLine()
	if err != nil || line != "HTTP/1.1 200 OK" {
		c.b.Fatal(line, err)
	}
	header, err := head.ReadMIMEHeader()
	if err != nil {
		c.b.Fatal(err)
	}
	n, err := strconv.ParseInt(header.Get("Content-Length"), 10, 64)
	if err != nil {
		c.b.Fatal(err)
	}
	if _, err := io.CopyN(io.Discard, c.r, n); err != nil {
		c.b.Fatal(err)
	}
	return header.Get("Mcp-Session-Id")
}

// BenchmarkProjectDecision is the part of a call that knows of projects, alone: what the request may see, that view, and the tool in it.
func BenchmarkProjectDecision(b *testing.B) {
	source := catalog.Source{Server: &catalog.Server{Name: "one"}}
	for i := range 1000 {
		source.Items[protocol.Tools] = append(source.Items[protocol.Tools], fmt.Appendf(nil, `{"name":"tool%d"}`, i))
	}
	s := catalog.Build(nil, []catalog.Source{source}, catalog.Naming{Namespace: config.Default().Namespace}, config.Project{Name: "alpha", Tools: config.Filter{Deny: []string{"*9"}}})
	e := edge.Entrance{Projects: map[string]bool{"alpha": true}}
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

// BenchmarkProjectViews is what ten projects add to a snapshot of 10 000 tools, when one of 100 servers has changed.
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
