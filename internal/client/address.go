package client

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"path"
	"strconv"
	"strings"

	"goblin-actor/internal/secret"
)

// DefaultAddress is the default listen address of a gateway.
const DefaultAddress = "127.0.0.1:8730"

// ErrSocketPath is wrapped by the error of ParseAddress for an address that looks like the path of an admin socket, which does not
// serve MCP.
var ErrSocketPath = errors.New("is the path of an admin socket; use the gateway's URL or port")

// EndpointOf is like ParseAddress, but returns the endpoint of a project ("" for all servers). The project is part of
// the path, so that a gateway without it responds 404. If project is not "", EndpointOf returns an error unless the
// path of addr ends in /mcp and names neither a project nor a server.
func EndpointOf(addr, project string) (*url.URL, error) {
	u, err := ParseAddress(addr)
	if err != nil || project == "" {
		return u, err
	}
	before, ok := strings.CutSuffix(u.Path, "/mcp")
	if part := path.Base(path.Dir(before)); !ok || part == "p" || part == "s" {
		return nil, fmt.Errorf("address %q: with a project, the path must be /mcp", secret.URL(u.String()))
	}
	u.Path = before + "/p/" + project + "/mcp"
	return u, nil
}

// ParseAddress returns the URL of the MCP endpoint at addr: an http or https URL, host:port, or a port on this
// machine. The default path is /mcp, and "" means DefaultAddress.
func ParseAddress(addr string) (*url.URL, error) {
	if addr == "" {
		addr = DefaultAddress
	}
	if port, err := strconv.Atoi(addr); err == nil {
		addr = fmt.Sprintf("127.0.0.1:%d", port)
	}
	if !strings.Contains(addr, "://") {
		if strings.HasSuffix(addr, ".sock") || strings.HasPrefix(addr, "/") || strings.HasPrefix(addr, ".") {
			return nil, fmt.Errorf("%q %w", addr, ErrSocketPath)
		}
		addr = "http://" + addr
	}
	u, err := url.Parse(addr)
	shown := secret.URL(addr)
	if err != nil {
		return nil, fmt.Errorf("address %q: want a URL, host:port or a port", shown)
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("address %q: want http or https, got %q", shown, u.Scheme)
	}
	if u.User != nil {
		return nil, errors.New("address: must not contain a user or password")
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return nil, fmt.Errorf("address %q: port %q is out of range (1 to 65535)", shown, port)
		}
		if u.Hostname() == "" {
			u.Host = net.JoinHostPort("127.0.0.1", port)
		}
	}
	if u.Hostname() == "" {
		return nil, fmt.Errorf("address %q: the host is missing", shown)
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/mcp"
	}
	return u, nil
}
