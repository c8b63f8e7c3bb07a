package interop

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// The newest version of each era.
const (
	legacyVersion = "2025-11-25"
	modernVersion = "2026-07-28"
)

// peer is a connected client of an SDK.
type peer interface {
	server() string                                          // name of the server
	version() string                                         // negotiated protocol version
	list(ctx context.Context, what string) ([]string, error) // names of tools or prompts, or URIs of resources or templates
	call(ctx context.Context, tool string, args map[string]any, progress func(float64)) ([]content, error)
	read(ctx context.Context, uri string) (content, error)
	prompt(ctx context.Context, name string, args map[string]string) (string, error)
	complete(ctx context.Context, of reference, argument, value string) ([]string, error)
	level(ctx context.Context, level string) error // sets the minimum level of log messages
	listen(ctx context.Context, uri string) error  // subscribes to changes to lists and, unless uri is "", to that resource
	heard() *ears
	fault(err error) fault
	close() error
}

// content is an element of a result.
type content struct{ text, uri, blob string }

func text(pieces []content) string {
	var b strings.Builder
	for _, piece := range pieces {
		b.WriteString(piece.text)
	}
	return b.String()
}

// fault is a JSON-RPC error as the SDK reports it. Its code is 0 if the SDK hides the code.
type fault struct {
	Code    int
	Message string
}

// reference is the subject of a completion: either a prompt or a resource template.
type reference struct{ prompt, template string }

// answers holds a client's answers to server requests. The answers to sampling and roots requests are always the same.
type answers struct {
	form map[string]any // content of forms
}

const (
	guess    = "a goblin's guess" // the answer of the client's model
	cave     = "file:///goblin/cave"
	caveName = "cave"
)

// manner configures a client: its protocol version ("" = the client's default) and its answers.
type manner struct {
	version string
	answers answers
}

// ears records notifications as texts such as "tools/list_changed", "updated <uri>" and "log <level>". It is safe for concurrent use.
type ears struct {
	mu   sync.Mutex
	all  []string
	more chan struct{} // closed at the next notification
}

func newEars() *ears { return &ears{more: make(chan struct{})} }

func (e *ears) hear(what string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, what)
	close(e.more)
	e.more = make(chan struct{})
}

// count returns the number of notifications so far.
func (e *ears) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.all)
}

// wait waits for a notification whose text begins with the value of what. since is the number of recorded notifications to skip.
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
			return fmt.Errorf("no notification %q; got %.300q", what, after)
		}
	}
}
