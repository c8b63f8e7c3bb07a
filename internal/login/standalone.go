package login

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"

	"goblin-actor/internal/identity"
)

// Standalone returns pages with a listener of their own on this machine, for a gateway that has none: it serves one client on stdin, whose
// user has a browser here. Nobody listens before the first URL is wanted. stop ends it.
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

// address listens when it is asked for the first time; "" = that is not possible.
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

// handler serves whoever calls the listener by its own address: a name that leads here would be another site's.
func (s *standalone) handler(host string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := s.pages.Handler(r.URL.Path)
		switch {
		case r.Host != host:
			http.Error(w, "not for this host", http.StatusForbidden)
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
