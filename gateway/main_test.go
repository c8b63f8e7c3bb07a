package gateway_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"goblin-actor/gateway"
	"goblin-actor/internal/demo"
	"goblin-actor/internal/gatetest"
)

// demoVariable makes the test program run as the demo server that the variable names.
const demoVariable = "GATEWAY_TEST_DEMO"

// oddVariable makes the test program run as a misbehaving server in the mode that the variable names (gatetest.ServeOdd).
const oddVariable = "GATEWAY_TEST_ODD"

func TestMain(m *testing.M) {
	if name := os.Getenv(demoVariable); name != "" {
		serve(name)
		return
	}
	if mode := os.Getenv(oddVariable); mode != "" {
		if err := gatetest.ServeOdd(mode, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func serve(name string) {
	s, err := demo.Named(name)
	if name == "shapes" {
		s, err = shapes(), nil
	}
	if err == nil {
		err = demo.ServeStdio(context.Background(), s, os.Stdin, os.Stdout, slog.New(slog.DiscardHandler))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// shapes returns a server whose tools hang until they are canceled, add a tool, or fail. It has a small and a large
// resource.
func shapes() *demo.Server {
	s := demo.New("shapes", "1")
	add := func(name, about string, handle demo.Handler) {
		s.AddTool(demo.Tool{Name: name, Description: about, Handle: handle})
	}
	add("hang", "Hang until canceled", func(c *demo.Call) (any, error) {
		c.Progress(1, 2, "hanging")
		<-c.Context.Done()
		if path := os.Getenv("CANCELLED_FILE"); path != "" {
			_ = os.WriteFile(path, []byte("cancelled"), 0o600)
		}
		return nil, c.Context.Err()
	})
	add("grow", "Add a tool", func(*demo.Call) (any, error) {
		s.AddTool(demo.Tool{Name: "fresh", Description: "The added tool", Handle: func(*demo.Call) (any, error) { return demo.Text("fresh"), nil }})
		return demo.Text("grown"), nil
	})
	add("fail", "Fail", func(*demo.Call) (any, error) { return nil, fmt.Errorf("it failed") })
	for name, size := range map[string]int{"small": 1 << 10, "large": 1 << 20} {
		uri := "shape:///" + name
		s.SetResource(demo.Resource{URI: uri, Name: name, Handle: func(*demo.Call) (any, error) {
			return demo.ReadResult{Contents: []demo.ResourceText{{URI: uri, MIMEType: "text/plain", Text: strings.Repeat("x", size)}}}, nil
		}})
	}
	return s
}

// demoServer returns the named demo server. It runs as a process of the test program.
func demoServer(name string) gateway.Server {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return gateway.Server{Command: self, Env: map[string]string{demoVariable: name}}
}

// soon bounds how long the tests wait.
const soon = time.Minute
