package main

import (
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"

	"goblin-actor/internal/config"
)

// module is the path of this module. Packages are named without it.
var module = strings.TrimSuffix(reflect.TypeFor[config.Config]().PkgPath(), "/internal/config")

// mayImport lists the packages of the module that each package may import, except in tests. Every package must be
// listed. "*" stands for every package. docs/architecture.md explains the table.
var mayImport = map[string][]string{
	"cmd/goblin-actor":        {"internal/cli"},
	"gateway":                 {"protocol/rawjson", "actors", "protocol", "internal/client", "internal/config", "internal/decode", "internal/inprocess", "internal/secret", "internal/status", "internal/serving", "protocol/downstream", "protocol/upstream/embedded"},
	"gateway/mcpgo":           {"gateway", "internal/decode", "protocol"},
	"gateway/gosdk":           {"gateway"},
	"bench":                   {"bench/load", "bench/process", "bench/report", "bench/server", "bench/stats", "bench/wire"},
	"bench/limits":            {"bench/load", "bench/process", "bench/report", "bench/server", "bench/stats", "bench/wire"},
	"bench/load":              {"bench/process", "bench/stats", "bench/wire", "protocol"},
	"bench/process":           {"bench/wire"},
	"bench/server":            {"bench/wire", "protocol"},
	"bench/wire":              {},
	"bench/report":            {"bench/plot", "bench/stats"},
	"bench/plot":              {},
	"bench/stats":             {},
	"tui":                     {"internal/form", "internal/status", "internal/visible"},
	"contrib/release/pages":   {"internal/cli"},
	"contrib/release/publish": {},
	"contrib/container":       {},
	"contrib/npm":             {},
	"contrib/pypi":            {},
	"contrib/registry/check":  {},

	"actors": append([]string{"protocol/rawjson", "protocol/upstream", "protocol/upstream/embedded", "actors/admission", "actors/membership", "actors/clientcalls", "actors/clientsubs", "actors/registry", "actors/pool", "actors/backend", "actors/session", "actors/stateless", "actors/subscription", "actors/monitor", "actors/store", "actors/meta",
		"protocol/downstream", "protocol/stream", "actors/token", "actors/claim", "internal/cluster", "internal/ssrf", "internal/oauth", "internal/login", "internal/masterkey", "internal/secret"}, actorMayImport...),
	"actors/kernel":       {},
	"actors/catalog":      {"protocol/toolschema", "protocol/rawjson", "actors/kernel", "protocol", "protocol/namespace", "internal/config", "internal/filter", "internal/identity", "internal/policy", "internal/status"},
	"actors/message":      {"protocol/rawjson", "actors/kernel", "actors/catalog", "protocol", "protocol/seal", "protocol/downstream", "internal/audit", "internal/cluster", "internal/config", "internal/identity", "internal/policy", "internal/status", "internal/trace"},
	"actors/call":         {"actors/message", "protocol"},
	"actors/registry":     actorMayImport,
	"actors/pool":         append([]string{"actors/backend", "internal/cluster", "protocol/stream", "protocol/upstream", "protocol/upstream/process", "protocol/upstream/remote", "protocol/upstream/embedded", "internal/secret"}, actorMayImport...), // starts backends
	"actors/backend":      append([]string{"protocol/stream", "protocol/upstream"}, actorMayImport...),                                                                                                                                                 // does not see messages between clients and the gateway
	"actors/admission":    append([]string{"protocol/toolschema", "protocol/downstream"}, actorMayImport...),
	"actors/reply":        {"protocol/rawjson", "actors/kernel", "protocol", "protocol/downstream", "internal/status"},
	"actors/clientcalls":  append([]string{"actors/admission", "actors/reply", "protocol/downstream"}, actorMayImport...),
	"actors/clientsubs":   append([]string{"actors/admission", "protocol/downstream"}, actorMayImport...),
	"actors/session":      append([]string{"protocol/stream", "internal/cluster"}, clientMayImport...), // like the next two packages, it never sees connections to servers
	"actors/stateless":    clientMayImport,
	"actors/subscription": clientMayImport,
	"actors/meta":         actorMayImport,
	"actors/membership":   append([]string{"internal/cluster"}, actorMayImport...),
	"actors/monitor":      actorMayImport,
	"actors/store":        append([]string{"internal/masterkey"}, actorMayImport...),
	"actors/claim":        {},
	"actors/token":        append([]string{"actors/claim", "internal/oauth", "protocol/upstream"}, actorMayImport...), // does not see MCP messages

	"protocol":                   {"protocol/rawjson"},
	"protocol/rawjson":           {},
	"protocol/namespace":         {},
	"protocol/toolschema":        {"protocol/rawjson"},
	"protocol/seal":              {"protocol/rawjson", "protocol"},
	"protocol/stream":            {"protocol"},
	"protocol/coding":            {},
	"protocol/downstream":        {"protocol", "protocol/stream", "internal/identity", "internal/poll", "internal/trace"},
	"protocol/upstream":          {"protocol", "protocol/stream"},
	"protocol/upstream/process":  {"protocol", "protocol/stream", "protocol/upstream", "internal/secret"},
	"protocol/upstream/remote":   {"protocol/rawjson", "protocol", "protocol/coding", "protocol/stream", "protocol/upstream", "internal/pattern"},
	"protocol/upstream/embedded": {"protocol", "protocol/stream", "protocol/upstream"},
	"protocol/upstream/pipe":     {"protocol", "protocol/upstream"},
	"protocol/upstream/linktest": {"protocol/upstream"}, // for tests only

	"internal/audit":              {"internal/decode"},
	"internal/pattern":            {},
	"internal/visible":            {},
	"internal/decode":             {"internal/visible"},
	"internal/form":               {"internal/decode", "internal/secret", "internal/visible", "protocol"},
	"internal/lint":               {"protocol/toolschema", "protocol/rawjson", "protocol", "internal/visible"},
	"internal/identity":           {},
	"internal/ssrf":               {"internal/status"},
	"internal/oauth":              {"internal/decode", "internal/ssrf"},
	"internal/authtest":           {}, // for tests only
	"internal/secret":             {"internal/pattern"},
	"internal/filter":             {"internal/config"},
	"internal/policy":             {"protocol/namespace", "protocol", "internal/config", "internal/filter", "internal/identity"},
	"internal/masterkey":          {},
	"internal/cluster":            {"internal/decode"},
	"internal/bus":                {},
	"internal/bus/fabric":         {"internal/bus"}, // for tests only
	"internal/node":               {"actors", "internal/admin", "internal/bus", "internal/cluster", "internal/config", "internal/relay", "internal/serving", "internal/status", "protocol/downstream", "protocol/stream", "protocol/upstream"},
	"internal/poll":               {},
	"internal/relay":              {"actors/message", "internal/cluster", "internal/identity", "internal/poll", "protocol", "protocol/downstream", "protocol/stream"},
	"internal/keyring":            {},
	"internal/config":             {"protocol/namespace", "protocol", "internal/cluster", "internal/secret", "internal/pattern", "internal/keyring", "internal/ssrf"},
	"internal/status":             {"protocol", "internal/identity", "internal/pattern", "internal/trace"},
	"internal/trace":              {},
	"internal/telemetry":          {"internal/config", "internal/secret", "internal/status", "internal/trace", "protocol", "protocol/downstream", "protocol/rawjson"},
	"internal/admin":              {"internal/decode", "internal/status", "internal/identity"},
	"internal/auth":               {"protocol/namespace", "protocol", "protocol/downstream", "internal/identity", "internal/status"},
	"internal/login":              {"internal/decode", "internal/identity", "internal/visible"},
	"internal/client":             {"protocol/rawjson", "internal/decode", "protocol", "protocol/upstream", "protocol/upstream/remote", "internal/secret"},
	"internal/inprocess":          {"actors", "protocol/downstream", "internal/client", "internal/config"},
	"internal/desktop":            {"internal/config", "internal/decode", "internal/secret", "internal/pattern"},
	"internal/demo":               {"protocol/rawjson", "internal/decode", "protocol", "protocol/namespace", "protocol/seal", "protocol/downstream"},
	"internal/actortest":          {"*"},                                                     // for tests only
	"internal/telemetry/otlptest": {},                                                        // for tests only
	"internal/gatetest":           {"internal/admin", "internal/cluster", "internal/status"}, // for tests only
	"internal/fieldtest":          {},                                                        // for tests only

	"internal/config/docgen": {"internal/config"}, // for go generate

	// The packages of the command line. Command packages do not import each other. The exception is benchmark, which
	// imports serve to run a hidden variant of that command.
	"internal/cli":            append([]string{"internal/cli/access", "internal/cli/ask", "internal/cli/benchmark", "internal/cli/configure", "internal/cli/doctor", "internal/cli/operate", "internal/cli/serve", "internal/cli/service", "internal/secret"}, cliMayImport...),
	"internal/cli/access":     append([]string{"actors", "actors/catalog", "actors/store", "internal/admin", "internal/audit", "internal/auth", "internal/client", "internal/cluster", "internal/filter", "internal/identity", "internal/login", "internal/policy", "internal/serving"}, commandMayImport...),
	"internal/cli/ask":        append([]string{"protocol/rawjson", "actors/message", "internal/admin", "internal/client", "internal/decode", "internal/form", "internal/pattern"}, commandMayImport...),
	"internal/cli/benchmark":  append([]string{"bench", "bench/limits", "bench/process", "bench/report", "bench/server", "internal/cli/serve", "internal/client", "internal/decode"}, commandMayImport...),
	"internal/cli/configure":  append([]string{"actors", "internal/admin", "internal/desktop", "internal/lint", "internal/rollout", "internal/serving"}, commandMayImport...),
	"internal/rollout":        {"actors/message", "internal/config", "internal/status"},
	"internal/cli/doctor":     append([]string{"actors", "actors/catalog", "actors/message", "internal/lint", "internal/pattern", "internal/serving"}, commandMayImport...),
	"internal/cli/operate":    append([]string{"internal/admin", "internal/serving", "tui"}, commandMayImport...),
	"internal/cli/serve":      append([]string{"actors", "internal/admin", "internal/client", "internal/demo", "internal/login", "internal/node", "internal/pattern", "internal/serving", "protocol/downstream", "protocol/stream", "protocol/upstream/process", "tui"}, commandMayImport...),
	"internal/cli/service":    commandMayImport,
	"internal/cli/command":    {"internal/cli/program", "internal/cli/terminal", "internal/config", "internal/secret", "protocol/upstream/process"},
	"internal/cli/configfile": {"internal/cli/command", "internal/cli/program", "internal/cli/terminal", "internal/config", "internal/secret", "internal/serving"},
	"internal/cli/console":    append([]string{"internal/login", "tui"}, commandMayImport...),
	"internal/cli/local":      append([]string{"actors", "actors/catalog", "internal/client", "internal/inprocess", "internal/lint", "internal/serving"}, commandMayImport...),
	"internal/cli/output":     {"actors/message", "internal/cli/terminal", "internal/pattern", "internal/status", "internal/visible"},
	"internal/cli/program":    {"internal/config"},
	"internal/cli/target":     append([]string{"internal/admin", "internal/auth", "internal/client"}, commandMayImport...),
	"internal/cli/terminal":   {"internal/client", "internal/visible"},
	"internal/serving":        {"actors", "actors/message", "internal/admin", "internal/audit", "internal/auth", "internal/client", "internal/cluster", "internal/config", "internal/form", "internal/identity", "internal/inprocess", "internal/keyring", "internal/login", "internal/masterkey", "internal/policy", "internal/secret", "internal/status", "internal/telemetry", "internal/visible", "protocol/downstream"},

	"tests/interop":             {"*"},
	"tests/conformance":         {"*"},
	"tests/conformance/fixture": {"internal/demo"},
	"tests/faults":              {"*"},
	"tests/proxy":               {"*"},
	"tests/sim":                 {"*"},
	"tests/sim/pipeclient":      {"protocol/downstream", "protocol/stream"},
	"tests/requirements":        {"*"},
	"tests/attacks":             {"*"},
	"tests/logins":              {"*"},
	"tests/team":                {"*"},
	"tests/monitoring":          {"*"},
	"tests/style":               {},
}

