package doctor

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/textproto"
	"os"
	"strings"
	"syscall"
	"time"
)

// Limits of one connection to another node.
const (
	probeTime   = 2 * time.Second
	refusalTime = 500 * time.Millisecond // how long to wait for the other side to refuse this node's certificate
)

// probe is what one connection to a node's port showed.
type probe struct {
	node    string        // the name in the node's certificate; "" = unknown
	err     error         // nil = both sides accept each other
	refused bool          // err is the other side's refusal of this node's certificate
	skew    time.Duration // how far the node's clock is ahead of this machine's, if dated
	dated   bool          // the node's response had a valid Date header
}

// probe connects to a port of a node, and checks the certificates of both sides.
func (c *nodeChecks) probe(ctx context.Context, address string) (p probe) {
	conn, p := c.handshake(ctx, address)
	if conn == nil {
		return p
	}
	defer func() { _ = conn.Close() }()
	// In TLS 1.3, a client learns only when it reads that its certificate was refused.
	_ = conn.SetReadDeadline(time.Now().Add(refusalTime))
	if _, err := conn.Read(make([]byte, 1)); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		p.err, p.refused = err, true
	}
	return p
}

// probeHTTPS is like probe, but for the HTTPS port. It also reads the node's clock from the Date header of a response.
func (c *nodeChecks) probeHTTPS(ctx context.Context, address string) (p probe) {
	conn, p := c.handshake(ctx, address)
	if conn == nil {
		return p
	}
	defer func() { _ = conn.Close() }()
	began := time.Now()
	_ = conn.SetDeadline(began.Add(probeTime))
	if _, err := io.WriteString(conn, "HEAD / HTTP/1.1\r\nHost: "+address+"\r\nConnection: close\r\n\r\n"); err != nil {
		p.err, p.refused = err, true
		return p
	}
	in := textproto.NewReader(bufio.NewReader(io.LimitReader(conn, 16<<10)))
	if line, err := in.ReadLine(); err != nil || !strings.HasPrefix(line, "HTTP/") {
		p.err, p.refused = cmp.Or(err, errors.New("no HTTP response")), err != nil && !errors.Is(err, os.ErrDeadlineExceeded)
		return p
	}
	ended := time.Now()
	header, err := in.ReadMIMEHeader()
	if err != nil && !errors.Is(err, io.EOF) {
		return p
	}
	if date, err := time.Parse(time.RFC1123, header.Get("Date")); err == nil {
		p.skew, p.dated = skew(date, began, ended), true
	}
	return p
}

// skew returns how far another clock is ahead of this machine's; a negative result means that it is behind. At some moment
// between began and ended, the other clock showed date, truncated to a second.
func skew(date, began, ended time.Time) time.Duration {
	switch {
	case date.After(ended):
		return date.Sub(ended)
	case date.Add(time.Second).Before(began):
		return date.Add(time.Second).Sub(began)
	}
	return 0
}

// handshake connects to a node and completes the TLS handshake. If that fails, conn is nil and p.err says why.
func (c *nodeChecks) handshake(ctx context.Context, address string) (conn *tls.Conn, p probe) {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	raw, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, probe{err: err}
	}
	o := c.tls.Clone()
	o.InsecureSkipVerify = true // the name is not known in advance; VerifyConnection checks the rest
	o.VerifyConnection = func(state tls.ConnectionState) error { return signedBy(c.tls.RootCAs, state.PeerCertificates) }
	conn = tls.Client(raw, o)
	if err := conn.HandshakeContext(ctx); err != nil {
		_ = raw.Close()
		return nil, probe{err: err}
	}
	if names := conn.ConnectionState().PeerCertificates[0].DNSNames; len(names) > 0 {
		p.node = names[0]
	}
	return conn, p
}

// errStranger is wrapped by the error for a certificate that no authority of the cluster has signed.
var errStranger = errors.New("its certificate does not belong to this cluster")

// signedBy checks that an authority has signed the first certificate of a chain.
func signedBy(authorities *x509.CertPool, chain []*x509.Certificate) error {
	if len(chain) == 0 {
		return errStranger
	}
	o := x509.VerifyOptions{Roots: authorities, Intermediates: x509.NewCertPool()}
	for _, c := range chain[1:] {
		o.Intermediates.AddCert(c)
	}
	if _, err := chain[0].Verify(o); err != nil {
		return errors.Join(errStranger, err)
	}
	return nil
}

// explain returns the likely cause of a failed connection to a node, and what to do. serious is false if the node may just not be running.
func (c *nodeChecks) explain(p probe) (cause, todo string, serious bool) {
	identity, fix := "the first secret of one node is not among the secrets of the other", "give all nodes the same cluster.secrets; while a secret is replaced, all nodes must have both"
	if c.cfg.Cluster.TLS.On() {
		identity, fix = "its certificate and this node's were not signed by the same authority", "give all nodes certificates signed by the same authority, and set cluster.tls.ca to that authority's certificate"
	}
	var dns *net.DNSError
	switch {
	case errors.As(p.err, &dns):
		return "the name cannot be resolved", "correct cluster.seeds, or check the name service (DNS)", true
	case errors.Is(p.err, syscall.ECONNREFUSED):
		return "no node runs there", "start the node, or correct the address; before the first start of the cluster, this is expected", false
	case errors.Is(p.err, context.DeadlineExceeded) || errors.Is(p.err, os.ErrDeadlineExceeded) || errors.Is(p.err, syscall.EHOSTUNREACH) || errors.Is(p.err, syscall.ENETUNREACH):
		return "the machine is not running, or a firewall drops the connection", "allow connections between the nodes to the ports of cluster.listen and cluster.routes", true
	case errors.Is(p.err, errStranger), p.refused:
		return identity, fix, true
	}
	if remote, ok := errors.AsType[*net.OpError](p.err); ok && remote.Op == "remote error" {
		return identity, fix, true
	}
	return "the program that listens there is not a node of a cluster", "correct the address and the port", true
}
