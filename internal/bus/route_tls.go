package bus

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
)

// routeTLS returns the configuration that the server uses for connections to and from other nodes. Each connection uses the
// configuration that current returns at that time.
func routeTLS(current func() *tls.Config) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		// As server:
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			c := current().Clone()
			c.MinVersion, c.ClientAuth = tls.VersionTLS13, tls.RequireAndVerifyClientCert
			c.SessionTicketsDisabled = true // each connection shows its certificate
			return c, nil
		},
		// As client: verify checks all but the name, which is unknown.
		InsecureSkipVerify: true,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			c := current()
			if len(c.Certificates) == 0 {
				return nil, errors.New("the node has no certificate")
			}
			return &c.Certificates[0], nil
		},
		VerifyConnection: func(state tls.ConnectionState) error { return verify(current(), state) },
	}
}

// verify checks, for a client, that one of the authorities has signed the server's certificate, and calls VerifyConnection.
func verify(c *tls.Config, state tls.ConnectionState) error {
	if len(state.PeerCertificates) == 0 {
		return errors.New("the other node has no certificate")
	}
	options := x509.VerifyOptions{Roots: c.RootCAs, Intermediates: x509.NewCertPool()}
	if options.Roots == nil { // the system's authorities sign for everyone
		options.Roots = x509.NewCertPool()
	}
	for _, intermediate := range state.PeerCertificates[1:] {
		options.Intermediates.AddCert(intermediate)
	}
	if _, err := state.PeerCertificates[0].Verify(options); err != nil {
		return &tls.CertificateVerificationError{UnverifiedCertificates: state.PeerCertificates, Err: err}
	}
	if c.VerifyConnection != nil {
		return c.VerifyConnection(state)
	}
	return nil
}
