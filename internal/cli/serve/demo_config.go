package serve

import (
	"fmt"
	"os"

	"goblin-actor/internal/config"
)

// demoConfig is what serve runs without a configuration: the built-in demo servers, as processes of this program.
func demoConfig() (*config.Config, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program to run the demo servers with it: %w", err)
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
