package mcpgo_test

import (
	"context"
	"sync"

	"github.com/mark3labs/mcp-go/server"
)

// watched holds the sessions of the tests' servers.
var watched = sessions{by: map[server.ClientSession]bool{}}

type sessions struct {
	mu sync.Mutex
	by map[server.ClientSession]bool
}

func (s *sessions) set(session server.ClientSession, there bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if there {
		s.by[session] = true
	} else {
		delete(s.by, session)
	}
}

func (s *sessions) all() (all []server.ClientSession) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for session := range s.by {
		all = append(all, session)
	}
	return all
}

// watch records the sessions of s in watched, using hooks of the library.
func watch(s *server.MCPServer) *server.MCPServer {
	hooks := &server.Hooks{}
	hooks.AddOnRegisterSession(func(_ context.Context, session server.ClientSession) { watched.set(session, true) })
	hooks.AddOnUnregisterSession(func(_ context.Context, session server.ClientSession) { watched.set(session, false) })
	server.WithHooks(hooks)(s)
	return s
}
