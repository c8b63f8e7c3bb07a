package interop

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
)

// withoutTheGateway checks that the limits that name pairs of peers also occur when these pairs connect directly.
func withoutTheGateway(t *testing.T, clients []caller, servers []*fixture) {
	for _, l := range limits {
		for _, pair := range l.direct {
			i := slices.IndexFunc(clients, func(c caller) bool { return c.name+" "+c.version+" over "+string(c.way) == pair[0] })
			j := slices.IndexFunc(servers, func(f *fixture) bool { return f.name == pair[1] })
			if i < 0 || j < 0 {
				t.Errorf("limit %s: unknown pair %q", l.key, pair)
				continue
			}
			for _, talk := range l.talks {
				if c, f := clients[i], servers[j]; l.applies(c, f, talk) {
					if err := direct(t, c, f, talk); err == nil {
						t.Errorf("limit %s: %s, %s: works without the gateway", l.key, cellName(c, f), talk)
					}
				}
			}
		}
	}
}

// direct holds one conversation of a client with a server, without the gateway.
func direct(t *testing.T, c caller, f *fixture, name string) error {
	t.Helper()
	if len(f.servers) != 1 {
		return fmt.Errorf("%s consists of several servers", f.name)
	}
	config := slices.Collect(maps.Values(f.servers))[0]
	var to target
	if url, ok := config["url"].(string); ok {
		to.url = url
	} else {
		to = target{command: []string{config["command"].(string)}, dir: t.TempDir()}
		args, _ := config["args"].([]string)
		to.command = append(to.command, args...)
		to.env, _ = config["env"].(map[string]string)
	}
	ctx, cancel := context.WithTimeout(t.Context(), talkTime)
	defer cancel()
	p, err := c.dial(ctx, to, answers{f.form})
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer p.close()
	conversation := &talk{peer: p, fixture: f, names: names{direct: true}, cell: "direct", limited: func(string) bool { return true },
		prepare: func(do func() error) error { return do() }, alone: &sync.Mutex{}}
	if err := conversation.ready(ctx); err != nil {
		return fmt.Errorf("ready: %w", err)
	}
	limit, stop := context.WithTimeout(ctx, limitedTime)
	defer stop()
	return conversation.one(limit, name)
}
