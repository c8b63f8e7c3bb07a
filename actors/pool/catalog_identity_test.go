package pool

import (
	"testing"

	"goblin-actor/internal/config"
)

// A relative command depends on the directory of the configuration file. A bare name, which is looked up in PATH, does not.
func TestIdentityOfRelativeCommands(t *testing.T) {
	id := func(command, base string) string {
		server := config.DefaultServer()
		server.Name, server.Command, server.Base = "a", command, base
		return eraIdentity(server, 0)
	}
	if id("./server", "/a") == id("./server", "/b") {
		t.Error("relative commands of different directories have the same identity")
	}
	if id("server", "/a") != id("server", "/b") || id("/bin/server", "/a") != id("/bin/server", "/b") {
		t.Error("a bare command has different identities")
	}
}
