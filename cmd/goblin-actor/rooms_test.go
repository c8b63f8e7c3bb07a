package main

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// module is the path of this module; rooms are named without it.
const module = "goblin-actor"

// mayImport says which rooms of ours a room may import, tests aside. A room that is missing here may not exist.
// "*" = every room. docs/architecture.md explains the table.
var mayImport = map[string][]string{
	"cmd/goblin-actor": {"internal/cli"},
	"gateway":          {"protocol/rawjson", "actors", "protocol", "internal/client", "internal/config", "internal/decode", "internal/inprocess", "internal/secret", "internal/status"},
	"bench":            {"protocol", "internal/demo", "bench/plot"},
	"bench/plot":       {},
	"tui":              {"internal/status", "internal/visible"},

	"actors": append([]string{"protocol/rawjson", "actors/admission", "actors/clientsubs", "actors/registry", "actors/pool", "actors/backend", "actors/session", "actors/stateless", "actors/subscription", "actors/monitor", "actors/store", "actors/meta",
		"protocol/downstream", "protocol/stream", "actors/token", "internal/ssrf", "internal/oauth", "internal/login", "internal/masterkey", "internal/secret"}, actorMayImport...),
	"actors/kernel":       {},
	"actors/catalog":      {"protocol/toolschema", "protocol/rawjson", "actors/kernel", "protocol", "protocol/namespace", "internal/config", "internal/filter", "internal/policy", "internal/status"},
	"actors/message":      {"protocol/rawjson", "actors/kernel", "actors/catalog", "protocol", "protocol/seal", "protocol/downstream", "internal/audit", "internal/config", "internal/identity", "internal/policy", "internal/status"},
	"actors/call":         {"actors/message", "protocol"},
	"actors/registry":     actorMayImport,
	"actors/pool":         append([]string{"actors/backend", "protocol/stream", "protocol/upstream", "protocol/upstream/process", "protocol/upstream/remote", "internal/secret"}, actorMayImport...), // it spawns backends
	"actors/backend":      append([]string{"protocol/stream", "protocol/upstream"}, actorMayImport...),                                                                                               // it never sees a client's exchange
	"actors/admission":    append([]string{"protocol/toolschema", "protocol/downstream"}, actorMayImport...),
	"actors/reply":        {"protocol/rawjson", "actors/kernel", "protocol", "protocol/downstream", "internal/status"},
	"actors/clientcalls":  append([]string{"actors/admission", "actors/reply", "protocol/downstream"}, actorMayImport...),
	"actors/clientsubs":   append([]string{"actors/admission", "protocol/downstream"}, actorMayImport...),
	"actors/session":      append([]string{"protocol/stream"}, clientMayImport...), // like the two below, it never sees a server's link
	"actors/stateless":    clientMayImport,
	"actors/subscription": clientMayImport,
	"actors/meta":         actorMayImport,
	"actors/monitor":      actorMayImport,
	"actors/store":        append([]string{"internal/masterkey"}, actorMayImport...),
	"actors/token":        append([]string{"internal/oauth", "protocol/upstream"}, actorMayImport...), // it never sees a frame

	"protocol":                   {"protocol/rawjson"},
	"protocol/rawjson":           {},
	"protocol/namespace":         {},
	"protocol/toolschema":        {"protocol/rawjson"},
	"protocol/seal":              {"protocol/rawjson", "protocol"},
	"protocol/stream":            {"protocol"},
	"protocol/coding":            {},
	"protocol/downstream":        {"protocol", "protocol/stream", "internal/identity"},
	"protocol/upstream":          {"protocol", "protocol/stream"},
	"protocol/upstream/process":  {"protocol", "protocol/stream", "protocol/upstream", "internal/secret"},
	"protocol/upstream/remote":   {"protocol/rawjson", "protocol", "protocol/coding", "protocol/stream", "protocol/upstream", "internal/pattern"},
	"protocol/upstream/pipe":     {"protocol", "protocol/upstream"},
	"protocol/upstream/linktest": {"protocol/upstream"}, // imported by tests only

	"internal/audit":     {"internal/decode"},
	"internal/pattern":   {},
	"internal/visible":   {},
	"internal/decode":    {"internal/visible"},
	"internal/lint":      {"protocol/toolschema", "protocol/rawjson", "protocol", "internal/visible"},
	"internal/identity":  {},
	"internal/ssrf":      {"internal/status"},
	"internal/oauth":     {"internal/decode", "internal/ssrf"},
	"internal/authtest":  {}, // imported by tests only
	"internal/secret":    {"internal/pattern"},
	"internal/filter":    {"internal/config"},
	"internal/policy":    {"protocol/namespace", "protocol", "internal/config", "internal/filter", "internal/identity"},
	"internal/masterkey": {},
	"internal/keyring":   {},
	"internal/config":    {"protocol/namespace", "protocol", "internal/secret", "internal/pattern", "internal/keyring", "internal/ssrf"},
	"internal/status":    {"protocol", "internal/pattern"},
	"internal/admin":     {"internal/decode", "internal/status", "internal/identity"},
	"internal/auth":      {"protocol/namespace", "protocol", "protocol/downstream", "internal/identity", "internal/status"},
	"internal/login":     {"internal/decode", "internal/identity", "internal/visible"},
	"internal/client":    {"protocol/rawjson", "internal/decode", "protocol", "protocol/upstream", "protocol/upstream/remote", "internal/secret"},
	"internal/inprocess": {"actors", "protocol/downstream", "internal/client", "internal/config"},
	"internal/desktop":   {"internal/config", "internal/decode", "internal/secret", "internal/pattern"},
	"internal/demo":      {"protocol/rawjson", "internal/decode", "protocol", "protocol/namespace", "protocol/seal", "protocol/downstream"},
	"internal/actortest": {"*"},                                 // imported by tests only
	"internal/gatetest":  {"internal/admin", "internal/status"}, // likewise

	"internal/config/docgen": {"internal/config"}, // go generate runs it

	// The command line. Command rooms do not import each other, but for bench, which has a hidden kind of serve.
	"internal/cli":            append([]string{"internal/cli/access", "internal/cli/ask", "internal/cli/benchmark", "internal/cli/configure", "internal/cli/doctor", "internal/cli/operate", "internal/cli/serve", "internal/secret"}, cliMayImport...),
	"internal/cli/access":     append([]string{"actors", "actors/catalog", "actors/store", "internal/admin", "internal/audit", "internal/auth", "internal/client", "internal/filter", "internal/identity", "internal/login", "internal/policy", "internal/serving"}, commandMayImport...),
	"internal/cli/ask":        append([]string{"protocol/rawjson", "actors/message", "internal/admin", "internal/client", "internal/decode", "internal/pattern"}, commandMayImport...),
	"internal/cli/benchmark":  append([]string{"bench", "internal/cli/serve", "internal/client", "internal/decode"}, commandMayImport...),
	"internal/cli/configure":  append([]string{"actors", "internal/admin", "internal/desktop", "internal/lint", "internal/rollout", "internal/serving"}, commandMayImport...),
	"internal/rollout":        {"actors/message", "internal/config", "internal/status"},
	"internal/cli/doctor":     append([]string{"actors", "actors/catalog", "actors/message", "internal/lint", "internal/pattern", "internal/serving"}, commandMayImport...),
	"internal/cli/operate":    append([]string{"internal/admin", "tui"}, commandMayImport...),
	"internal/cli/serve":      append([]string{"actors", "internal/admin", "internal/client", "internal/demo", "internal/login", "internal/pattern", "internal/serving", "protocol/downstream", "protocol/upstream/process", "tui"}, commandMayImport...),
	"internal/cli/command":    {"internal/cli/program", "internal/cli/terminal", "internal/config", "internal/secret", "protocol/upstream/process"},
	"internal/cli/configfile": {"internal/cli/command", "internal/cli/program", "internal/cli/terminal", "internal/config", "internal/secret", "internal/serving"},
	"internal/cli/console":    append([]string{"tui"}, commandMayImport...),
	"internal/cli/local":      append([]string{"actors", "actors/catalog", "internal/client", "internal/inprocess", "internal/lint", "internal/serving"}, commandMayImport...),
	"internal/cli/output":     {"actors/message", "internal/cli/terminal", "internal/pattern", "internal/status", "internal/visible"},
	"internal/cli/program":    {"internal/config"},
	"internal/cli/target":     append([]string{"internal/admin", "internal/auth", "internal/client"}, commandMayImport...),
	"internal/cli/terminal":   {"internal/client", "internal/visible"},
	"internal/serving":        {"actors", "actors/message", "internal/admin", "internal/audit", "internal/auth", "internal/client", "internal/config", "internal/identity", "internal/inprocess", "internal/keyring", "internal/login", "internal/masterkey", "internal/policy", "internal/secret", "internal/status", "internal/visible", "protocol/downstream"},

	"tests/interop":      {"*"},
	"tests/conformance":  {"*"},
	"tests/faults":       {"*"},
	"tests/proxy":        {"*"},
	"tests/sim":          {"*"},
	"tests/requirements": {"*"},
	"tests/attacks":      {"*"},
	"tests/logins":       {"*"},
	"tests/team":         {"*"},
	"tests/style":        {},
}

