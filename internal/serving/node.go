package serving

import (
	"crypto/tls"
	"fmt"
	"slices"
	"sync/atomic"

	"goblin-actor/internal/cluster"
	"goblin-actor/internal/config"
)

const nodeHint = "correct cluster.tls or cluster.secrets; goblin-actor doctor checks this machine as a node"

// NodeTLS returns the configuration for connections between the nodes of the cluster, with this node's certificate: the one that cfg names, or
// one made from the first secret. It reads the files of the certificate. A client must verify that an authority in RootCAs has signed the
// certificate of the node that it connects to.
func NodeTLS(cfg *config.Config) (*tls.Config, error) {
	c := &cfg.Cluster
	if c.TLS.On() {
		o, err := cluster.LoadTLS(cfg.Beside(c.TLS.Cert), cfg.Beside(c.TLS.Key), cfg.Beside(c.TLS.CA), c.Node, c.Peers())
		if err != nil {
			return nil, fmt.Errorf("cluster.tls: %w", err)
		}
		return o, nil
	}
	secrets, err := cluster.NewSecrets(c.Secrets)
	if err != nil {
		return nil, err
	}
	return secrets.TLS(c.Node)
}

// nodeKeys holds the secrets of the cluster and the certificate of this node. One goroutine changes them; others read them.
type nodeKeys struct {
	name    string           // of the node, fixed at the start; "" = the gateway runs alone
	secrets *cluster.Secrets // fixed at the start, with values that a reload replaces; nil = the gateway runs alone
	values  []string         // those of secrets
	files   bool             // tls was read from files
	tls     atomic.Pointer[tls.Config]
}

// load replaces the secrets if they have changed, and the certificate if it is made from a changed secret or read from files. After an
// error, the previous ones stay in force.
func (n *nodeKeys) load(cfg *config.Config) error {
	if n.name == "" {
		return nil
	}
	same := slices.Equal(n.values, cfg.Cluster.Secrets)
	files := cfg.Cluster.TLS.On()
	if same && !files && !n.files {
		return nil
	}
	named := *cfg
	named.Cluster.Node = n.name // a new name takes effect at the next start
	o, err := NodeTLS(&named)
	if err != nil {
		return err
	}
	if err := n.replace(cfg.Cluster.Secrets); err != nil {
		return err
	}
	n.files = files
	n.tls.Store(o)
	return nil
}

func (n *nodeKeys) replace(values []string) (err error) {
	if n.secrets == nil {
		n.secrets, err = cluster.NewSecrets(values)
	} else {
		err = n.secrets.Replace(values)
	}
	if err == nil {
		n.values = values
	}
	return err
}

// ClusterSecrets returns the secrets of the cluster, or nil for a gateway that runs alone. A reload replaces their values. It is safe for
// concurrent use.
func (e *Security) ClusterSecrets() *cluster.Secrets { return e.node.secrets }

// NodeTLS returns the newest configuration for connections between the nodes, as the function NodeTLS describes it, or nil for a gateway that
// runs alone. It is safe for concurrent use.
func (e *Security) NodeTLS() *tls.Config { return e.node.tls.Load() }
