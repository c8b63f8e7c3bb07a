package serve

import (
	"fmt"
	"os"

	"goblin-actor/internal/config"
)

// demoConfig returns the configuration that serve and stdio use without a file: the built-in demo servers notes and
// clock, run as processes of this program.
func demoConfig() (*config.Config, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the path of this program, which runs the demo servers: %w", err)
	}
	cfg := config.Default()
	for i, name := range []string{"notes", "clock"} {
		server := config.DefaultServer()
		server.Name, server.Written, server.Order = name, name, i
		server.Command, server.Args = self, []string{"demo", name}
		cfg.Servers = append(cfg.Servers, server)
	}
	return &cfg, nil
}
