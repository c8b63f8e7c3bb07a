package status

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// ErrSocketPathTooLong is wrapped by the error of SocketPath if the path is too long for a Unix socket.
var ErrSocketPathTooLong = errors.New("too long for a unix socket")

// maxSocketPath is the shortest limit of the supported systems (darwin's).
const maxSocketPath = 103

// SocketDir returns the directory of the admin sockets: $XDG_RUNTIME_DIR/goblin-actor, else
// $XDG_STATE_HOME/goblin-actor, else ~/.local/state/goblin-actor. getenv is os.Getenv, or a test's.
// Relative paths in these variables are ignored, as the XDG Base Directory Specification requires.
func SocketDir(getenv func(string) string) (string, error) {
	if dir := getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "goblin-actor"), nil
	}
	dir, err := StateDir(getenv)
	if err != nil {
		return "", errors.New("no directory for the admin socket: set XDG_RUNTIME_DIR")
	}
	return dir, nil
}

// StateDir returns the directory of persistent state: $XDG_STATE_HOME/goblin-actor, else
// ~/.local/state/goblin-actor. getenv is as for SocketDir.
func StateDir(getenv func(string) string) (string, error) {
	if dir := getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "goblin-actor"), nil
	}
	home := getenv("HOME")
	if runtime.GOOS == "windows" && home == "" {
		home = getenv("USERPROFILE")
	}
	if !filepath.IsAbs(home) {
		return "", errors.New("no directory for the state file: set XDG_STATE_HOME")
	}
	return filepath.Join(home, ".local", "state", "goblin-actor"), nil
}

// SocketPath returns the path of the admin socket of the gateway whose first listener has the given port.
func SocketPath(port int, getenv func(string) string) (string, error) {
	dir, err := SocketDir(getenv)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, strconv.Itoa(port)+".sock")
	if len(path) > maxSocketPath {
		return "", fmt.Errorf("admin socket %s: the path has %d bytes, at most %d are allowed: %w; set XDG_RUNTIME_DIR to a shorter directory", path, len(path), maxSocketPath, ErrSocketPathTooLong)
	}
	return path, nil
}

// Sockets returns the paths of all admin sockets, sorted by port. A killed gateway leaves its socket behind, so some may not
// answer.
func Sockets(getenv func(string) string) ([]string, error) {
	dir, err := SocketDir(getenv)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("list admin sockets: %w", err)
	}
	var ports []int
	for _, e := range entries {
		name, isSocket := strings.CutSuffix(e.Name(), ".sock")
		if port, err := strconv.Atoi(name); isSocket && err == nil {
			ports = append(ports, port)
		}
	}
	slices.Sort(ports)
	paths := make([]string, len(ports))
	for i, port := range ports {
		paths[i] = filepath.Join(dir, strconv.Itoa(port)+".sock")
	}
	return paths, nil
}
