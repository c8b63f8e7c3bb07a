package cluster

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"time"
)

// Certificates are valid for so long that no node's clock matters. A node's key never leaves its process, and the
// authority's key is derived from the cluster's secret: a certificate becomes invalid when the secret is removed.
var (
	validFrom  = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	validUntil = time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC)
)

// authority is the certificate authority of one secret. Every node derives the same one.
type authority struct {
	key         ed25519.PrivateKey
	certificate *x509.Certificate
}

func (k *secret) authority() (*authority, error) {
	key := ed25519.NewKeyFromSeed(k.key("authority", ""))
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: fmt.Sprintf("goblin-actor cluster %x", k.id)},
		NotBefore: validFrom, NotAfter: validUntil,
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign,
	}
	// Ed25519 signatures are deterministic, so every node makes the same certificate.
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	return &authority{key, certificate}, err
}

// issue returns a certificate with a new key for a node.
func (a *authority) issue(node string) (tls.Certificate, error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: node}, DNSNames: []string{node},
		NotBefore: validFrom, NotAfter: validUntil,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, public, a.key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private}, err
}

// TLS returns the configuration for connections between the nodes, in both directions: TLS 1.3, and each side shows a
// certificate signed with its first secret, which the other side must have in its list. A client must set ServerName to
// the name of the node that it dials.
func (s *Secrets) TLS(node string) (*tls.Config, error) {
	trusted := x509.NewCertPool()
	var own tls.Certificate
	list := *s.list.Load()
	for i := range list {
		a, err := list[i].authority()
		if err != nil {
			return nil, fmt.Errorf("derive the cluster's certificate authority: %w", err)
		}
		trusted.AddCert(a.certificate)
		if i > 0 {
			continue
		}
		if own, err = a.issue(node); err != nil {
			return nil, fmt.Errorf("issue the node's certificate: %w", err)
		}
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{own},
		RootCAs: trusted, ClientCAs: trusted, ClientAuth: tls.RequireAndVerifyClientCert,
	}, nil
}
