package demo

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"time"

	"goblin-actor/protocol/downstream"
)

// maxMessageBytes limits the size of a message.
const maxMessageBytes = 4 << 20

// drainTime limits how long HTTP requests may continue after the server was asked to stop.
const drainTime = 2 * time.Second

// ServeStdio serves one client on in and out until in or ctx ends. It returns nil at the end of in, after canceling
// requests that still run.
func ServeStdio(ctx context.Context, s *Server, in io.Reader, out io.Writer, log *slog.Logger) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	f := &front{Server: s, ctx: ctx, stdio: true, modernCalls: map[string]context.CancelCauseFunc{}}
	defer f.background(stop)()
	return downstream.ServeStdio(ctx, in, out, f, downstream.Options{MaxMessageBytes: maxMessageBytes}, log)
}

// ServeHTTP serves clients on l, at all paths that end in /mcp, /sse or /messages, until ctx ends. Then it closes l.
func ServeHTTP(ctx context.Context, s *Server, l net.Listener, log *slog.Logger) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	f := &front{Server: s, ctx: ctx}
	defer f.background(stop)()
	server := downstream.NewServer(f, downstream.Options{MaxMessageBytes: maxMessageBytes}, log)
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	grace, done := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
	defer done()
	if err := server.Shutdown(grace); err != nil {
		return fmt.Errorf("stop %s: %w", s.Name, err)
	}
	return <-served
}

// background starts the server's background work. The returned function stops it and all requests, and waits for their end.
func (f *front) background(stop func()) func() {
	if f.Background != nil {
		f.running.Go(func() { f.Background(f.ctx) })
	}
	return func() {
		stop()
		f.running.Wait()
	}
}

// builtin holds the built-in servers by name.
var builtin = map[string]struct {
	make  func() *Server
	about string
}{
	"notes":  {NewNotes, "a small notebook: tools that change it, a resource per note, a prompt"},
	"clock":  {NewClock, "the time as a resource that changes every second, and a slow tool with progress"},
	"oracle": {NewOracle, "tools that send requests to the client: forms for the user, sampling, roots"},
}

// Names returns the names of the built-in servers, sorted.
func Names() []string {
	names := []string{}
	for name := range builtin {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// About returns a one-line description of a built-in server, or "" if there is no such server.
func About(name string) string { return builtin[name].about }

// Named returns a new built-in server. Its error lists the existing ones.
func Named(name string) (*Server, error) {
	b, ok := builtin[name]
	if !ok {
		return nil, fmt.Errorf("there is no demo server %q; the demo servers are %s", name, strings.Join(Names(), ", "))
	}
	return b.make(), nil
}
