package bus

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/nats-io/nats.go"
)

// External says how to use an external NATS server. If the connection is lost, the node connects again, to any server of the
// NATS cluster. Every user of the same NATS account can speak for any node, so the nodes should have an account of their own.
type External struct {
	Cluster     string      // the cluster's name; a word as in subjects
	Node        string      // this node's name; the server shows it
	URL         string      // nats://… or tls://…; several are separated by commas; may contain user and password, or a token
	Credentials string      // path of a credentials file; "" = none. It is read again for each connection
	TLS         *tls.Config // for tls://; nil = the system's authorities
	Log         *slog.Logger
}

// Connect returns a bus over an external NATS server. It tries once to connect, for up to 2 seconds for each server in the URL.
// If that fails, it returns the bus all the same, which keeps trying. While no server is reachable or accepts the credentials,
// messages are lost and Ask returns ErrOffline.
func Connect(e External) (Bus, error) {
	if !plainWord(e.Cluster) {
		return nil, errClusterName(e.Cluster)
	}
	c := newClient(e.Cluster, e.Log)
	now := time.Now()
	c.lost.Store(&now)
	options := append(c.options(e.Node),
		nats.RetryOnFailedConnect(true),
		nats.IgnoreAuthErrorAbort(), // an operator may replace the credentials while the node runs
		nats.Timeout(2*time.Second),
		nats.ReconnectWait(250*time.Millisecond),
		nats.ReconnectJitter(100*time.Millisecond, 100*time.Millisecond),
		nats.PingInterval(500*time.Millisecond),
		nats.MaxPingsOutstanding(2),
	)
	if e.Credentials != "" {
		options = append(options, nats.UserCredentials(e.Credentials))
	}
	if e.TLS != nil {
		options = append(options, nats.Secure(e.TLS))
	}
	conn, err := nats.Connect(e.URL, options...)
	if err != nil {
		if invalid, ok := errors.AsType[*url.Error](err); ok {
			err = invalid.Err // without the address, which may contain a password
		}
		return nil, fmt.Errorf("connect to the NATS server: %w", err)
	}
	c.conn = conn
	if conn.IsConnected() {
		c.connected()
	}
	if c.records, err = newNATSRecords(e.Cluster, conn, 0, "", c.done); err != nil {
		conn.Close()
		return nil, err
	}
	go c.send()
	return external{c}, nil
}

func errClusterName(name string) error {
	return fmt.Errorf("cluster name %q: only letters, digits, - and _ are allowed", name)
}

type external struct{ *client }

func (x external) Status() Status {
	s := x.status("external")
	if since := x.lost.Load(); since != nil {
		s.Lost = *since
	} else {
		s.Server = x.conn.ConnectedAddr()
	}
	return s
}

func (x external) Close() { x.close() }
