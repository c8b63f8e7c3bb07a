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

// talkNames are the conversations of every client with every server, in order. TestMatrix reports the results.
var talkNames = []string{"list", "call", "progress", "cancel", "elicit", "sample", "roots", "updated", "list_changed", "not found", "complete", "log"}

// talkTime limits a conversation. None needs longer than the five seconds between two periodic messages of
// server-everything, but the machine may be busy. Known failures get less time.
const (
	talkTime    = gatetest.Patience
	limitedTime = 2 * time.Second
)

// ask is a tool call and text that its result must contain. The tool is named server/tool if a fixture has several servers.
type ask struct {
	tool string
	args map[string]any
	want string
}

// fixture is a server, or several servers that together support all conversations, with the parameters of each
// conversation. A zero field means that the server lacks the feature. If a conversation needs the
// feature, limits_test.go gives the reason why it is missing.
type fixture struct {
	name    string // name in the matrix
	key     string // name in the configuration; with several servers: key-<server>
	version string // the version that the gateway must negotiate with it

	servers map[string]map[string]any // by name in the configuration

	lists     map[string]string // by kind (tools, prompts, resources, templates): an item that must be listed
	read      string            // URI
	prompt    ask
	echo      ask
	progress  ask
	shuffles  bool // its messages in a legacy session may arrive in any order
	slow      ask  // canceled at its first progress notification
	elicit    ask
	form      map[string]any // the answer to elicit
	sample    ask
	roots     ask
	watched   string // URI of a resource that changes by itself or when touch is called
	touch     ask
	change    ask    // changes a list; {cell} in its arguments is replaced by the cell's name
	changes   string // the changed list
	made      string // the new item; "" = none
	missing   string // a URI unknown to the server
	completes reference
	argument  [3]string // name, value, and a value that must be suggested
	log       ask
	prepare   []ask // calls to make once per connection
}

// names converts a fixture's own names to public names. Without the gateway (direct), it keeps them.
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

// uri converts a URI, which is server|URI if the fixture has several servers.
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

// errNone is the result of a conversation that the fixture does not support.
var errNone = errors.New("the server does not support this")

// talk holds the conversations of one client with one fixture.
type talk struct {
	peer
	*fixture
	names
	cell    string // name of the cell
	limited func(conversation string) bool
	prepare func(func() error) error
	alone   *sync.Mutex // shared by the clients of a gateway; locked during changes that are visible only as a notification
	refused bool        // the gateway has refused a server request; see question
}

// unseen reports whether this fixture's changes are visible only as a notification.
func (t *talk) unseen() bool { return t.made == "" }

var cells atomic.Int64

// hold holds all conversations and returns their errors by name; nil = success.
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

// patiently holds one conversation. Its time starts once it has exclusive use of the gateway, if it needs that.
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

// ready sets the log level, subscribes, and makes the fixture's prepare calls, after which some servers send messages by themselves.
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

// ask calls the tool and checks its answer.
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
		return fmt.Errorf("%s answered %.200q, want %q in it", a.tool, said, a.want)
	}
	return nil
}
