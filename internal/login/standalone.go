package login

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"

	"goblin-actor/internal/identity"
)

// Standalone returns pages with a local listener of their own, for a gateway without one. Such a gateway serves a
// client on stdin, whose user has a browser on this machine. The listener starts when the first URL is requested. The
// function stop stops it.
func Standalone() (p *Pages, stop func()) {
	s := &standalone{}
	p = New(s.address)
	s.pages = p
	return p, s.stop
}

type standalone struct {
	pages *Pages

	mu     sync.Mutex
	base   string
	server *http.Server
	ended  bool
}

// address returns the listener's URL and starts it at the first call. It returns "" if that fails, and after stop.
func (s *standalone) address() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.base != "" || s.ended {
		return s.base
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return ""
	}
	host := l.Addr().String()
	s.server = &http.Server{ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, MaxHeaderBytes: 16 << 10, Handler: s.handler(host)}
	s.base = "http://" + host
	go func() { _ = s.server.Serve(l) }()
	return s.base
}

// handler serves requests to the listener's own address only. Another host name could belong to a DNS rebinding attack.
func (s *standalone) handler(host string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := s.pages.Handler(r.URL.Path)
		switch {
		case r.Host != host:
			http.Error(w, "unknown host", http.StatusForbidden)
		case h == nil:
			http.NotFound(w, r)
		default:
			h.ServeHTTP(w, r.WithContext(identity.In(r.Context(), identity.Local)))
		}
	})
}

func (s *standalone) stop() {
	s.mu.Lock()
	server := s.server
	s.base, s.ended = "", true
	s.mu.Unlock()
	if server == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if server.Shutdown(ctx) != nil {
		_ = server.Close()
	}
}
