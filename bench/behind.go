package bench

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// ServerKinds are the raw servers that fanout, faults, cold and growth can have behind the gateway: streamable HTTP that answers
// with JSON or, events, with a stream of one event; HTTP+SSE; a process on stdio. Without "modern" they are of 2025-11-25.
var ServerKinds = []string{"http", "events", "sse", "stdio", "http-modern", "events-modern", "stdio-modern"}

// Eras are the eras of clients.
var Eras = []string{"legacy", "modern"}

// behind is a raw server that changes when it is told to.
type behind struct {
	remote
	kind, name string
	args       []string // of its command
	socket     string
	at         *process       // nil = the gateway starts it, on stdio
	entry      map[string]any // of the gateway's configuration
}

// tell has the server carry out a command.
func (b *behind) tell(format string, args ...any) (int, error) {
	n, err := b.command(b.socket, fmt.Sprintf(format, args...))
	if err != nil {
		b.close()
		err = fmt.Errorf("server %s: %w", b.name, err)
	}
	return n, err
}

// newBehind starts a server of that kind, or has it ready to be started by the gateway.
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

// allOf says what of words is not among known.
func allOf(what string, words, known []string) error {
	for _, word := range words {
		if !slices.Contains(known, word) {
			return fmt.Errorf("%s: got %q, want some of %s", what, word, strings.Join(known, ", "))
		}
	}
	return nil
}

// pause waits for d, or less if the run ends.
func (s *setup) pause(d time.Duration) {
	select {
	case <-s.ctx.Done():
	case <-time.After(d):
	}
}
