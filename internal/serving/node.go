package serving

import (
	"crypto/tls"

	"goblin-actor/internal/cluster"
	"goblin-actor/internal/config"
)

// NodeTLS returns the configuration for connections between the nodes of the cluster, with this node's certificate: the one that cfg names, or
// one made from the first secret. It reads the files of the certificate, so it returns the newest ones each time. A client must verify that
// an authority in RootCAs has signed the certificate of the node that it connects to.
func NodeTLS(cfg *config.Config) (*tls.Config, error) {
	c := &cfg.Cluster
	if c.TLS.On() {
		return cluster.LoadTLS(cfg.Beside(c.TLS.Cert), cfg.Beside(c.TLS.Key), cfg.Beside(c.TLS.CA), c.Node)
	}
	secrets, err := cluster.NewSecrets(c.Secrets)
	if err != nil {
		return nil, err
	}
	return secrets.TLS(c.Node)
}
