package interop

import (
	"context"
	"maps"
	"os/exec"
	"slices"
	"testing"
)

// way is a transport between client and gateway.
type way string

const (
	overHTTP  way = "HTTP"
	overSSE   way = "SSE"
	overStdio way = "stdio"

	// overBridge is stdio through "goblin-actor stdio --connect" to the shared gateway. It is not shown in the matrix, because its results
	// are the same as over stdio.
	overBridge way = "the bridge"
)

// target is what a client connects to: a URL or a command.
type target struct {
	url     string
	key     string // an API key; "" = none
	command []string
	dir     string // base of the command's directories
	env     map[string]string
}

// cmd returns the command, ready to start.
func (to target) cmd() *exec.Cmd {
	cmd := exec.Command(to.command[0], to.command[1:]...)
	cmd.Env = environment(to.dir)
	for key, value := range to.env {
		cmd.Env = append(cmd.Env, key+"="+value)
	}
	return cmd
}

// caller is a client in the matrix.
type caller struct {
	name    string // name in the matrix
	way     way
	version string // the version it must negotiate with the gateway
	dial    func(context.Context, target, answers) (peer, error)
}

// callers returns the clients in the matrix and those over the bridge. Clients of the TypeScript SDK share one process per version of the SDK.
func callers(t *testing.T) []caller {
	t.Helper()
	v1, v2 := startDriver(t, "v1"), startDriver(t, "v2")
	all := []caller{
		{"TypeScript v1 1.32.2", overHTTP, legacyVersion, nodeDial(v1, "http", "")},
		{"TypeScript v1 1.32.2", overSSE, legacyVersion, nodeDial(v1, "sse", "")},
		{"TypeScript v1 1.32.2", overStdio, legacyVersion, nodeDial(v1, "stdio", "")},
		{"TypeScript v2 2.4.0, by default", overHTTP, legacyVersion, nodeDial(v2, "http", "")},
		{"go-sdk 1.8.0", overStdio, legacyVersion, goSDKDial(overStdio, legacyVersion)},
		{"TypeScript v2 2.4.0, auto", overHTTP, modernVersion, nodeDial(v2, "http", "auto")},
		{"TypeScript v2 2.4.0, auto", overStdio, modernVersion, nodeDial(v2, "stdio", "auto")},
		{"TypeScript v2 2.4.0, pinned", overHTTP, modernVersion, nodeDial(v2, "http", modernVersion)},
		{"go-sdk 1.8.0", overHTTP, modernVersion, goSDKDial(overHTTP, "")},
		{"go-sdk 1.8.0", overStdio, modernVersion, goSDKDial(overStdio, "")},
		{"mcp-go 1.2.1", overHTTP, modernVersion, mcpGoDial(overHTTP, "")},
		{"mcp-go 1.2.1", overStdio, modernVersion, mcpGoDial(overStdio, "")},
		{"mcp-go 1.2.1", overHTTP, legacyVersion, mcpGoDial(overHTTP, legacyVersion)},
		{"mcp-go 1.2.1", overSSE, legacyVersion, mcpGoDial(overSSE, legacyVersion)},
		{"mcp-go 1.2.1", overStdio, legacyVersion, mcpGoDial(overStdio, legacyVersion)},
	}
	all = append(all, caller{inspectorName, overHTTP, legacyVersion, inspectorDial()})
	for _, version := range []string{"2024-11-05", "2025-03-26", "2025-06-18", legacyVersion} {
		all = append(all, caller{"go-sdk 1.8.0", overHTTP, version, goSDKDial(overHTTP, version)})
	}
	return append(all,
		caller{"TypeScript v1 1.32.2", overBridge, legacyVersion, nodeDial(v1, "stdio", "")},
		caller{"TypeScript v2 2.4.0, auto", overBridge, modernVersion, nodeDial(v2, "stdio", "auto")},
		caller{"go-sdk 1.8.0", overBridge, legacyVersion, goSDKDial(overStdio, legacyVersion)},
		caller{"go-sdk 1.8.0", overBridge, modernVersion, goSDKDial(overStdio, "")},
		caller{"mcp-go 1.2.1", overBridge, modernVersion, mcpGoDial(overStdio, "")},
	)
}

// bridged lists the servers that clients over the bridge talk to in each run. With -bridge, they talk to all servers.
var bridged = []string{"evstdio", "gohttpm", "tsstdiom", "tshttp"}

// tries reports whether a cell belongs to this run.
func tries(c caller, f *fixture) bool {
	return chosen(c, f) && (c.way != overBridge || *bridge || slices.Contains(bridged, f.key))
}

// shown returns those of the clients that are in the published matrix.
func shown(clients []caller) []caller {
	return slices.DeleteFunc(slices.Clone(clients), func(c caller) bool { return c.way == overBridge })
}

func nodeDial(d *driver, via, mode string) func(context.Context, target, answers) (peer, error) {
	return func(ctx context.Context, to target, a answers) (peer, error) {
		where := map[string]any{"via": via, "url": to.url, "key": to.key}
		if to.command != nil {
			where["command"], where["args"] = to.command[0], to.command[1:]
			env := map[string]string{"XDG_RUNTIME_DIR": to.dir, "XDG_STATE_HOME": to.dir, "XDG_CONFIG_HOME": to.dir}
			maps.Copy(env, to.env)
			where["env"] = env
		}
		return dialNode(ctx, d, where, manner{mode, a})
	}
}

func goSDKDial(over way, version string) func(context.Context, target, answers) (peer, error) {
	return func(ctx context.Context, to target, a answers) (peer, error) {
		if over == overStdio {
			return goSDKOverStdio(ctx, to.cmd(), manner{version, a})
		}
		return goSDKOverHTTP(ctx, to, manner{version, a})
	}
}

func mcpGoDial(over way, version string) func(context.Context, target, answers) (peer, error) {
	return func(ctx context.Context, to target, a answers) (peer, error) {
		switch over {
		case overStdio:
			return mcpGoOverStdio(ctx, to.cmd(), manner{version, a})
		case overSSE:
			return mcpGoOverSSE(ctx, to, manner{version, a})
		}
		return mcpGoOverHTTP(ctx, to, manner{version, a})
	}
}
