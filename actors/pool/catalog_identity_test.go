package pool

import (
	"testing"

	"goblin-actor/internal/config"
)

// A relative program is another one beside another file; a bare name, found on PATH, is not.
func TestIdentityOfRelativeCommands(t *testing.T) {
	id := func(command, base string) string {
		server := config.DefaultServer()
		server.Name, server.Command, server.Base = "a", command, base
		return eraIdentity(server, 0)
	}
	if id("./server", "/a") == id("./server", "/b") {
		t.Error("programs beside different files are taken for one")
	}
	if id("server", "/a") != id("server", "/b") || id("/bin/server", "/a") != id("/bin/server", "/b") {
		t.Error("one program is taken for two")
	}
}
