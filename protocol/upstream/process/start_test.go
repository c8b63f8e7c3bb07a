package process

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"goblin-actor/protocol/upstream"
	"goblin-actor/protocol/upstream/linktest"
)

func TestProcessNotFound(t *testing.T) {
	for _, test := range []struct {
		name string
		o    Options
		want []string
	}{
		{"on path", Options{Command: "no-such-server", Env: []string{"PATH=/bin:/usr/bin"}}, []string{`"no-such-server"`, "not found on PATH", "/bin:/usr/bin"}},
		{"no path", Options{Command: "sh"}, []string{`"sh"`, "not found on PATH"}},
		{"relative path entries", Options{Command: "process_test.go", Env: []string{"PATH=.:"}}, []string{"not found on PATH"}},
		{"file", Options{Command: "./no-such-server", Dir: "/"}, []string{`"./no-such-server"`, "no executable file"}},
		{"not executable", Options{Command: "./process_test.go"}, []string{"is not executable"}},
		{"nowhere", Options{Command: "./no-such-server", Base: "/etc", Dir: "/"}, []string{filepath.Join("/etc", "no-such-server") + " or "}},
		{"empty", Options{}, []string{"no command given"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := linktest.New(t)
			l := Open(test.o, r.Sink)
			c := linktest.Wait[upstream.Closed](r, 1)
			if !errors.Is(c.Err, upstream.ErrProgramNotFound) {
				t.Fatalf("Closed{%v}, want %v", c.Err, upstream.ErrProgramNotFound)
			}
			for _, want := range test.want {
				if !strings.Contains(c.Err.Error(), want) {
					t.Errorf("error %q does not contain %q", c.Err, want)
				}
			}
			l.Close(0)
			l.Send(upstream.Outgoing{Ticket: 1, Frame: linktest.Request(1)})
		})
	}
	t.Run("directory", func(t *testing.T) {
		r := linktest.New(t)
		o := childOptions(t, "echo")
		o.Dir = "/no/such/dir"
		Open(o, r.Sink)
		if c := linktest.Wait[upstream.Closed](r, 1); c.Err == nil || !strings.Contains(c.Err.Error(), "working directory") {
			t.Errorf("Closed{%v}", c.Err)
		}
	})
	t.Run("no program at all", func(t *testing.T) {
		file := t.TempDir() + "/broken"
		if err := os.WriteFile(file, []byte("\x7fELF nonsense"), 0o755); err != nil {
			t.Fatal(err)
		}
		r := linktest.New(t)
		Open(Options{Command: file}, r.Sink)
		if c := linktest.Wait[upstream.Closed](r, 1); c.Err == nil || !strings.Contains(c.Err.Error(), file) {
			t.Errorf("Closed{%v}", c.Err)
		}
	})
}

// The child gets only the configured environment, not the gateway's.
func TestProcessEnvironment(t *testing.T) {
	t.Setenv("SECRET_OF_THE_GATEWAY", "x")
	r := linktest.New(t)
	Open(Options{Command: "sh", Args: []string{"-c", `printf '{"jsonrpc":"2.0","method":"env","params":{"a":"%s","b":"%s","dir":"%s"}}\n' "$A" "$SECRET_OF_THE_GATEWAY" "$PWD"`},
		Env: []string{"A=1", "PATH=/usr/bin:/bin"}, Dir: "/"}, r.Sink)
	if got := string(linktest.Wait[upstream.Received](r, 1).Frame.Raw); !strings.Contains(got, `{"a":"1","b":"","dir":"/"}`) {
		t.Errorf("the child's environment is %s", got)
	}
	linktest.Wait[upstream.Closed](r, 1)
}
