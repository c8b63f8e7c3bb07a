//go:build linux

package cluster

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	internal "goblin-actor/internal/cluster"
	"goblin-actor/internal/gatetest"
)

const authorityServers = `
metaTools: false
cluster: {tls: {cert: "${NODE}.crt", key: "${NODE}.key", ca: ca.crt, nodes: [a, b, c]}}
mcpServers:
  notes: {command: %[1]q, args: [demo, notes], run: each}
  clock: {command: %[1]q, args: [demo, clock], run: b}
`

// certify writes the certificate of an authority, and one that it has signed for each name, to dir.
func certify(t *testing.T, dir string, names ...string) {
	t.Helper()
	authority := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "company"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign}
	signer, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range append([]string{"ca"}, names...) {
		key, template := signer, authority
		if i > 0 {
			if key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
				t.Fatal(err)
			}
			template = &x509.Certificate{SerialNumber: big.NewInt(int64(i + 1)), DNSNames: []string{name}, NotBefore: authority.NotBefore, NotAfter: authority.NotAfter,
				ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
		}
		public, err := x509.CreateCertificate(rand.Reader, template, authority, &key.PublicKey, signer)
		if err != nil {
			t.Fatal(err)
		}
		private, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		for end, block := range map[string]*pem.Block{".crt": {Type: "CERTIFICATE", Bytes: public}, ".key": {Type: "PRIVATE KEY", Bytes: private}} {
			if err := os.WriteFile(filepath.Join(dir, name+end), pem.EncodeToMemory(block), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// S6.8: nodes with certificates of an authority serve each other's servers. Another program with a certificate of the same authority, and one
// with a certificate made from the secret of the cluster, get an answer neither at the port for requests nor at that for NATS.
func TestAttack104ProgramWithCertificateOfTheAuthority(t *testing.T) {
	dir := gatetest.ShortDir(t)
	certify(t, dir, "a", "b", "c", "db")
	c := gatetest.StartCluster(t, gatetest.ClusterOptions{Binary: binary, Dir: dir, Config: fmt.Sprintf(authorityServers, binary)})
	within(t, gatetest.Patience, "start", "3 3 3", func() string { return counted(t, c.Nodes...) })
	for _, n := range c.Nodes {
		session, _ := connect(t, n.URL, "2025-11-25")
		gatetest.WaitFor(t, "a call of a server on b through "+n.Name, func() (bool, string) {
			got := call(t.Context(), session, "clock_now", nil)
			return !strings.HasPrefix(got, "error"), got
		})
	}
	file, err := os.ReadFile(filepath.Join(dir, "goblin.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	routes := routesPort.FindSubmatch(file)[1]
	secret, err := os.ReadFile(filepath.Join(dir, "cluster.secret"))
	if err != nil {
		t.Fatal(err)
	}
	secrets, err := internal.NewSecrets([]string{string(secret)})
	if err != nil {
		t.Fatal(err)
	}
	made, err := secrets.TLS("b")
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]tls.Certificate{"made from the secret": made.Certificates[0]}
	for _, name := range []string{"b", "db"} {
		if shown[name], err = tls.LoadX509KeyPair(filepath.Join(dir, name+".crt"), filepath.Join(dir, name+".key")); err != nil {
			t.Fatal(err)
		}
	}
	for name, certificate := range shown {
		welcome := name == "b"
		config := &tls.Config{InsecureSkipVerify: true} // the attacker does not care who answers
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &certificate, nil }
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: config}, Timeout: time.Minute}
		for _, n := range c.Nodes {
			if got, _ := (forgery{client: client, base: "https://" + n.Address(), path: "/mcp", host: n.Name, body: initialize}).send(t); (got != "no answer") != welcome {
				t.Errorf("%s at the port for requests of node %s: %s", name, n.Name, got)
			}
			if got := greeting(n.Host+":"+string(routes), config); bytes.HasPrefix(got, []byte("INFO ")) != welcome {
				t.Errorf("%s at the port for NATS of node %s: %q", name, n.Name, got)
			}
		}
		client.CloseIdleConnections()
	}
	within(t, gatetest.Patience, "members at the end", "3 3 3", func() string { return counted(t, c.Nodes...) })
}

// greeting returns the first bytes that the NATS server of a node sends over TLS.
func greeting(address string, config *tls.Config) []byte {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(30 * time.Second)) // only a failed test waits so long
	secure := tls.Client(conn, config)
	if _, err := secure.Write([]byte("CONNECT {}\r\n")); err != nil {
		return nil
	}
	text := make([]byte, 64)
	n, _ := secure.Read(text) // an error is a refusal
	return text[:n]
}
