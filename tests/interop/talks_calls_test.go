package interop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// eventually retries until try succeeds, for at most talkTime.
func eventually(ctx context.Context, try func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, talkTime)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		err := try(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return err
		}
	}
}

// listed returns a function that fails unless the tool is in the client's list.
func listed(p peer, tool string) func(context.Context) error {
	return func(ctx context.Context) error {
		tools, err := p.list(ctx, "tools")
		if err == nil && !slices.Contains(tools, tool) {
			err = fmt.Errorf("%s is not on the list of tools: %.400q", tool, tools)
		}
		return err
	}
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
	if _, slow := t.peer.(*inspector); slow { // each of its requests would start another process
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
	seen := newReports()
	if err := t.ask(ctx, t.progress, seen.add); err != nil {
		return err
	}
	all, err := seen.wait(ctx, 1)
	modern := t.fixture.version == modernVersion && t.peer.version() == modernVersion
	if err == nil && !slices.IsSorted(all) && (modern || !t.shuffles) {
		err = fmt.Errorf("progress: %v", all)
	}
	return err
}

var errAnswered = errors.New("the canceled call was answered")

// cancels cancels a call at its first progress notification; the next call must be answered. The go-sdk's server has no
// tool that takes longer than 150 ms, so on a busy machine the answer may arrive first: then the test retries.
// TestConversations tests that canceling a call of a minute ends it immediately.
func (t *talk) cancels(ctx context.Context) error {
	err := errAnswered
	for errors.Is(err, errAnswered) && ctx.Err() == nil {
		err = t.cancelOne(ctx)
	}
	if err != nil {
		return err
	}
	if err := t.ask(ctx, t.echo, nil); err != nil {
		return fmt.Errorf("after the cancel: %w", err)
	}
	return nil
}

func (t *talk) cancelOne(ctx context.Context) error {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	err := t.ask(inner, t.slow, func(float64) { cancel() })
	switch {
	case errors.Is(err, errNone):
		return err
	case err == nil:
		return errAnswered
	case inner.Err() == nil || ctx.Err() != nil:
		return fmt.Errorf("before the cancel: %w", err)
	}
	return nil
}

// notFound requests items unknown to the gateway and a resource unknown to the server. For a resource, the error code is -32602
// in 2026-07-28. Earlier versions specify -32002, which not all servers use.
func (t *talk) notFound(ctx context.Context) error {
	_, err := t.call(ctx, t.item(t.fixture, "no_such_tool"), nil, nil)
	if f := t.fault(err); err == nil || !strings.Contains(f.Message, "no_such_tool") {
		return fmt.Errorf("unknown tool: got %+v", f)
	}
	uris := []string{"resource://absent/none:///such"}
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

// question calls a tool that asks the client, and repeats the call once if the gateway refuses the server's request. Some clients never
// report that they canceled a call, or only after their next one. While the canceled call runs, the gateway cannot tell which of the two
// calls a request of the process belongs to, so it refuses the request. This happens only once, because from then on the gateway makes the process's calls one at a
// time. A request for roots is not refused but answered with the configured ones. In a cluster, it can be the first request on the node where
// the canceled call runs.
func (t *talk) question(ctx context.Context, a ask) error {
	err := t.ask(ctx, a, nil)
	if err != nil && !t.refused && (strings.Contains(err.Error(), "cannot tell which call") || *balancer != "" && t.shuffles && strings.Contains(err.Error(), `answered "Roots: []"`)) {
		t.refused = true
		err = t.ask(ctx, a, nil)
	}
	return err
}
