package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// testAuthority is a certificate authority as a company may have one.
type testAuthority struct {
	t           *testing.T
	dir         string
	key         *ecdsa.PrivateKey
	certificate *x509.Certificate
}

func newTestAuthority(t *testing.T, name string) *testAuthority {
	a := &testAuthority{t: t, dir: t.TempDir()}
	a.certificate = &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign}
	a.key = a.issue("ca", a.certificate, nil)
	return a
}

// issue writes NAME.crt and NAME.key. Without a signer, the certificate is self-signed.
func (a *testAuthority) issue(name string, template *x509.Certificate, signer *testAuthority) *ecdsa.PrivateKey {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	parent, parentKey := template, key
	if signer != nil {
		parent, parentKey = signer.certificate, signer.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, parentKey)
	if err != nil {
		a.t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{name + ".crt": {Type: "CERTIFICATE", Bytes: der}, name + ".key": {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(filepath.Join(a.dir, file), pem.EncodeToMemory(block), 0o600); err != nil {
			a.t.Fatal(err)
		}
	}
	return key
}

// node issues a certificate for a node, valid for the duration.
func (a *testAuthority) node(name string, valid time.Duration, usages ...x509.ExtKeyUsage) {
	a.issue(name, &x509.Certificate{SerialNumber: big.NewInt(2), DNSNames: []string{name}, ExtKeyUsage: usages,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(valid)}, a)
}

// LoadTLS refuses a certificate that the node cannot use on both sides of a connection. Nodes with certificates of one authority
// accept each other, but not a certificate made from a secret.
func TestLoadTLS(t *testing.T) {
	a, other := newTestAuthority(t, "company"), newTestAuthority(t, "other")
	both := []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	a.node("a", time.Hour, both...)
	a.node("b", time.Hour, both...)
	a.node("old", -time.Minute, both...)
	a.node("server", time.Hour, x509.ExtKeyUsageServerAuth)
	in := func(a *testAuthority, name string) string { return filepath.Join(a.dir, name) }
	for node, c := range map[string]struct{ cert, key, ca, want string }{
		"old":     {in(a, "old.crt"), in(a, "old.key"), in(a, "ca.crt"), "expired"},
		"server":  {in(a, "server.crt"), in(a, "server.key"), in(a, "ca.crt"), "it must be valid for servers and for clients"},
		"renamed": {in(a, "a.crt"), in(a, "a.key"), in(a, "ca.crt"), "cannot be used by node renamed"},
		"foreign": {in(a, "a.crt"), in(a, "a.key"), in(other, "ca.crt"), "unknown authority"},
		"mixed":   {in(a, "a.crt"), in(a, "b.key"), in(a, "ca.crt"), "private key does not match"},
		"no file": {in(a, "none.crt"), in(a, "a.key"), in(a, "ca.crt"), "no such file"},
		"no ca":   {in(a, "a.crt"), in(a, "a.key"), in(a, "none.crt"), "no such file"},
		"key ca":  {in(a, "a.crt"), in(a, "a.key"), in(a, "a.key"), "contains no certificate"},
	} {
		if node == "foreign" {
			node = "a"
		}
		if _, err := LoadTLS(c.cert, c.key, c.ca, node, []string{"a", "b"}); err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), "cannot find the file", "no such file"), c.want) {
			t.Errorf("%s: %v, want %q", node, err, c.want)
		}
	}
	nodeA, err := LoadTLS(in(a, "a.crt"), in(a, "a.key"), in(a, "ca.crt"), "a", []string{"a", "b"})
	if err != nil {
		t.Fatal(err)
	}
	nodeB, err := LoadTLS(in(a, "b.crt"), in(a, "b.key"), in(a, "ca.crt"), "b", []string{"a", "b"})
	if err != nil {
		t.Fatal(err)
	}
	if clientErr, serverErr := handshake(t, nodeA, nodeB, "b"); clientErr != nil || serverErr != nil {
		t.Errorf("two nodes of one authority: %v, %v", clientErr, serverErr)
	}
	made, err := secretsOf(t, "a").TLS("b")
	if err != nil {
		t.Fatal(err)
	}
	if clientErr, serverErr := handshake(t, nodeA, made, "b"); clientErr == nil && serverErr == nil {
		t.Error("a node with a certificate made from a secret was accepted")
	}
}

// A program with a certificate of the nodes' authority is not accepted as a node, unless the certificate is valid for a node's name or
// address.
func TestAttack104CertificateOfAnotherProgram(t *testing.T) {
	a := newTestAuthority(t, "company")
	both := []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	load := func(name string, peers ...string) *tls.Config {
		t.Helper()
		in := func(file string) string { return filepath.Join(a.dir, file) }
		o, err := LoadTLS(in(name+".crt"), in(name+".key"), in("ca.crt"), name, peers)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	for _, name := range []string{"a", "b", "db", "*.example.org"} {
		a.node(name, time.Hour, both...)
	}
	a.issue("addressed", &x509.Certificate{SerialNumber: big.NewInt(3), DNSNames: []string{"addressed"}, IPAddresses: []net.IP{net.IPv4(10, 0, 0, 2)}, ExtKeyUsage: both,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}, a)
	everyone := []string{"a", "b", "db", "addressed", "*.example.org"}
	for name, c := range map[string]struct {
		client string
		peers  []string
		ok     bool
	}{
		"a node":                   {"a", []string{"a", "b"}, true},
		"a node in capitals":       {"a", []string{"A", "B"}, true},
		"a node by its address":    {"addressed", []string{"b", "10.0.0.2"}, true},
		"another address":          {"addressed", []string{"b", "10.0.0.3"}, false},
		"another program":          {"db", []string{"a", "b"}, false},
		"a part of a name":         {"b", []string{"a", "bb"}, false},
		"no name":                  {"a", nil, false},
		"a certificate for others": {"*.example.org", []string{"a", "b", "example.org"}, false},
	} {
		if clientErr, serverErr := handshake(t, load(c.client, everyone...), load("b", c.peers...), "b"); (clientErr == nil && serverErr == nil) != c.ok {
			t.Errorf("%s as client: %v, %v", name, clientErr, serverErr)
		}
	}
	if clientErr, _ := handshake(t, load("a", "a", "b"), load("db", everyone...), "db"); clientErr == nil {
		t.Error("another program as server was accepted")
	}
}
