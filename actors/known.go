package actors

import (
	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/actors/pool"
)

// maxKnown bounds how many catalogs are kept for servers that may be started again: of a file that is edited all day each
// version counts.
const maxKnown = 1024

// rememberCatalog keeps what a server offers for the next pool of it, and for the next start.
func (s *state) rememberCatalog(m message.RememberCatalog, out []kernel.Effect) []kernel.Effect {
	if _, has := s.known[m.Server]; has || len(s.known) < maxKnown {
		if s.known == nil {
			s.known = map[string]*message.KnownCatalog{}
		}
		s.known[m.Server] = m.Known
	}
	return append(out, kernel.Tell(s.store, m))
}

// awaited counts the servers that the client on stdin and stdout waits for (admission.StartWait). A server that has never been seen
// holds nobody up, unless none has: then there would be nothing to show at all.
func (s *state) awaited() int {
	known := 0
	for _, server := range s.config.Servers {
		if !server.Disabled && server.Fault == "" && s.known[pool.CatalogIdentity(server)] != nil {
			known++
		}
	}
	if known > 0 {
		return known
	}
	return s.enabled()
}
