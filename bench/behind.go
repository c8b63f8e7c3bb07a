package bench

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// ServerKinds are the raw servers that fanout, faults, cold and growth can run behind the gateway: streamable HTTP that answers with JSON,
// streamable HTTP that answers with a stream of one event ("events"), HTTP+SSE, and a process on stdio. Without "modern" they speak 2025-11-25.
var ServerKinds = []string{"http", "events", "sse", "stdio", "http-modern", "events-modern", "stdio-modern"}

// Eras are the eras of clients.
var Eras = []string{"legacy", "modern"}

// behind is a raw server behind the gateway whose behavior can be changed by commands.
type behind struct {
	remote
	kind, name string
	args       []string // of its command line
	socket     string
	at         *process       // nil = started by the gateway, on stdio
	entry      map[string]any // in the gateway's configuration
}

// tell sends a command to the server and returns its answer.
func (b *behind) tell(format string, args ...any) (int, error) {
	n, err := b.command(b.socket, fmt.Sprintf(format, args...))
	if err != nil {
		b.close()
		err = fmt.Errorf("server %s: %w", b.name, err)
	}
	return n, err
}

// newBehind starts a server of the given kind, or prepares it to be started by the gateway.
func (s *setup) newBehind(kind, name string, more ...string) (*behind, error) {
	transport, era, _ := strings.Cut(kind, "-")
	b := &behind{kind: kind, name: name, socket: filepath.Join(s.dir, name+".sock")}
	b.args = append([]string{"server", "--control", b.socket}, more...)
	if era == "modern" {
		b.args = append(b.args, "--modern")
	}
	switch transport {
	case "events":
		b.args = append(b.args, "--events")
	case "sse":
		b.args = append(b.args, "--sse")
	case "stdio":
		b.args = append(b.args, "--stdio")
		b.entry = map[string]any{"command": s.o.Program, "args": append([]string{"bench"}, b.args...), "maxConcurrent": 0}
		return b, nil
	}
	var err error
	if b.at, err = s.helper(b.args...); err != nil {
		return nil, err
	}
	b.entry = map[string]any{"url": b.at.url.String(), "type": map[bool]string{true: "sse", false: "http"}[transport == "sse"], "maxConcurrent": 0}
	return b, nil
}

// allOf returns an error if any of words is not in known.
func allOf(what string, words, known []string) error {
	for _, word := range words {
		if !slices.Contains(known, word) {
			return fmt.Errorf("%s: unknown %q; expected some of %s", what, word, strings.Join(known, ", "))
		}
	}
	return nil
}

// pause waits for d, or until the run ends.
func (s *setup) pause(d time.Duration) {
	select {
	case <-s.ctx.Done():
	case <-time.After(d):
	}
}
