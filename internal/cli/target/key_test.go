package target

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"goblin-actor/internal/auth"
	"goblin-actor/internal/client"
)

// Without --plain-http, a key is sent unencrypted only to this machine, for every form of address and every origin of
// the key.
func TestKeyOverPlainHTTP(t *testing.T) {
	key, _ := auth.NewKey()
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte(key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	none, inVariable := func(string) string { return "" }, func(string) string { return key }
	for address, goes := range map[string]bool{
		"": true, "8730": true, "localhost:8730": true, "http://127.9.9.9/mcp": true, "[::1]:8730": true, ":8730": true,
		"https://mcp.example.com": true, "https://192.0.2.7:8730": true,
		"mcp.example.com:8730": false, "http://mcp.example.com": false, "192.0.2.7:8730": false, "http://10.0.0.7": false,
		"localhost.example.com:8730": false, "http://127.0.0.1.example.com": false, "[fe80::1]:8730": false, "0.0.0.0:8730": false,
	} {
		at, err := client.ParseAddress(address)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		for _, f := range []struct {
			KeyFlag
			getenv func(string) string
		}{{KeyFlag{file: file}, none}, {KeyFlag{}, inVariable}} {
			got, err := f.ForGateway(at, f.getenv, &out)
			if (err == nil) != goes || err != nil && strings.Contains(err.Error(), key) {
				t.Errorf("to %q: %v", address, err)
			}
			if goes && got != key {
				t.Errorf("to %q: got %q", address, got)
			}
		}
		if got, err := (&KeyFlag{file: file, plain: true}).ForGateway(at, none, &out); err != nil || got != key {
			t.Errorf("to %q with --plain-http: %q, %v", address, got, err)
		}
		if got, err := (&KeyFlag{}).ForGateway(at, none, &out); err != nil || got != "" {
			t.Errorf("to %q without a key: %q, %v", address, got, err)
		}
	}
}
