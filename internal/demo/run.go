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

// maxMessageBytes is the largest message a demo server takes.
const maxMessageBytes = 4 << 20

// drainTime is how long running requests over HTTP may go on after the end was asked for.
const drainTime = 2 * time.Second

// ServeStdio serves one client on in and out until in ends or ctx does. It returns nil at the end of in; what still
// runs then is ended first.
func ServeStdio(ctx context.Context, s *Server, in io.Reader, out io.Writer, log *slog.Logger) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	f := &front{Server: s, ctx: ctx, stdio: true, modernCalls: map[string]context.CancelCauseFunc{}}
	defer f.background(stop)()
	return downstream.ServeStdio(ctx, in, out, f, downstream.Options{MaxMessageBytes: maxMessageBytes}, log)
}

// ServeHTTP serves any number of clients on l, at every path, until ctx ends; then it closes l.
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

// background starts the server's own work and returns what stops it and every request, and waits for their end.
func (f *front) background(stop func()) func() {
	if f.Background != nil {
		f.running.Go(func() { f.Background(f.ctx) })
	}
	return func() {
		stop()
		f.running.Wait()
	}
}

// builtin are the servers one can ask for by name.
var builtin = map[string]struct {
	make  func() *Server
	about string
}{
	"notes":       {NewNotes, "a small notebook: tools that change it, a resource for every note, a prompt"},
	"clock":       {NewClock, "the time as a resource that changes every second, and a slow tool with progress"},
	"oracle":      {NewOracle, "tools that ask back: the user by forms, the model by sampling, the client for its roots"},
	"conformance": {NewConformance, "what the official MCP conformance suite asks for; of no other use"},
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

// About says in one line what the built-in server of that name is; "" if there is none.
func About(name string) string { return builtin[name].about }

// Named returns a new built-in server, or an error that lists those there are.
func Named(name string) (*Server, error) {
	b, ok := builtin[name]
	if !ok {
		return nil, fmt.Errorf("no demo server is called %q; there are %s", name, strings.Join(Names(), ", "))
	}
	return b.make(), nil
}