// actorMayImport lists what every actor may import.
var actorMayImport = []string{"actors/kernel", "actors/message", "actors/call", "actors/catalog",
	"protocol", "protocol/namespace", "protocol/rawjson", "protocol/seal", "internal/audit", "internal/config", "internal/identity", "internal/policy", "internal/status", "internal/trace"}

// clientMayImport lists what the actors that serve clients may import.
var clientMayImport = append([]string{"actors/admission", "actors/reply", "actors/clientcalls", "actors/clientsubs", "protocol/downstream"}, actorMayImport...)

// cliMayImport lists what all packages of the command line may import.
var cliMayImport = []string{"internal/cli/command", "internal/cli/configfile", "internal/cli/console", "internal/cli/local", "internal/cli/output",
	"internal/cli/program", "internal/cli/target", "internal/cli/terminal"}

// commandMayImport lists what command packages may import.
var commandMayImport = append([]string{"internal/config", "internal/secret", "internal/status", "internal/visible", "protocol", "protocol/namespace"}, cliMayImport...)

// cobraPackages lists the packages that declare commands or flags, or generate pages about them.
var cobraPackages = []string{"internal/cli", "internal/cli/access", "internal/cli/ask", "internal/cli/benchmark", "internal/cli/command", "internal/cli/configfile",
	"internal/cli/configure", "internal/cli/console", "internal/cli/doctor", "internal/cli/local", "internal/cli/operate", "internal/cli/output", "internal/cli/serve", "internal/cli/service",
	"internal/cli/target", "internal/cli/terminal", "contrib/release/pages"}

