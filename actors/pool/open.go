package pool

import (
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"goblin-actor/internal/config"
	"goblin-actor/protocol/upstream"
	"goblin-actor/protocol/upstream/embedded"
	"goblin-actor/protocol/upstream/process"
	"goblin-actor/protocol/upstream/remote"
)

// inheritedVariables are the environment variables that a process inherits from the gateway if inheritEnv is not set.
var inheritedVariables = []string{"PATH", "HOME", "USER", "LANG", "TERM", "TMPDIR"}

// inheritedOnWindows are further variables, without which many programs do not start on Windows.
var inheritedOnWindows = []string{"SystemRoot", "SystemDrive", "PATHEXT", "COMSPEC", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "TEMP", "TMP"}

// supervisionVariables are never inherited, because systemd and the gateway communicate through them.
var supervisionVariables = []string{"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "LISTEN_PID"}

// openAs returns the Opener for processes and URLs. Requests to a URL use the credentials of a login; nil = none.
func (p *pool) openAs(credentials upstream.Credentials) Opener {
	return func(server config.Server, replica int) (func(upstream.Sink) upstream.Link, string) {
		return p.openConfigured(server, replica, credentials)
	}
}

func (p *pool) openConfigured(server config.Server, replica int, credentials upstream.Credentials) (func(upstream.Sink) upstream.Link, string) {
	if len(server.URLs) > 0 {
		o := remote.Options{
			URL: server.URLs[replica%len(server.URLs)], Headers: server.Headers,
			MaxMessageBytes: int(p.Limits.MaxMessageBytes), Budget: p.Budget, Credentials: credentials,
		}
		switch server.Type {
		case "http":
			return hideCookies(o, remote.OpenHTTP), "http"
		case "sse":
			return hideCookies(o, remote.OpenSSE), "sse"
		}
		known := new(remote.Dialect) // what the replica speaks; kept when the backend reconnects
		return hideCookies(o, func(o remote.Options, sink upstream.Sink) upstream.Link { return remote.OpenAuto(o, known, sink) }), "http"
	}
	o := process.Options{
		Command: server.Command, Args: server.Args, Env: environment(server), Dir: expandHome(server.Cwd), Base: server.Base,
		MaxMessageBytes: int(p.Limits.MaxMessageBytes), Budget: p.Budget,
	}
	if server.Run == config.RunOne && p.Hops.Fence != nil {
		o.Fence = p.Hops.Fence(server.Name)
	}
	return func(sink upstream.Sink) upstream.Link { return process.Open(o, sink) }, "stdio"
}

// openEmbedded is the Opener for servers in this process.
func (p *pool) openEmbedded(server config.Server, _ int) (func(upstream.Sink) upstream.Link, string) {
	o := p.Embedded(server.Embedded)
	o.MaxMessageBytes, o.Budget = int(p.Limits.MaxMessageBytes), p.Budget
	return func(sink upstream.Sink) upstream.Link { return embedded.Open(o, sink) }, "embedded"
}

// environment returns the whole environment of a process: a few of the gateway's variables, or all of them except
// supervisionVariables; the configured ones; and config.NestingVariable, which counts the gateways above the process.
func environment(server config.Server) []string {
	env := map[string]string{}
	if server.InheritEnv {
		for _, pair := range os.Environ() {
			key, value, _ := strings.Cut(pair, "=")
			env[key] = value
		}
		for _, key := range supervisionVariables {
			delete(env, key)
		}
	} else {
		names := inheritedVariables
		if runtime.GOOS == "windows" {
			names = append(slices.Clone(inheritedVariables), inheritedOnWindows...)
		}
		for _, name := range names {
			if value, ok := os.LookupEnv(name); ok {
				env[name] = value
			}
		}
	}
	maps.Copy(env, server.Env)
	env[config.NestingVariable] = strconv.Itoa(config.Nesting(os.Getenv) + 1)
	list := make([]string, 0, len(env))
	for _, key := range slices.Sorted(maps.Keys(env)) {
		list = append(list, key+"="+env[key])
	}
	return list
}

// expandHome replaces a leading ~ with the home directory. An empty dir stays empty: it means the gateway's working directory.
func expandHome(dir string) string {
	if dir != "~" && !strings.HasPrefix(dir, "~/") {
		return dir
	}
	h, err := os.UserHomeDir()
	if err != nil {
		return dir
	}
	return filepath.Join(h, dir[1:])
}
