package admin

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"sync"
	"time"

	"goblin-actor/internal/decode"
	"goblin-actor/internal/status"
)

// headerNode names the node of the cluster that a request is for. The gateway passes the request on to it.
const headerNode = "Goblin-Node"

// DialNode returns a connection to the admin interface of a node of the cluster: see NodeServer. Its error wraps
// status.ErrNotThere if no member of the cluster has that name.
type DialNode func(ctx context.Context, node string) (net.Conn, error)

// A node offers its admin interface on its listener for other nodes: a request with these values upgrades the connection.
const (
	nodePath     = "/cluster/admin"
	nodeProtocol = "goblin-admin"
)

// Connect upgrades a new connection to a node's listener for other nodes, so that the node serves its admin interface on it. It observes
// the deadline of ctx, but not its cancellation.
func Connect(ctx context.Context, c net.Conn, node string) error {
	if deadline, ok := ctx.Deadline(); ok {
		if err := c.SetDeadline(deadline); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", nodePath, node, nodeProtocol); err != nil {
		return err
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil) // the node sends nothing after its response until it is asked
	if err != nil {
		return err
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusSwitchingProtocols {
		return fmt.Errorf("the node answered HTTP %d", resp.StatusCode)
	}
	return c.SetDeadline(time.Time{})
}

// AskActivity returns a function that asks a node for its status.Activity, as status.Local.AskNode. It returns nil if dial is nil.
func AskActivity(dial DialNode) func(ctx context.Context, node string) (status.Activity, error) {
	if dial == nil {
		return nil
	}
	client := &http.Client{Transport: nodeDialer(dial)}
	return func(ctx context.Context, node string) (a status.Activity, err error) {
		req, err := http.NewRequestWithContext(context.WithValue(ctx, nodeKey{}, node), http.MethodGet, "http://admin/activityz", nil)
		if err != nil {
			return a, err
		}
		resp, err := client.Do(req)
		if err != nil {
			return a, cmp.Or(errors.Unwrap(err), err) // without the URL, which is a placeholder
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return a, fmt.Errorf("the node answered HTTP %d", resp.StatusCode)
		}
		return a, decode.Reader(io.LimitReader(resp.Body, maxActionBytes), "the answer to /activityz", &a)
	}
}

// nodeDialer returns the transport for requests whose contexts name a node.
func nodeDialer(dial DialNode) *http.Transport {
	return &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dial(ctx, ctx.Value(nodeKey{}).(string))
		},
	}
}

// nodeKey is the key of the node's name in the context of a request.
type nodeKey struct{}

// forNodes passes requests for other nodes on. dial is nil if the gateway runs alone.
func forNodes(next http.Handler, dial DialNode) http.Handler {
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = "http", "admin"
			r.Out.Header.Del(headerNode)
		},
		Transport:     nodeDialer(dial),
		FlushInterval: -1, // for streams of events
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			code := http.StatusBadGateway
			if errors.Is(err, status.ErrNotThere) {
				code = http.StatusNotFound
			}
			http.Error(w, err.Error(), code)
		},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		node := r.Header.Get(headerNode)
		switch {
		case node == "":
			next.ServeHTTP(w, r)
		case dial == nil:
			http.Error(w, "this gateway is not a node of a cluster", http.StatusNotFound)
		default:
			proxy.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), nodeKey{}, node)))
		}
	})
}

// NodeServer serves the admin interface to the other nodes of the cluster, on connections that it is given.
type NodeServer struct {
	http  *http.Server
	queue *connQueue
	done  chan struct{}
}

// ServeNodes returns a server for the admin interface of src. The caller must call Close.
func ServeNodes(src status.Source, user status.UseFunc, log *slog.Logger, more ...Route) *NodeServer {
	s := &NodeServer{queue: newConnQueue(), done: make(chan struct{}), http: &http.Server{
		Handler:           private(src, user, nil, more...),
		ReadHeaderTimeout: 5 * time.Second,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}}
	go func() {
		defer close(s.done)
		_ = s.http.Serve(s.queue) // the error says that the queue is closed
	}()
	return s
}

// Upgrade returns the function that serves a connection of another node whose request has that path and protocol, and later closes the
// connection. It returns nil for other paths and protocols. The caller has checked that the connection belongs to a node of the cluster.
func (s *NodeServer) Upgrade(path, protocol string) func(net.Conn) {
	if path != nodePath || protocol != nodeProtocol {
		return nil
	}
	return s.queue.put
}

// Close closes all connections at once.
func (s *NodeServer) Close() {
	_ = s.http.Close()
	<-s.done
}

// connQueue is a net.Listener whose connections come from put.
type connQueue struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newConnQueue() *connQueue {
	return &connQueue{conns: make(chan net.Conn), closed: make(chan struct{})}
}

func (q *connQueue) put(c net.Conn) {
	select {
	case q.conns <- c:
	case <-q.closed:
		_ = c.Close()
	}
}

// Accept implements net.Listener.
func (q *connQueue) Accept() (net.Conn, error) {
	select {
	case c := <-q.conns:
		return c, nil
	case <-q.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (q *connQueue) Close() error {
	q.once.Do(func() { close(q.closed) })
	return nil
}

// Addr implements net.Listener.
func (*connQueue) Addr() net.Addr { return &net.UnixAddr{Name: "admin", Net: "unix"} }
