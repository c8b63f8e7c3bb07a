package interop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// talkNames is what every client does with every server, in this order. TestMatrix says how it went.
var talkNames = []string{"list", "call", "progress", "cancel", "elicit", "sample", "roots", "updated", "list_changed", "not found", "complete", "log"}

// talkTime bounds one conversation, the longest wait in one being the five seconds between two of server-everything's signals.
// What a peer is known not to do gets less.
const (
	talkTime    = 20 * time.Second
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
	slow      ask // is cancelled at its first progress
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
}

var cells atomic.Int64

// hold has all conversations and says by their names how they went; nil is well.
func (t *talk) hold(ctx context.Context) map[string]error {
	went := map[string]error{}
	ready := t.ready(ctx)
	if errors.Is(ready, errOneRequest) {
		ready = nil
	}
	for _, name := range talkNames {
		patience := talkTime
		if t.limited(name) {
			patience = limitedTime
		}
		limit, cancel := context.WithTimeout(ctx, patience)
		err := t.one(limit, name)
		if err != nil && ready != nil && !errors.Is(err, errNone) && (name == "updated" || name == "log" || name == "list_changed") {
			err = fmt.Errorf("%w (before: %w)", err, ready)
		}
		went[name] = err
		cancel()
	}
	return went
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
		return t.ask(ctx, t.elicit, nil)
	case "sample":
		return t.ask(ctx, t.sample, nil)
	case "roots":
		return t.ask(ctx, t.roots, nil)
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

func (t *talk) allLists(ctx context.Context) error {
	for _, what := range []string{"tools", "prompts", "resources", "templates"} {
		want, ok := t.lists[what]
		if !ok {
			continue
		}
		if what == "tools" || what == "prompts" {
			want = t.item(t.fixture, want)
		} else {
			want = t.uri(t.fixture, want)
		}
		got, err := t.list(ctx, what)
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if !slices.Contains(got, want) {
			return fmt.Errorf("%s: %s is not in %.400q", what, want, got)
		}
	}
	return nil
}

func (t *talk) calls(ctx context.Context) error {
	if err := t.ask(ctx, t.echo, nil); err != nil {
		return err
	}
	if _, slow := t.peer.(*inspector); slow { // a process a request
		return nil
	}
	if t.fixture.read != "" {
		uri := t.uri(t.fixture, t.fixture.read)
		if c, err := t.peer.read(ctx, uri); err != nil || c.uri != uri || c.text+c.blob == "" {
			return fmt.Errorf("read %s: %.100q of %s, %w", uri, c.text+c.blob, c.uri, err)
		}
	}
	if p := t.fixture.prompt; p.tool != "" {
		args := map[string]string{}
		for key, value := range p.args {
			args[key] = fmt.Sprint(value)
		}
		if said, err := t.peer.prompt(ctx, t.item(t.fixture, p.tool), args); err != nil || !strings.Contains(said, p.want) {
			return fmt.Errorf("prompt %s: %.200q, %w", p.tool, said, err)
		}
	}
	return nil
}

func (t *talk) progresses(ctx context.Context) error {
	var seen []float64
	if err := t.ask(ctx, t.progress, func(v float64) { seen = append(seen, v) }); err != nil {
		return err
	}
	if len(seen) == 0 || !slices.IsSorted(seen) {
		return fmt.Errorf("progress: %v", seen)
	}
	return nil
}

// cancels ends a call at its first progress; the next call must be answered all the same. The go-sdk's server has no
// tool that takes longer than 150 ms, so on a busy machine the answer may come first: then it is tried again.
func (t *talk) cancels(ctx context.Context) error {
	for range 5 {
		err := t.cancelOne(ctx)
		if errors.Is(err, errAnswered) {
			continue
		}
		if err != nil {
			return err
		}
		if err := t.ask(ctx, t.echo, nil); err != nil {
			return fmt.Errorf("after the cancel: %w", err)
		}
		return nil
	}
	return errAnswered
}

var errAnswered = errors.New("the cancelled call was answered")

func (t *talk) cancelOne(ctx context.Context) error {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	began := time.Now()
	err := t.ask(inner, t.slow, func(float64) { cancel() })
	switch {
	case errors.Is(err, errNone):
		return err
	case err == nil:
		return errAnswered
	case inner.Err() == nil:
		return fmt.Errorf("before the cancel: %w", err)
	case time.Since(began) > 2*time.Second:
		return fmt.Errorf("the cancelled call ended after %s only: %w", time.Since(began), err)
	}
	return nil
}

func (t *talk) updated(ctx context.Context) error {
	if t.watched == "" {
		return errNone
	}
	if t.touch.tool != "" {
		if err := t.ask(ctx, t.touch, nil); err != nil {
			return err
		}
	}
	return t.heard().wait(ctx, 0, "updated "+t.uri(t.fixture, t.watched))
}

// alone is held by a change of which nothing can be seen but the word that there was one.
var alone sync.Mutex

// quiet returns when nothing has been heard of the kind for longer than the gateway gathers changes.
func (t *talk) quiet(ctx context.Context) {
	for {
		since := t.heard().count()
		limit, cancel := context.WithTimeout(ctx, 400*time.Millisecond)
		err := t.heard().wait(limit, since, t.changes+"/list_changed")
		cancel()
		if err != nil {
			return
		}
	}
}

// listChanged: the client is told, and what is new is on the list. Others change their lists meanwhile.
func (t *talk) listChanged(ctx context.Context) error {
	if t.made == "" {
		alone.Lock()
		defer alone.Unlock()
		t.quiet(ctx)
	}
	since := t.heard().count()
	if err := t.ask(ctx, t.change, nil); err != nil {
		return err
	}
	made := strings.ReplaceAll(t.made, "{cell}", t.cell)
	for {
		if err := t.heard().wait(ctx, since, t.changes+"/list_changed"); err != nil {
			return err
		}
		since = t.heard().count()
		items, err := t.list(ctx, t.changes)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(items, func(item string) bool { return strings.HasSuffix(item, made) }) {
			return nil
		}
	}
}

// notFound: what the gateway does not find, and what the server does not. Not found is -32602 in 2026-07-28; before it
// the specification says -32002 for resources, which not every server does.
func (t *talk) notFound(ctx context.Context) error {
	_, err := t.call(ctx, t.item(t.fixture, "no_such_tool"), nil, nil)
	if f := t.fault(err); err == nil || !strings.Contains(f.Message, "no_such_tool") {
		return fmt.Errorf("an unknown tool: %+v", f)
	}
	uris := []string{"resource://nobody/none:///such"}
	if t.missing != "" {
		uris = append(uris, t.uri(t.fixture, t.missing))
	}
	for _, uri := range uris {
		_, err := t.peer.read(ctx, uri)
		f := t.fault(err)
		if modern := t.peer.version() >= modernVersion; err == nil || f.Code != -32602 && (modern || f.Code != -32002) {
			return fmt.Errorf("%s for a client of %s: %+v", uri, t.peer.version(), f)
		}
	}
	return nil
}

func (t *talk) completion(ctx context.Context) error {
	of := t.completes
	switch {
	case of.prompt != "":
		of.prompt = t.item(t.fixture, of.prompt)
	case of.template != "":
		of.template = t.uri(t.fixture, of.template)
	default:
		return errNone
	}
	values, err := t.complete(ctx, of, t.argument[0], t.argument[1])
	if err != nil {
		return err
	}
	if want := t.argument[2]; want != "" && !slices.Contains(values, want) {
		return fmt.Errorf("completion: %q is not in %q", want, values)
	}
	return nil
}

func (t *talk) logs(ctx context.Context) error {
	since := 0
	if t.log.tool != "" {
		since = t.heard().count()
		if err := t.ask(ctx, t.log, nil); err != nil {
			return err
		}
	} else if t.fixture.prepare == nil {
		return errNone
	}
	return t.heard().wait(ctx, since, "log ")
}
