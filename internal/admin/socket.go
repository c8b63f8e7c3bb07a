package admin

import (
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
	// ErrInUse is wrapped by the error of Listen if another process listens on the socket.
	ErrInUse = errors.New("another gateway listens on this socket")
	// ErrPathTooLong is wrapped by the errors of functions for which the path of a socket is longer than 103 bytes.
	ErrPathTooLong = errors.New("path too long for a socket")
	// ErrNotSocket is wrapped by the error of Listen if the path is another kind of file.
	ErrNotSocket = errors.New("the path exists and is not a socket; move the file away")
)

// maxSocketPath is the shortest limit of the supported systems (darwin: 104 bytes including the terminating zero).
const maxSocketPath = 103

// Server is an open admin socket.
type Server struct {
	http *http.Server
	done chan struct{}
}

// Listen opens the socket at path and serves on it until Close. If dial is not nil, requests may be for other nodes of the
// cluster: see AddressOf. Listen creates the directory if necessary and sets its mode to 0700
// and that of the socket to 0600. It removes a socket that no process listens on.
func Listen(path string, src status.Source, user status.UseFunc, dial DialNode, log *slog.Logger, more ...Route) (*Server, error) {
	l, err := listen(path)
	if err != nil {
		return nil, fmt.Errorf("admin socket %s: %w", path, err)
	}
	s := &Server{done: make(chan struct{}), http: &http.Server{
		Handler:           private(src, user, dial, more...),
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

// Close closes the socket and all its connections immediately, and removes the file. It blocks until the listener is closed.
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

// removeStale removes the socket at path if no process listens on it. It returns ErrInUse if a process does,
// ErrNotSocket if the file is not a socket, and nil if there is no file.
func removeStale(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSocket == 0 && info.Mode()&fs.ModeIrregular == 0 { // on Windows sockets have ModeIrregular
		return ErrNotSocket
	}
	conn, err := net.DialTimeout("unix", path, time.Second)
	if err == nil {
		_ = conn.Close()
		return ErrInUse
	}
	return os.Remove(path)
}

// Route is an additional route of the socket.
type Route struct {
	Pattern string // pattern for http.ServeMux
	Handler http.Handler
}