// foreign lists which packages may import an external package, net/http, or a restricted package of the module, except
// in tests. An external package that is not listed may be imported anywhere except in package protocol.
var foreign = map[string][]string{
	"github.com/asynkron/protoactor-go":       {"actors/kernel"},
	"github.com/orcaman/concurrent-map":       {"actors/kernel"},
	"github.com/zalando/go-keyring":           {"internal/keyring"},
	"github.com/valyala/fasthttp":             {"internal/relay", "protocol/downstream", "protocol/upstream/remote"},
	"github.com/rivo/tview":                   {"tui"},
	"github.com/gdamore/tcell":                {"tui"},
	"github.com/spf13/cobra":                  cobraPackages,
	"github.com/goccy/go-yaml":                {"internal/config", "internal/gatetest"},
	"github.com/tailscale/hujson":             {"internal/desktop"},
	"github.com/fsnotify/fsnotify":            {"internal/config", "internal/serving"},
	"go.etcd.io/bbolt":                        {"actors/store"},
	"github.com/VictoriaMetrics/metrics":      {"internal/status", "internal/admin"},
	"github.com/yosida95/uritemplate":         {"protocol/namespace"},
	"github.com/blevesearch/go-porterstemmer": {"actors/meta"},
	"github.com/mark3labs/mcp-go":             {"gateway/mcpgo"},                                                                                                                                                                                                                                                                                                                                           // and tests, as an independent peer
	"github.com/modelcontextprotocol/go-sdk":  {"internal/oauth", "gateway/gosdk"},                                                                                                                                                                                                                                                                                                                         // and tests, as an independent peer
	"net/http":                                {"gateway", "protocol/downstream", "protocol/upstream", "protocol/upstream/remote", "internal/admin", "bench/server", "bench/wire", "internal/demo", "internal/gatetest", "internal/auth", "internal/relay", "internal/ssrf", "internal/oauth", "internal/authtest", "internal/login", "internal/decode", "internal/telemetry/otlptest", "internal/client"}, // client, demo and protocol/upstream use only the names of statuses
	"github.com/coreos/go-systemd":            {"internal/cli/serve"},
	"golang.org/x/perf":                       {"bench/report"},
	"github.com/nats-io":                      {"internal/bus"},
	"golang.org/x/time":                       {"internal/policy"},
	"go.opentelemetry.io":                     {"internal/telemetry", "internal/telemetry/otlptest"},
	"github.com/go-logr/logr":                 {"internal/telemetry"},
	"github.com/google/go-cmp":                {},
	"pgregory.net/rapid":                      {},
	"github.com/rogpeppe/go-internal":         {},
	module + "/internal/actortest":            {}, // tests only
	module + "/internal/gatetest":             {},
	module + "/internal/fieldtest":            {},
	module + "/internal/authtest":             {},
	module + "/internal/bus/fabric":           {"tests/sim"},
	module + "/protocol/upstream/linktest":    {},
	module + "/cmd":                           {},
	module + "/bench":                         {"internal/cli/benchmark", "bench", "bench/limits", "bench/load", "bench/process", "bench/report", "bench/server"},
	module + "/tests":                         {"tests/sim"},
}

