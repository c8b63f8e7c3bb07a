package admin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"goblin-actor/internal/status"
)

var (
	// ErrInUse is returned by Listen when another process answers on the socket.
	ErrInUse = errors.New("another gateway answers on it")
	// ErrPathTooLong is returned by Listen and Fetch for a path the system takes for no socket.
	ErrPathTooLong = errors.New("path too long for a socket")
	// ErrNotSocket is returned by Listen when something else stands at the path.
	ErrNotSocket = errors.New("a file stands there that is no socket")
)

// maxSocketPath is the shortest limit of the systems we run on (darwin: 104 bytes with the closing zero).
const maxSocketPath = 103

// Server is an open admin socket.
type Server struct {
	http *http.Server
	done chan struct{}
}

// Listen opens the socket at path and serves on it until Close. The directory is made, or made private, mode 0700;
// the socket gets 0600; one that a dead process left behind is removed.
func Listen(path string, src status.Source, user User, log *slog.Logger, more ...Route) (*Server, error) {
	l, err := listen(path)
	if err != nil {
		return nil, fmt.Errorf("admin socket %s: %w", path, err)
	}
	s := &Server{done: make(chan struct{}), http: &http.Server{
		Handler:           private(src, user, more...),
		ReadHeaderTimeout: 5 * time.Second,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}}
	go func() {
		defer close(s.done)
		if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			log.Error("admin socket failed", "path", path, "err", err)
		}
	}()
	return s, nil
}

// Close ends the socket and every connection on it at once, and removes the file. Blocks until the listener is gone.
func (s *Server) Close() error {
	err := s.http.Close()
	<-s.done
	return err
}

func listen(path string) (net.Listener, error) {
	if len(path) > maxSocketPath {
		return nil, fmt.Errorf("%w: %d bytes, at most %d", ErrPathTooLong, len(path), maxSocketPath)
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return nil, err
	}
	if err := removeStale(path); err != nil {
		return nil, err
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		_ = l.Close()
		return nil, err
	}
	return l, nil
}

// removeStale removes a socket nobody answers on.
func removeStale(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSocket == 0 && info.Mode()&fs.ModeIrregular == 0 { // Windows calls its sockets irregular
		return ErrNotSocket
	}
	conn, err := net.DialTimeout("unix", path, time.Second)
	if err == nil {
		_ = conn.Close()
		return ErrInUse
	}
	return os.Remove(path)
}

// Route is one more thing that the socket's owner can ask for.
type Route struct {
	Pattern string // of http.ServeMux
	Handler http.Handler
}

// Client returns an HTTP client whose every connection is the admin socket at path.
func Client(path string) (*http.Client, error) {
	if len(path) > maxSocketPath {
		return nil, fmt.Errorf("admin socket %s: %w", path, ErrPathTooLong)
	}
	return client(path), nil
}

// client returns an HTTP client whose every connection is the socket at path.
func client(path string) *http.Client {
	return &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", path)
		},
	}}
}