// actorMayImport is what the room of any actor may import.
var actorMayImport = []string{"actors/kernel", "actors/message", "actors/call", "actors/catalog",
	"protocol", "protocol/namespace", "protocol/rawjson", "protocol/seal", "internal/audit", "internal/config", "internal/identity", "internal/policy", "internal/status"}

// clientMayImport is what the actors that serve clients may import.
var clientMayImport = append([]string{"actors/admission", "actors/reply", "actors/clientcalls", "actors/clientsubs", "protocol/downstream"}, actorMayImport...)

// cliMayImport is what the packages of the command line share.
var cliMayImport = []string{"internal/cli/command", "internal/cli/configfile", "internal/cli/console", "internal/cli/local", "internal/cli/output",
	"internal/cli/program", "internal/cli/target", "internal/cli/terminal"}

// commandMayImport is what a room of commands may import.
var commandMayImport = append([]string{"internal/config", "internal/secret", "internal/status", "internal/visible", "protocol", "protocol/namespace"}, cliMayImport...)

// cobraRooms are the rooms that declare commands or flags.
var cobraRooms = []string{"internal/cli", "internal/cli/access", "internal/cli/ask", "internal/cli/benchmark", "internal/cli/command", "internal/cli/configfile",
	"internal/cli/configure", "internal/cli/console", "internal/cli/doctor", "internal/cli/local", "internal/cli/operate", "internal/cli/output", "internal/cli/serve",
	"internal/cli/target", "internal/cli/terminal"}

