package transport

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
)

// Server takes what clients send over HTTP.
type Server struct {
	counters serverCounters
}

// NewServer returns an HTTP server for clients; it does nothing before Serve.
func NewServer(front Front, o ServerOptions, log *slog.Logger) *Server { return &Server{} }

// Serve accepts connections until Shutdown.
func (s *Server) Serve(l net.Listener) error { return errors.New("not yet") }

// Shutdown stops listening, ends open streams and waits for running exchanges until ctx ends.
func (s *Server) Shutdown(ctx context.Context) error { return nil }

// Connections returns the open connections and how many of them are streams.
func (s *Server) Connections() (open, streams int) { return 0, 0 }

// ServeStdio speaks stdio with one client.
func ServeStdio(ctx context.Context, in io.Reader, out io.Writer, front Front, o ServerOptions, log *slog.Logger) error {
	return errors.New("not yet")
}
