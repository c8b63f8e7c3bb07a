package pool

import (
	"testing"

	"goblin-actor/internal/config"
)

// eraIdentity of a server with a relative command depends on the directory of the configuration file. With a bare name,
// which is looked up in PATH, or an absolute path, it does not.
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
