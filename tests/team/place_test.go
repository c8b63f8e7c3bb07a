package team

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/authtest"
	"goblin-actor/internal/gatetest"
)

const configuration = `
listen: 127.0.0.1:0
publicUrl: https://localhost
metaTools: false
tls: {cert: tls.crt, key: tls.key}
auth: {keys: keys.yaml}
audit: {file: audit.jsonl}
mcpServers:
  notes: {command: %q, args: [demo, notes]}
  clock: {command: %q, args: [demo, clock]}
  hosted: {url: %q}
policy:
  roles:
    reader: {readOnly: true}
    writer: {tools: {deny: ["*_delete*"]}}
  bind:
    - {role: writer, keys: [ada]}
`

// place is a directory with a gateway for a team, and the hosted server with its authorization server.
type place struct {
	t      *testing.T
	dir    string
	binary string
	hosted *hosted
	issuer *authtest.Issuer
	server *authtest.Server
	gate   *gatetest.Process
	trust  *x509.CertPool
}

func newPlace(t *testing.T, f authtest.Faults) *place {
	p := &place{t: t, dir: gatetest.ShortDir(t), hosted: newHosted()}
	var err error
	if p.binary, err = gatetest.Build(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	p.issuer = authtest.New(t, f)
	p.server = p.issuer.Protect(t, p.hosted)
	p.certify()
	p.write("goblin.yaml", []byte(fmt.Sprintf(configuration, p.binary, p.binary, p.server.URL)))
	return p
}

func (p *place) write(name string, text []byte) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), text, 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// certify creates the certificate and key that the configuration names.
func (p *place) certify() {
	p.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		p.t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		p.t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		p.t.Fatal(err)
	}
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	p.write("tls.crt", cert)
	p.write("tls.key", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}))
	p.trust = x509.NewCertPool()
	p.trust.AppendCertsFromPEM(cert)
}

func (p *place) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, p.binary, args...)
	cmd.Dir = p.dir
	cmd.Env = append(gatetest.Environment(p.dir), "SSL_CERT_FILE="+filepath.Join(p.dir, "tls.crt"))
	return cmd
}

func (p *place) serve() {
	p.t.Helper()
	p.gate = gatetest.Serve(p.t, p.command(context.Background(), "serve"))
	if !strings.HasPrefix(p.gate.URL, "https://") {
		p.t.Fatalf("the gateway serves %s, want https", p.gate.URL)
	}
}

// run runs a goblin-actor command, which must succeed, and returns its output.
func (p *place) run(args ...string) string {
	p.t.Helper()
	var failed gatetest.Output
	cmd := p.command(p.t.Context(), args...)
	cmd.Stderr = &failed
	out, err := cmd.Output()
	if err != nil {
		p.t.Fatalf("goblin-actor %s: %v\n%s%s", strings.Join(args, " "), err, out, &failed)
	}
	return strings.TrimSpace(string(out))
}

// logIn makes a shared login at the hosted server, as an operator on a machine without a browser.
func (p *place) logIn() {
	p.t.Helper()
	cmd := p.command(p.t.Context(), "login", "hosted", "--no-browser")
	var failed gatetest.Output
	cmd.Stderr = &failed
	in, err := cmd.StdinPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "http") {
			fmt.Fprintln(in, "http://127.0.0.1:1/callback?"+p.issuer.Approve(p.t, lines.Text()).Encode())
		}
	}
	if err := cmd.Wait(); err != nil {
		p.t.Fatalf("login: %v\n%s", err, &failed)
	}
}

// state waits until the hosted server has the given state.
func (p *place) state(want string) {
	p.t.Helper()
	gatetest.WaitFor(p.t, "the hosted server "+want, func() (bool, string) {
		s, err := gatetest.Snapshot(p.t.Context(), p.dir)
		if err != nil {
			return false, err.Error()
		}
		for _, server := range s.Servers {
			if server.Name == "hosted" {
				return server.State == want, server.State + ": " + server.Reason
			}
		}
		return false, "unknown server"
	})
}

// client returns an HTTP client for one user, with its own connections, that trusts only the gateway's certificate.
func (p *place) client() *http.Client {
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: p.trust}, MaxIdleConnsPerHost: 64}
	p.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: gatetest.Patience}
}

// line holds the fields of an audit line that the tests use.
type line struct {
	Event, Who, Method, Server, Item, Outcome, Rule, Decision, Detail string
}

// auditLog returns the lines that `audit tail` prints.
func (p *place) auditLog(args ...string) []line {
	p.t.Helper()
	var out []line
	for text := range strings.Lines(p.run(append([]string{"audit", "tail", "-n", "100000", "-o", "json"}, args...)...)) {
		var l line
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			p.t.Fatalf("a line of audit tail is not JSON: %v: %s", err, text)
		}
		out = append(out, l)
	}
	return out
}
