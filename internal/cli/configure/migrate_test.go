package configure

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// If another program changes the client's file before migrate writes it, the file stays as it is and the configuration
// is restored.
func TestMigrateRollsBack(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"GOBLIN_CONFIG", "TOKEN"} {
		t.Setenv(name, "")
		os.Unsetenv(name)
	}
	client, own, vars := filepath.Join(dir, "mcp.json"), filepath.Join(dir, "goblin.yaml"), filepath.Join(dir, "secrets.env")
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(client, `{"mcpServers": {"a": {"command": "x", "env": {"TOKEN": "hunter2"}}}}`)
	for _, before := range []string{"", "# mine\nmcpServers: {}\n"} {
		if before != "" {
			write(own, before)
		}
		cmd := NewMigrate()
		var out, errOut bytes.Buffer
		cmd.SetOut(&out)
		cmd.SetErr(&errOut)
		m, err := planMigration(cmd, "cursor", migrateOptions{into: own, file: client, name: "goblin", yes: true})
		if err != nil {
			t.Fatal(err)
		}
		write(client, `{"mcpServers": {"a": {"command": "y"}}}`)
		if err := m.write(cmd); err == nil || !strings.Contains(err.Error(), "has changed since it was read") {
			t.Errorf("write: %v", err)
		}
		now, err := os.ReadFile(own)
		if before == "" && !os.IsNotExist(err) || before != "" && string(now) != before {
			t.Errorf("the configuration was %q and is now %q, %v", before, now, err)
		}
		if _, err := os.Stat(vars); !os.IsNotExist(err) {
			t.Errorf("the secrets file still exists: %v", err)
		}
		if !strings.Contains(errOut.String(), "all other changes were rolled back") {
			t.Errorf("stderr:\n%s", errOut.String())
		}
		write(client, `{"mcpServers": {"a": {"command": "x", "env": {"TOKEN": "hunter2"}}}}`)
	}
}