// foreign says which rooms may import a package from outside, tests aside. What is not named here is free,
// except in protocol, which imports the standard library alone.
var foreign = map[string][]string{
	"github.com/asynkron/protoactor-go":       {"actors/kernel"},
	"github.com/orcaman/concurrent-map":       {"actors/kernel"},
	"github.com/zalando/go-keyring":           {"internal/keyring"},
	"github.com/valyala/fasthttp":             {"protocol/downstream", "protocol/upstream/remote"},
	"github.com/rivo/tview":                   {"tui"},
	"github.com/gdamore/tcell":                {"tui"},
	"github.com/spf13/cobra":                  cobraRooms,
	"github.com/goccy/go-yaml":                {"internal/config"},
	"github.com/tailscale/hujson":             {"internal/desktop"},
	"github.com/fsnotify/fsnotify":            {"internal/config", "internal/serving"},
	"go.etcd.io/bbolt":                        {"actors/store"},
	"github.com/VictoriaMetrics/metrics":      {"internal/status", "internal/admin"},
	"github.com/yosida95/uritemplate":         {"protocol/namespace"},
	"github.com/blevesearch/go-porterstemmer": {"actors/meta"},
	"github.com/mark3labs/mcp-go":             {},                                                                                                                                                                                                                                                      // likewise, and a list of methods to compare with
	"github.com/modelcontextprotocol/go-sdk":  {"internal/oauth"},                                                                                                                                                                                                                                      // a foreign peer in tests
	"net/http":                                {"protocol/downstream", "protocol/upstream", "protocol/upstream/remote", "internal/admin", "bench", "internal/demo", "internal/gatetest", "internal/auth", "internal/ssrf", "internal/oauth", "internal/authtest", "internal/login", "internal/decode"}, // demo, protocol/upstream: names of statuses
	"golang.org/x/perf":                       {"bench"},
	"golang.org/x/time":                       {"internal/policy"},
	"github.com/google/go-cmp":                {},
	"pgregory.net/rapid":                      {},
	"github.com/rogpeppe/go-internal":         {},
	module + "/internal/actortest":            {}, // tests only
	module + "/internal/gatetest":             {},
	module + "/internal/authtest":             {},
	module + "/protocol/upstream/linktest":    {},
	module + "/cmd":                           {},
	module + "/bench":                         {"internal/cli/benchmark", "bench"},
	module + "/tests":                         {},
}

