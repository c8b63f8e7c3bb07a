package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"

	"goblin-actor/internal/config"
	"goblin-actor/internal/secret"
	"goblin-actor/protocol/upstream/embedded"
)

// Conn carries messages between the gateway and a server in this process. A message is one JSON-RPC message of MCP,
// without a newline. Methods may be called concurrently.
type Conn interface {
	// Read blocks until there is a message from the gateway, and returns it. It returns io.EOF after the gateway has
	// ended the connection. The caller owns the bytes. Unread messages wait in the gateway. If they would exceed 8 MiB,
	// further calls are refused. If messages wait and none is read for 30 s, the connection ends.
	Read(ctx context.Context) ([]byte, error)
	// Write sends a message to the gateway. It blocks while the gateway has no room for it, and does not retain m.
	// Unless the connection has ended, an error concerns only this message.
	Write(ctx context.Context, m []byte) error
}

// functions holds the servers that are functions of this program. A configuration refers to them by number, because
// functions cannot be compared.
type functions struct {
	mu   sync.Mutex
	last uint64
	by   map[uint64]function
	left []string // names of servers whose function did not return
}

type function struct {
	name    string
	connect func(context.Context, Conn) error
}

// with returns a copy of cfg with one more server, and stores the server's function. It adds the server's secrets to known.
func (f *functions) with(cfg *config.Config, name string, s Server, known *secret.Redactor, log *slog.Logger) (*config.Config, error) {
	next, err := with(cfg, name, s, known, log)
	if err != nil || s.Connect == nil {
		return next, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last++
	if f.by == nil {
		f.by = map[uint64]function{}
	}
	f.by[f.last] = function{name, s.Connect}
	next.Servers[len(next.Servers)-1].Embedded = f.last
	return next, nil
}

// drop removes the functions to which cfg does not refer.
func (f *functions) drop(cfg *config.Config) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for number := range f.by {
		if !slices.ContainsFunc(cfg.Servers, func(s config.Server) bool { return s.Embedded == number }) {
			delete(f.by, number)
		}
	}
}

func (f *functions) find(number uint64) (function, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	found, ok := f.by[number]
	return found, ok
}

// leave records that a server's function did not return.
func (f *functions) leave(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !slices.Contains(f.left, name) {
		f.left = append(f.left, name)
	}
}

// leftBehind returns an error that names the servers whose functions did not return.
func (f *functions) leftBehind() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var errs []error
	for _, name := range f.left {
		errs = append(errs, fmt.Errorf("gateway: server %q: the Connect function did not return after its context had ended; its goroutine is still running", name))
	}
	return errors.Join(errs...)
}

// errRemoved is returned for a connection to a server that has just been removed.
var errRemoved = errors.New("the server was removed")

// open returns a function that returns the options for connections to the server function with the given number.
func (f *functions) open(log *slog.Logger) func(number uint64) embedded.Options {
	return func(number uint64) embedded.Options {
		found, ok := f.find(number)
		if !ok {
			return embedded.Options{Serve: func(context.Context, *embedded.Conn) error { return errRemoved }}
		}
		log := log.With("server", found.name)
		return embedded.Options{
			Serve: func(ctx context.Context, c *embedded.Conn) error { return found.run(ctx, c, log) },
			Left: func() {
				f.leave(found.name)
				log.Error("the Connect function did not return after its context had ended; its goroutine is still running")
			},
		}
	}
}

// run serves one connection. A panic is logged with its stack and becomes an error.
func (f function) run(ctx context.Context, c Conn, log *slog.Logger) (err error) {
	defer func() {
		if v := recover(); v != nil {
			log.Error("the Connect function panicked", "panic", v, "stack", string(debug.Stack()))
			err = fmt.Errorf("the Connect function panicked: %v", v)
		}
	}()
	return f.connect(ctx, c)
}
