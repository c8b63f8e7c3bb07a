package admin

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
)

// nodeMark separates the path of an admin socket from the name of a node in an address.
const nodeMark = "#node="

// AddressOf returns the address of a node's admin interface. The admin socket at path may belong to any node of the same cluster, which
// passes all requests on to the named one. All functions of this package that take the path of a socket, except Listen, take such
// addresses too. If node is empty, the result is path.
func AddressOf(path, node string) string {
	if node == "" {
		return path
	}
	return path + nodeMark + node
}

// SplitAddress returns the path of the socket and the name of the node in an address. The name is empty if the address is just a path.
func SplitAddress(address string) (path, node string) {
	path, node, _ = strings.Cut(address, nodeMark)
	return path, node
}

// checkAddress returns an error if the path in an address is too long for a socket.
func checkAddress(address string) error {
	if path, _ := SplitAddress(address); len(path) > maxSocketPath {
		return fmt.Errorf("admin socket %s: %w", path, ErrPathTooLong)
	}
	return nil
}

// Client returns an HTTP client that sends all requests to the admin socket at path, whatever the URL's host.
func Client(path string) (*http.Client, error) {
	if err := checkAddress(path); err != nil {
		return nil, err
	}
	return client(path), nil
}

// client is Client without the check of the path's length.
func client(address string) *http.Client {
	path, node := SplitAddress(address)
	var t http.RoundTripper = &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", path)
		},
	}
	if node != "" {
		t = nodeTransport{t, node}
	}
	return &http.Client{Transport: t}
}

// nodeTransport says in each request which node it is for.
type nodeTransport struct {
	http.RoundTripper
	node string
}

// RoundTrip implements http.RoundTripper.
func (t nodeTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set(headerNode, t.node)
	return t.RoundTripper.RoundTrip(r)
}
