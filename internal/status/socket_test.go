package status

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestSocketPath(t *testing.T) {
	root := t.TempDir()
	deep := filepath.Join(root, strings.Repeat("d", 120))
	for _, c := range []struct {
		name string
		env  map[string]string
		want string // "" = error
	}{
		{"runtime directory first", map[string]string{"XDG_RUNTIME_DIR": filepath.Join(root, "run"), "XDG_STATE_HOME": filepath.Join(root, "state"), "HOME": root}, filepath.Join(root, "run", "goblin-actor", "8730.sock")},
		{"state directory", map[string]string{"XDG_STATE_HOME": filepath.Join(root, "state"), "HOME": root}, filepath.Join(root, "state", "goblin-actor", "8730.sock")},
		{"home", map[string]string{"HOME": root}, filepath.Join(root, ".local", "state", "goblin-actor", "8730.sock")},
		{"relative is ignored", map[string]string{"XDG_RUNTIME_DIR": "run", "HOME": root}, filepath.Join(root, ".local", "state", "goblin-actor", "8730.sock")},
		{"nothing set", nil, ""},
		{"too long", map[string]string{"XDG_RUNTIME_DIR": deep}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := SocketPath(8730, func(k string) string { return c.env[k] })
			if got != c.want || (err != nil) != (c.want == "") {
				t.Errorf("SocketPath = %q, %v, want %q", got, err, c.want)
			}
			if c.name == "too long" && !errors.Is(err, ErrSocketPathTooLong) {
				t.Errorf("got error %v, want ErrSocketPathTooLong", err)
			}
		})
	}
}

func TestSockets(t *testing.T) {
	root := t.TempDir()
	getenv := func(k string) string { return map[string]string{"XDG_RUNTIME_DIR": root}[k] }
	if got, err := Sockets(getenv); err != nil || len(got) != 0 {
		t.Fatalf("Sockets without a directory = %v, %v, want none", got, err)
	}
	dir := filepath.Join(root, "goblin-actor")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"10000.sock", "8730.sock", "state.db", "x.sock"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Sockets(getenv)
	want := []string{filepath.Join(dir, "8730.sock"), filepath.Join(dir, "10000.sock")}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("Sockets = %v, %v, want %v", got, err, want)
	}
}
