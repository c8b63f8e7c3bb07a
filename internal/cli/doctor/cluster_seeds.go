package doctor

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	maxProbes  = 64              // maximum number of addresses to probe, for all seeds together
	probesOnce = 16              // maximum number of concurrent probes
	maxSkew    = 2 * time.Second // a larger difference between two clocks is reported
)

// seed is one address of a seed, and what connections to it showed.
type seed struct {
	written string // as in the configuration
	address string
	err     error // the name cannot be resolved
	routes  probe
	https   probe
}

// checkSeeds connects to the addresses of all seeds, except this node's own.
func (c *nodeChecks) checkSeeds(ctx context.Context) {
	all := c.resolve(ctx)
	found := slices.DeleteFunc(slices.Clone(all), c.isOwn)
	var work sync.WaitGroup
	slots := make(chan struct{}, probesOnce)
	for i := range found {
		s := &found[i]
		if s.err != nil {
			continue
		}
		work.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			if s.routes = c.probe(ctx, s.address); s.routes.err == nil {
				host, _, _ := net.SplitHostPort(s.address)
				s.https = c.probeHTTPS(ctx, net.JoinHostPort(host, portOf(c.doc.Listen)[1:]))
			}
		})
	}
	work.Wait()
	for _, s := range found {
		c.reportSeed(s)
	}
	if len(found) == 0 {
		c.note("seeds", "none besides this node; list it under cluster.seeds of the other nodes, so that they find it")
	}
}

// isOwn reports whether a seed is this node. The machine's host name may resolve to a different address of the machine than the one that the
// node uses, for example because of /etc/hosts.
func (c *nodeChecks) isOwn(s seed) bool {
	host, _, _ := net.SplitHostPort(s.written)
	own, _, _ := net.SplitHostPort(c.doc.Routes)
	switch {
	case s.address == c.doc.Routes:
		return true
	case s.err != nil || net.ParseIP(host) != nil || portOf(s.address) != portOf(c.doc.Routes) || net.ParseIP(own).IsLoopback():
		return false
	}
	ip, _, _ := net.SplitHostPort(s.address)
	addresses, _ := net.InterfaceAddrs()
	return slices.ContainsFunc(addresses, func(a net.Addr) bool {
		prefix, ok := a.(*net.IPNet)
		return ok && prefix.IP.Equal(net.ParseIP(ip))
	}) || net.ParseIP(ip).IsLoopback()
}

// resolve returns the addresses of all seeds, each once.
func (c *nodeChecks) resolve(ctx context.Context) (found []seed) {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	for _, written := range c.cfg.Cluster.Seeds {
		host, port, _ := net.SplitHostPort(written)
		ips, err := net.DefaultResolver.LookupHost(ctx, host)
		if err != nil {
			found = append(found, seed{written: written, err: err})
		}
		for _, ip := range ips {
			address := net.JoinHostPort(ip, port)
			if len(found) < maxProbes && !slices.ContainsFunc(found, func(s seed) bool { return s.address == address }) {
				found = append(found, seed{written: written, address: address})
			}
		}
	}
	return found
}

func (c *nodeChecks) reportSeed(s seed) {
	name := "seed " + s.written
	if s.address != "" && s.address != s.written {
		name += " (" + s.address + ")"
	}
	s.routes.err = cmp.Or(s.err, s.routes.err)
	if s.routes.err != nil {
		cause, todo, serious := c.explain(s.routes)
		if result := checkFailed; serious {
			c.add(result, name, s.routes.err.Error(), cause, todo)
		} else {
			c.warning(name, s.routes.err.Error(), cause, todo)
		}
		return
	}
	c.nodes = append(c.nodes, s.routes.node)
	switch {
	case s.routes.node == c.cfg.Cluster.Node:
		c.failed(name, "a node with this node's name, "+s.routes.node+", answers there", "two nodes have the same name, or the address also belongs to this machine", "give each machine its own host name, or set cluster.node to a variable that differs on each machine")
	case s.https.err != nil:
		cause, todo, _ := c.explain(s.https)
		c.failed(name, "node "+s.routes.node+"; its HTTPS port: "+s.https.err.Error(), cause, todo)
	case s.https.dated && (s.https.skew > maxSkew || s.https.skew < -maxSkew):
		c.warning(name, fmt.Sprintf("node %s; its clock differs by %v", s.routes.node, s.https.skew.Round(time.Second)), "the clocks of the two machines differ, so keys and sealed states expire at different times", "synchronize the clocks, for example with chrony")
	default:
		c.ok(name, "node "+s.routes.node)
	}
}

// natsInfo is the part of a NATS server's first message, INFO, that doctor reads.
type natsInfo struct {
	Version      string `json:"version"`
	JetStream    bool   `json:"jetstream"`
	TLSRequired  bool   `json:"tls_required"`
	TLSAvailable bool   `json:"tls_available"`
}

// checkNATS checks that each external NATS server answers and has JetStream. It does not log in.
func (c *nodeChecks) checkNATS(ctx context.Context) {
	for _, text := range c.cfg.Cluster.NATS.URLs {
		u, err := url.Parse(text)
		if err != nil {
			continue // reported as an error of the configuration
		}
		address := net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "4222"))
		name := "NATS server " + address
		info, err := readInfo(ctx, address)
		switch {
		case err != nil:
			c.failed(name, err.Error(), "the server is not running, or it is not a NATS server", "start it, or correct cluster.nats.url")
		case u.Scheme == "tls" && !info.TLSRequired && !info.TLSAvailable:
			c.failed(name, "version "+info.Version+", without TLS", "the server does not accept TLS, which the URL requires", "configure TLS on the server; if you trust the network, use a nats:// URL instead")
		case !info.JetStream:
			c.failed(name, "version "+info.Version+", without JetStream", "the nodes store leases and logins in JetStream", "turn on JetStream on the server: jetstream {store_dir: …}")
		default:
			c.ok(name, "version "+info.Version+", with JetStream")
		}
	}
}

var errNotNATS = errors.New("it does not answer like a NATS server")

// readInfo connects to a NATS server and reads the first line that it sends.
func readInfo(ctx context.Context, address string) (info natsInfo, err error) {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return info, err
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetReadDeadline(time.Now().Add(probeTime))
	line, err := bufio.NewReader(io.LimitReader(conn, 64<<10)).ReadString('\n')
	if text, ok := strings.CutPrefix(line, "INFO "); !ok || json.Unmarshal([]byte(text), &info) != nil {
		return info, cmp.Or(err, errNotNATS)
	}
	return info, nil
}
