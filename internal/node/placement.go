package node

import "goblin-actor/internal/config"

// place marks the servers that this version cannot run in a cluster, so that no node starts them: those that must run on one
// node only.
func place(cfg *config.Config) {
	for i := range cfg.Servers {
		s := &cfg.Servers[i]
		mark(s)
		for j := range s.Members {
			mark(&s.Members[j])
		}
	}
}

func mark(s *config.Server) {
	if s.Fault == "" && s.Run != "" && s.Run != config.RunEach {
		s.Fault = "run: " + s.Run + " does not work yet; this version supports only run: each"
	}
}