func TestAllowedImports(t *testing.T) {
	for pkg, imports := range packages(t) {
		for _, path := range imports {
			if fault := faultOf(pkg, path); fault != "" {
				t.Errorf("%s imports %s: %s", pkg, path, fault)
			}
		}
	}
}

// The program does not link the MCP libraries: only Go programs that use gateway/mcpgo and gateway/gosdk do.
func TestProgramLinksNoLibrary(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", module+"/cmd/goblin-actor").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "github.com/mark3labs/mcp-go") || strings.HasPrefix(line, "github.com/modelcontextprotocol/go-sdk/mcp") {
			t.Errorf("the program links %s", strings.TrimSpace(line))
		}
	}
}

// The table must reject forbidden imports.
func TestForbiddenImports(t *testing.T) {
	for _, c := range []struct{ pkg, path string }{
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
		{"no/such/pkg", "fmt"},
	} {
		if faultOf(c.pkg, c.path) == "" {
			t.Errorf("faultOf(%s, %s) finds no fault", c.pkg, c.path)
		}
	}
}

// faultOf explains why pkg must not import path, or returns "" if the import is allowed.
func faultOf(pkg, path string) string {
	allowed, known := mayImport[pkg]
	if !known {
		return "the package is not in the table mayImport"
	}
	if owners, guarded := ownersOf(path); guarded && !slices.Contains(owners, pkg) {
		return fmt.Sprintf("only %v may", owners)
	}
	if own, ours := strings.CutPrefix(path, module+"/"); ours {
		if !slices.Contains(allowed, "*") && !slices.Contains(allowed, own) {
			return fmt.Sprintf("it may import %v", allowed)
		}
		return ""
	}
	if pkg == "protocol" && strings.Contains(strings.SplitN(path, "/", 2)[0], ".") {
		return "it may import only the standard library"
	}
	return ""
}

// ownersOf returns the packages that may import path, and whether the table restricts path.
func ownersOf(path string) ([]string, bool) {
	for prefix, owners := range foreign {
		if path == prefix || strings.HasPrefix(path, prefix+"/") {
			return owners, true
		}
	}
	return nil, false
}

// packages returns every package of the module with its imports, without tests, on all supported systems.
func packages(t *testing.T) map[string][]string {
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
			pkg := strings.TrimPrefix(fields[0], module+"/")
			found[pkg] = append(found[pkg], fields[1:]...)
		}
	}
	for pkg, imports := range found {
		slices.Sort(imports)
		found[pkg] = slices.Compact(imports)
	}
	if len(found) < 2 {
		t.Fatalf("go list found %d packages", len(found))
	}
	return found
}
