package interop

import (
	"os"
	"os/exec"
	"testing"
)

// sdkClient is a client in another language: a process that holds the conversations of python/client.py.
type sdkClient struct {
	pyClient
	start func(t *testing.T) *exec.Cmd
}

// needProgram skips the test if the peers of a language are not built. A make target for each SDK builds them and runs the test.
func needProgram(t *testing.T, file, how string) {
	t.Helper()
	if _, err := os.Stat(file); err != nil {
		t.Skip("the peers are not built; " + how)
	}
}

// testSDK holds each conversation of the clients with the servers directly and then through the gateway, like TestPython.
func testSDK(t *testing.T, clients []sdkClient, servers []*pyServer, known knownLimits) {
	awaitServers(t, servers)
	config := map[string]any{}
	for _, s := range servers {
		config[s.name()] = s.config
	}
	g := serve(t, config)
	awaitReady(t, g)
	used := newUses(known)
	for _, c := range clients {
		t.Run(c.name, func(t *testing.T) {
			p := startClient(t, c.start(t))
			for _, s := range servers {
				if chosenName(c.name + " with " + s.name()) {
					t.Run(s.name(), func(t *testing.T) { meet(t, p, c.pyClient, s, g, used) })
				}
			}
		})
	}
	if *only == "" && !t.Failed() {
		used.check(t)
	}
}
