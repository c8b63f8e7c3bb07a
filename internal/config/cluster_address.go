package config

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"goblin-actor/internal/cluster"
)

const maxSeeds = 64

// nodeAddress is the address of one of a node's two listeners.
type nodeAddress struct {
	path       string
	host, port string // port "" = the address is invalid, which has been reported
}

func (a nodeAddress) String() string {
	if a.host == "" {
		return ":" + a.port
	}
	return net.JoinHostPort(a.host, a.port)
}

// checkNodeAddresses checks listen and routes of the cluster. If only one of them has a host, the other gets the same host.
func (d *decoder) checkNodeAddresses(c *Config) {
	k := &c.Cluster
	listen := d.nodeAddress("cluster.listen", k.Listen, ":8731")
	if k.NATS.On() {
		d.checkPublicPort(c, listen)
		k.Listen, k.Routes = listen.String(), ""
		return
	}
	routes := d.nodeAddress("cluster.routes", k.Routes, ":8732")
	if listen.port == "" || routes.port == "" {
		return
	}
	listen.host, routes.host = cmp.Or(listen.host, routes.host), cmp.Or(routes.host, listen.host)
	if k.Listen, k.Routes = listen.String(), routes.String(); k.Listen == k.Routes {
		d.complain(d.firstWritten(routes.path, listen.path), "listen and routes are the same address", "write routes: \":8732\"")
		return
	}
	d.checkPublicPort(c, listen)
	d.checkPublicPort(c, routes)
}

// Addresses returns the addresses of listen and routes, completed with the address from which this machine reaches the seeds or the NATS servers
// if the file names no host. With an external NATS server, routes is "". Addresses looks up names until ctx ends.
func (c *Cluster) Addresses(ctx context.Context) (listen, routes string, err error) {
	peers := c.Seeds
	if c.NATS.On() {
		peers = nil
		for _, address := range c.NATS.URLs {
			if u, err := url.Parse(address); err == nil {
				peers = append(peers, net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "4222")))
			}
		}
	}
	if !strings.HasPrefix(c.Listen, ":") {
		return c.Listen, c.Routes, nil // check has given routes the same host
	}
	own, err := cluster.LocalAddress(ctx, peers)
	if err != nil {
		return "", "", err
	}
	if routes = c.Routes; routes != "" {
		routes = net.JoinHostPort(own.String(), routes[1:])
	}
	return net.JoinHostPort(own.String(), c.Listen[1:]), routes, nil
}

// checkPublicPort reports an address of the node whose port the gateway also uses for clients.
func (d *decoder) checkPublicPort(c *Config, own nodeAddress) {
	for _, public := range c.Listen {
		host, port, err := net.SplitHostPort(public)
		ip, _ := netip.ParseAddr(host)
		if err == nil && port == own.port && (host == "" || host == own.host || ip.IsUnspecified()) {
			d.complain(d.firstWritten(own.path, "listen"), "the gateway listens for clients on this port", "choose another port")
		}
	}
}

// nodeAddress parses and checks an address of the node. An empty one is replaced by usual, a port.
func (d *decoder) nodeAddress(path, address, usual string) nodeAddress {
	host, port, err := net.SplitHostPort(cmp.Or(address, usual))
	n, portErr := strconv.ParseUint(port, 10, 16)
	ip, ipErr := netip.ParseAddr(host)
	switch {
	case err != nil:
		hint := "write host:port, such as \"${POD_IP}" + usual + "\", or " + usual + " to use this machine's address"
		if strings.Count(address, ":") > 1 {
			hint = "put an IPv6 address in brackets, such as \"[${POD_IP}]" + usual + "\""
		}
		d.complain(path, "not host:port", hint)
	case portErr != nil || n == 0 || strconv.FormatUint(n, 10) != port:
		d.complain(path, "not a port number (1 to 65535)", "write host:port, such as \"${POD_IP}"+usual+"\"")
	case ipErr == nil && ip.IsUnspecified():
		d.complain(path, "the other nodes cannot connect to the address "+host, "write the address by which they reach this machine, or :"+port+" to let the gateway find it")
	case ipErr != nil && host != "" && !isHost(host):
		d.complain(path, "not a host name or address before the port", "write host:port, such as \"${POD_IP}"+usual+"\"")
	default:
		return nodeAddress{path, host, port}
	}
	return nodeAddress{path: path}
}

// checkSeeds checks seeds and adds missing ports. Without seeds, the voters are the seeds.
func (d *decoder) checkSeeds(k *Cluster) {
	if k.NATS.On() {
		k.Seeds = nil
		return
	}
	const path = "cluster.seeds"
	_, usual, err := net.SplitHostPort(k.Routes)
	if err != nil { // reported
		usual = "8732"
	}
	if len(k.Seeds) == 0 {
		if len(k.Voters) == 0 {
			d.missing("seeds", "no seeds given, so the node cannot find the others", "list some nodes, or a name with the addresses of all: seeds: [HOST]")
		}
		for _, voter := range k.Voters {
			k.Seeds = append(k.Seeds, net.JoinHostPort(voter, usual))
		}
		return
	}
	if len(k.Seeds) > maxSeeds {
		d.complain(path, fmt.Sprintf("more than %d seeds", maxSeeds), "list a few nodes; a new node finds the others by these")
		return
	}
	for i, seed := range k.Seeds {
		full, ok := withPort(seed, usual)
		if !ok {
			hint := "write host or host:port"
			if _, rest, found := strings.Cut(seed, "://"); found && len(d.report.origins[d.itemPath(path, i)].refs) == 0 {
				hint = "leave out the scheme: " + shown(rest)
			}
			d.complain(d.itemPath(path, i), "not the address of a node", hint)
			continue
		}
		k.Seeds[i] = full
	}
	d.checkLoopback(k)
}

// checkLoopback warns if other machines cannot connect to this node although it has seeds there.
func (d *decoder) checkLoopback(k *Cluster) {
	if slices.ContainsFunc(k.Seeds, func(seed string) bool { return !isLoopback(seed) }) && isLoopback(k.Listen) {
		path := d.firstWritten("cluster.listen", "cluster.routes")
		o := d.report.origins[path]
		d.warn(o.line, o.column, path, "nodes on other machines cannot connect to a loopback address", "write the address by which they reach this machine, or leave out the host to let the gateway find it")
	}
}

// isLoopback reports whether the host of an address is localhost or a loopback address.
func isLoopback(address string) bool {
	host, _, _ := net.SplitHostPort(address)
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.IsLoopback()
}

// withPort adds the port to a host that has none. It returns false if address is neither host nor host:port.
func withPort(address, port string) (string, bool) {
	if ip, err := netip.ParseAddr(strings.Trim(address, "[]")); err == nil {
		return net.JoinHostPort(ip.String(), port), !ip.IsUnspecified()
	}
	if !strings.Contains(address, ":") {
		return net.JoinHostPort(address, port), isHost(address)
	}
	host, own, err := net.SplitHostPort(address)
	if err != nil {
		return "", false
	}
	n, err := strconv.ParseUint(own, 10, 16)
	ip, ipErr := netip.ParseAddr(host)
	return address, err == nil && n > 0 && (ipErr == nil && !ip.IsUnspecified() || ipErr != nil && isHost(host))
}

// isHost reports whether s may be a host name.
func isHost(s string) bool {
	return s != "" && len(s) <= 253 && strings.IndexFunc(s, func(r rune) bool {
		return r > '~' || !isWordByte(byte(r)) && !strings.ContainsRune("-._", r)
	}) < 0
}
