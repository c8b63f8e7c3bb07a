package interop

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// The newest versions of both eras.
const (
	legacyVersion = "2025-11-25"
	modernVersion = "2026-07-28"
)

// peer is a client of some SDK, connected.
type peer interface {
	server() string                                          // its name
	version() string                                         // of the protocol, as agreed
	list(ctx context.Context, what string) ([]string, error) // tools, prompts: names; resources: URIs; templates
	call(ctx context.Context, tool string, args map[string]any, progress func(float64)) ([]content, error)
	read(ctx context.Context, uri string) (content, error)
	prompt(ctx context.Context, name string, args map[string]string) (string, error)
	complete(ctx context.Context, of reference, argument, value string) ([]string, error)
	level(ctx context.Context, level string) error // from now on log lines from this level on are wanted
	listen(ctx context.Context, uri string) error  // changes of lists, and of the resource unless it is ""
	heard() *ears
	fault(err error) fault
	close() error
}

// content is a piece of a result.
type content struct{ text, uri, blob string }

func text(pieces []content) string {
	var b strings.Builder
	for _, piece := range pieces {
		b.WriteString(piece.text)
	}
	return b.String()
}

// fault is a JSON-RPC error as the SDK shows it; code 0 where it hides it.
type fault struct {
	Code    int
	Message string
}

// reference is what to complete an argument of: one of the two.
type reference struct{ prompt, template string }

// answers is what a client says when it is asked. Its model and its roots are always the same.
type answers struct {
	form map[string]any // to a form of the server
}

const (
	guess    = "a goblin's guess" // what the client's model says
	cave     = "file:///goblin/cave"
	caveName = "cave"
)

// manner is how a client is to connect: protocol version ("" = the client's own way), and what it answers.
type manner struct {
	version string
	answers answers
}

// ears keep what a server told outside of answers: "tools/list_changed", "updated <uri>", "log <level>". Safe for concurrent use.
type ears struct {
	mu   sync.Mutex
	all  []string
	more chan struct{} // closed at the next
}

func newEars() *ears { return &ears{more: make(chan struct{})} }

func (e *ears) hear(what string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, what)
	close(e.more)
	e.more = make(chan struct{})
}

// count is how much was heard so far.
func (e *ears) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.all)
}

// wait returns when something that begins with what was heard after the first since.
func (e *ears) wait(ctx context.Context, since int, what string) error {
	for {
		e.mu.Lock()
		after, more := e.all[since:], e.more
		e.mu.Unlock()
		if slices.ContainsFunc(after, func(s string) bool { return strings.HasPrefix(s, what) }) {
			return nil
		}
		select {
		case <-more:
		case <-ctx.Done():
			return fmt.Errorf("%q was not heard; heard was %.300q", what, after)
		}
	}
}
