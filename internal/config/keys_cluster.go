package config

import (
	"net"
	"reflect"
	"slices"
)

// Cluster makes this gateway one node of a cluster. All nodes use the same file; values that differ between them come from references such as
// `${HOSTNAME}`. Changes take effect at the next start, except those of `secrets` and `tls`.
type Cluster struct {
	Present bool // the file has the section, so this gateway is a node of a cluster

	// Name is the name of the cluster. Nodes of clusters with different names never connect to each other.
	Name string `key:"name" default:"goblin"`

	// Node is the name of this node. It must be unique in the cluster. Letters are converted to lower case, and all characters but letters and
	// digits to `-`, as in `run` and `voters`. Default: the host name.
	Node string `key:"node"`

	// Listen is the address for HTTPS between the nodes, as host:port. This node listens on it, and the other nodes connect to it, so it must
	// not be 0.0.0.0. Without a host, as in `:8731`, the host is that of `routes` or, if that has none either, the address from which this
	// machine reaches the seeds.
	Listen string `key:"listen" default:":8731"`

	// Routes is the address for NATS between the nodes, written like `listen`. Without a host, the host is that of `listen`.
	Routes string `key:"routes" default:":8732"`

	// Seeds are the `routes` addresses of some nodes, as host or host:port. A new node connects to them to find all others, so one of them
	// must be running. A name that has many addresses stands for all of them. This node may be among them. The port is that of `routes` if none is
	// given. Default: the voters.
	Seeds []string `key:"seeds" single:"ok"`

	// Secrets are the secrets of the cluster: at most 8, with at least 32 bytes each. `goblin-actor cluster secret` prints one. Each must be a
	// reference, such as `${file:cluster.secret}`. The first secret seals session ids and signs the nodes' certificates, and all of them are
	// accepted. To replace a secret, add the new one second on all nodes, then move it to the front on all nodes, then remove the old one.
	// Required.
	Secrets []string `key:"secrets" single:"ok" secret:"yes"`

	// Voters are the names of the 1, 3 or 5 nodes that store leases and logins. More than half of them must be running to take or
	// renew a lease, or to renew a login. Without voters and without `nats`, `run: one` and logins that several nodes use are refused.
	Voters []string `key:"voters" single:"ok"`

	// NATS is an external NATS server that the nodes use instead of `routes`, `seeds` and `voters`.
	NATS ClusterNATS `key:"nats"`

	// TLS holds the certificate of this node. Default: a certificate that the node makes from the first secret.
	TLS ClusterTLS `key:"tls"`
}

// ClusterNATS is an external NATS server, or several servers of one NATS cluster. It needs JetStream. Any client that may publish there can
// disturb the cluster, so use an account that only the nodes know.
type ClusterNATS struct {
	// URLs is the address of the server, such as `tls://nats.example.org:4222`. The schemes are `nats` and `tls`.
	URLs []string `key:"urls" also:"url"`

	// Credentials is the file with the JWT and the seed of the NATS user, relative to this file. Default: none; a user and a password may be part of
	// the URL.
	Credentials string `key:"credentials"`
}

// ClusterTLS holds a certificate for the connections between the nodes. `cert`, `key` and `ca` are required. The gateway reads the files
// again when they change.
type ClusterTLS struct {
	// Cert is the file with this node's certificate chain (PEM), relative to this file. The certificate must be valid for the name of the node, as
	// a server and as a client.
	Cert string `key:"cert"`

	// Key is the file with the private key (PEM).
	Key string `key:"key"`

	// CA is the file with the certificates (PEM) of the authority that signs the nodes' certificates. A certificate of this authority that names
	// none of `nodes` is refused.
	CA string `key:"ca"`

	// Nodes are the names, or the addresses, that the nodes' certificates are valid for (subject alternative names). Required with
	// `cluster.nats`. Default: the voters and the hosts of `seeds`.
	Nodes []string `key:"nodes" single:"ok"`
}

// On reports whether the nodes use an external NATS server.
func (n ClusterNATS) On() bool { return len(n.URLs) > 0 }

// On reports whether the file names the node's certificate.
func (t ClusterTLS) On() bool { return t.Cert != "" }

// Peers returns the names and addresses of nodes, including this one. The certificate of a node must be valid for at least one of them.
func (c *Cluster) Peers() []string {
	if len(c.TLS.Nodes) > 0 {
		return append(slices.Clone(c.TLS.Nodes), c.Node)
	}
	peers := append(slices.Clone(c.Voters), c.Node)
	for _, seed := range c.Seeds {
		if host, _, err := net.SplitHostPort(seed); err == nil {
			peers = append(peers, host)
		}
	}
	return peers
}

// SameStart reports whether c and next differ at most in what a reload can change: the secrets and the certificate.
func (c Cluster) SameStart(next Cluster) bool {
	c.Secrets, c.TLS = next.Secrets, next.TLS
	return same(reflect.ValueOf(c), reflect.ValueOf(next))
}

// Records reports whether the nodes can store leases and logins.
func (c *Cluster) Records() bool { return len(c.Voters) > 0 || c.NATS.On() }
