package conformance

import (
	"flag"
	"testing"

	"goblin-actor/protocol"
)

var overBridge = flag.Bool("bridge", false, "run the server scenarios only over goblin-actor stdio --connect")

// bridgeLegs run with -bridge: the suite's requests pass through a second gateway, whose server is a bridge to the first one.
var bridgeLegs = []leg{
	{"bridge-legacy", both, append([]string{protocol.Version20260728}, noTasks...), func(t *testing.T, version string) string {
		return serve(t, bridgeTo(serve(t, fixtureCommand(legacy(version))), legacy(version)))
	}},
	{"bridge-modern", both, few[:2], func(t *testing.T, _ string) string {
		return serve(t, bridgeTo(serve(t, fixtureCommand(protocol.Version20260728)), protocol.Version20260728))
	}},
}

func bridgeTo(url, version string) map[string]any {
	return map[string]any{"command": gatewayBinary, "args": []string{"stdio", "--connect", url}, "protocol": version, "isolation": "class"}
}
