package interop

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"goblin-actor/internal/gatetest"
)

// talkNames is what every client does with every server, in this order. TestMatrix says how it went.
var talkNames = []string{"list", "call", "progress", "cancel", "elicit", "sample", "roots", "updated", "list_changed", "not found", "complete", "log"}

// talkTime bounds one conversation and catches what hangs: nothing in one takes longer than the five seconds between two of
// server-everything's signals, but the machine may be busy. What a peer is known not to do gets less.
const (
	talkTime    = gatetest.Patience
	limitedTime = 2 * time.Second
)

// ask is a tool to call and what must be in its answer. A tool is named server/tool where a fixture has several servers.
type ask struct {
	tool string
	args map[string]any
	want string
}

// fixture is a server, or some that together can all of it, and how to have each conversation with it.
// What is left out is what the server does not have; limits_test.go says why.
type fixture struct {
	name    string // in the matrix
	key     string // in the configuration; several servers: key-<server>
	version string // what the gateway must have agreed on with it

	servers map[string]map[string]any // by their names in the configuration

	lists     map[string]string // tools, prompts, resources, templates: an item that must be there
	read      string            // URI
	prompt    ask
	echo      ask
	progress  ask
	shuffles  bool // what it says in a legacy session may come in any order
	slow      ask  // is cancelled at its first progress
	elicit    ask
	form      map[string]any // the answer to elicit
	sample    ask
	roots     ask
	watched   string // URI that changes by itself, or by touch
	touch     ask
	change    ask    // changes a list; {cell} in its arguments becomes the cell's own name
	changes   string // which
	made      string // what is on it then; "" = nothing new
	missing   string // URI the server itself does not find
	completes reference
	argument  [3]string // name, value, what must be offered
	log       ask
	prepare   []ask // once a connection of the gateway
}

// names makes public names of a fixture's own.
type names struct{ direct bool }

func (n names) item(f *fixture, name string) string {
	server, item, several := strings.Cut(name, "/")
	switch {
	case n.direct && several:
		return item
	case n.direct:
		return name
	case several:
		return f.key + "-" + server + "_" + item
	}
	return f.key + "_" + name
}

// uri: server|URI where there are several.
func (n names) uri(f *fixture, uri string) string {
	server, original, several := strings.Cut(uri, "|")
	switch {
	case n.direct && several:
		return original
	case n.direct:
		return uri
	case several:
		return "resource://" + f.key + "-" + server + "/" + original
	}
	return "resource://" + f.key + "/" + uri
}

// errNone is what a conversation ends with that the fixture has nothing for.
var errNone = errors.New("the server has nothing for this")

// talk is one client with one fixture.
type talk struct {
	peer
	*fixture
	names
	cell    string // its own name
	limited func(conversation string) bool
	prepare func(func() error) error
	alone   *sync.Mutex // of those who use one gateway, for changes of which nothing can be seen but the word that there was one
	refused bool        // a question
}

// unseen: of this fixture's changes nothing can be seen but the word that there was one.
func (t *talk) unseen() bool { return t.made == "" }

var cells atomic.Int64

// hold has all conversations and says by their names how they went; nil is well.
func (t *talk) hold(ctx context.Context) map[string]error {
	went := map[string]error{}
	ready := t.ready(ctx)
	if errors.Is(ready, errOneRequest) {
		ready = nil
	}
	for _, name := range talkNames {
		err := t.patiently(ctx, name)
		if err != nil && ready != nil && !errors.Is(err, errNone) && (name == "updated" || name == "log" || name == "list_changed") {
			err = fmt.Errorf("%w (before: %w)", err, ready)
		}
		went[name] = err
	}
	return went
}

// patiently has one conversation. Its time begins when it has the gateway to itself, if it must.
func (t *talk) patiently(ctx context.Context, name string) error {
	patience := talkTime
	if t.limited(name) {
		patience = limitedTime
	}
	if name == "list_changed" && t.unseen() {
		t.alone.Lock()
		defer t.alone.Unlock()
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return t.one(ctx, name)
}

// ready sets the level, listens, and sets off what the server sends by itself.
func (t *talk) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, talkTime)
	defer cancel()
	var faults []error
	if err := t.level(ctx, "debug"); err != nil {
		faults = append(faults, fmt.Errorf("level: %w", err))
	}
	watched := ""
	if t.watched != "" {
		watched = t.uri(t.fixture, t.watched)
	}
	if err := t.listen(ctx, watched); err != nil {
		faults = append(faults, fmt.Errorf("listen: %w", err))
	}
	if err := t.prepare(func() error {
		for _, a := range t.fixture.prepare {
			if err := t.ask(ctx, a, nil); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		faults = append(faults, fmt.Errorf("prepare: %w", err))
	}
	return errors.Join(faults...)
}

func (t *talk) one(ctx context.Context, name string) error {
	if _, once := t.peer.(*inspector); once && t.limited(name) {
		return errOneRequest
	}
	switch name {
	case "list":
		return t.allLists(ctx)
	case "call":
		return t.calls(ctx)
	case "progress":
		return t.progresses(ctx)
	case "cancel":
		return t.cancels(ctx)
	case "elicit":
		return t.question(ctx, t.elicit)
	case "sample":
		return t.question(ctx, t.sample)
	case "roots":
		return t.question(ctx, t.roots)
	case "updated":
		return t.updated(ctx)
	case "list_changed":
		return t.listChanged(ctx)
	case "not found":
		return t.notFound(ctx)
	case "complete":
		return t.completion(ctx)
	case "log":
		return t.logs(ctx)
	}
	return fmt.Errorf("no conversation is called %s", name)
}

// ask calls the tool and looks at its answer.
func (t *talk) ask(ctx context.Context, a ask, progress func(float64)) error {
	if a.tool == "" {
		return errNone
	}
	args := map[string]any{}
	for key, value := range a.args {
		if s, ok := value.(string); ok {
			value = strings.ReplaceAll(s, "{cell}", t.cell)
		}
		args[key] = value
	}
	pieces, err := t.call(ctx, t.item(t.fixture, a.tool), args, progress)
	if err != nil {
		return fmt.Errorf("%s: %w", a.tool, err)
	}
	if said := text(pieces); !strings.Contains(said, a.want) {
		return fmt.Errorf("%s said %.200q, want %q in it", a.tool, said, a.want)
	}
	return nil
}
