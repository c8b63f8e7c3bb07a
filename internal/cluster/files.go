package cluster

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"slices"
)

// LoadTLS returns the configuration for connections between the nodes, as Secrets.TLS does, but with a certificate that an authority has issued.
// The PEM files cert, key and ca contain the node's certificate chain, its private key, and the certificates of the authority. The authority
// must have signed the certificate for the name node, for servers and for clients. peers are the names and IP addresses of all nodes. In both
// directions, the other side's certificate must be valid for one of them. LoadTLS returns an error if a file cannot be read or the certificate
// is not valid for the node.
func LoadTLS(cert, key, ca, node string, peers []string) (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, err
	}
	pem, err := os.ReadFile(ca)
	if err != nil {
		return nil, err
	}
	trusted := x509.NewCertPool()
	if !trusted.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s contains no certificate in PEM format", ca)
	}
	intermediates := x509.NewCertPool()
	for _, der := range pair.Certificate[1:] {
		if c, err := x509.ParseCertificate(der); err == nil {
			intermediates.AddCert(c)
		}
	}
	for _, usage := range []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth} {
		o := x509.VerifyOptions{DNSName: node, Roots: trusted, Intermediates: intermediates, KeyUsages: []x509.ExtKeyUsage{usage}}
		if _, err := pair.Leaf.Verify(o); err != nil {
			if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.IncompatibleUsage {
				err = errors.New("it must be valid for servers and for clients (extended key usage)")
			}
			return nil, fmt.Errorf("certificate %s cannot be used by node %s: %w", cert, node, err)
		}
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pair},
		RootCAs: trusted, ClientCAs: trusted, ClientAuth: tls.RequireAndVerifyClientCert,
		VerifyConnection: func(state tls.ConnectionState) error { return isNode(state.PeerCertificates, peers) },
	}, nil
}

// isNode returns an error if the first certificate of a chain is valid for none of the names and addresses of the nodes. An authority may
// also have signed certificates of other programs.
func isNode(chain []*x509.Certificate, peers []string) error {
	if len(chain) == 0 {
		return errors.New("the other side has no certificate")
	}
	if slices.ContainsFunc(peers, func(peer string) bool { return chain[0].VerifyHostname(peer) == nil }) {
		return nil
	}
	names := slices.Clone(chain[0].DNSNames)
	for _, ip := range chain[0].IPAddresses {
		names = append(names, ip.String())
	}
	return fmt.Errorf("the certificate for %.200q is not that of a node of the cluster; list the nodes in cluster.tls.nodes", names)
}