func TestEveryRoomImportsOnlyWhatItMay(t *testing.T) {
	for room, imports := range rooms(t) {
		for _, path := range imports {
			if fault := faultOf(room, path); fault != "" {
				t.Errorf("%s imports %s: %s", room, path, fault)
			}
		}
	}
}

// The table is worth something only if it refuses.
func TestTheTableRefuses(t *testing.T) {
	for _, c := range []struct{ room, path string }{
		{"actors/session", "github.com/asynkron/protoactor-go/actor"},
		{"actors/session", module + "/actors/pool"},
		{"protocol", module + "/protocol/stream"},
		{"protocol/upstream", module + "/protocol/downstream"},
		{"protocol/downstream", module + "/protocol/upstream"},
		{"actors/backend", module + "/protocol/downstream"},
		{"actors/session", module + "/protocol/upstream"},
		{"actors/session", module + "/actors/stateless"},
		{"protocol", "github.com/spf13/cobra"},
		{"internal/config", "net/http"},
		{"protocol/downstream", module + "/actors/kernel"},
		{"internal/status", module + "/internal/actortest"},
		{"internal/cli/ask", module + "/internal/cli/access"},
		{"internal/serving", module + "/internal/cli/command"},
		{"internal/serving", "github.com/spf13/cobra"},
		{"no/such/room", "fmt"},
	} {
		if faultOf(c.room, c.path) == "" {
			t.Errorf("faultOf(%s, %s) finds nothing wrong", c.room, c.path)
		}
	}
}

// faultOf says what is wrong with room importing path; "" when nothing is.
func faultOf(room, path string) string {
	allowed, known := mayImport[room]
	if !known {
		return "the room is not in the table mayImport"
	}
	if owners, guarded := ownersOf(path); guarded && !slices.Contains(owners, room) {
		return fmt.Sprintf("only %v may", owners)
	}
	if own, ours := strings.CutPrefix(path, module+"/"); ours {
		if !slices.Contains(allowed, "*") && !slices.Contains(allowed, own) {
			return fmt.Sprintf("it may import %v", allowed)
		}
		return ""
	}
	if room == "protocol" && strings.Contains(strings.SplitN(path, "/", 2)[0], ".") {
		return "it may import only the standard library"
	}
	return ""
}

// ownersOf returns who may import path, and whether anybody has claimed it.
func ownersOf(path string) ([]string, bool) {
	for prefix, owners := range foreign {
		if path == prefix || strings.HasPrefix(path, prefix+"/") {
			return owners, true
		}
	}
	return nil, false
}

// rooms returns every package of the module with what its non-test files import on any of our systems.
func rooms(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	for _, system := range []string{"linux", "darwin", "windows"} {
		list := exec.Command("go", "list", "-e", "-f", `{{.ImportPath}} {{join .Imports " "}}`, module+"/...")
		list.Env = append(os.Environ(), "GOOS="+system)
		out, err := list.Output()
		if err != nil {
			t.Fatalf("go list for %s: %v", system, err)
		}
		for line := range strings.Lines(string(out)) {
			fields := strings.Fields(line)
			room := strings.TrimPrefix(fields[0], module+"/")
			found[room] = append(found[room], fields[1:]...)
		}
	}
	for room, imports := range found {
		slices.Sort(imports)
		found[room] = slices.Compact(imports)
	}
	if len(found) < 2 {
		t.Fatalf("go list found %d rooms", len(found))
	}
	return found
}
