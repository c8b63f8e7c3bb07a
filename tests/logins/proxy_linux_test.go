package logins

import (
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"goblin-actor/internal/authtest"
	"goblin-actor/internal/gatetest"
)

// company is a network whose only way out is a proxy. Outside are a protected server and its authorization server.
type company struct {
	tools   *tools
	outside *httptest.Server // both hosts
	mu      sync.Mutex
	tunnels []string // host:port
}

func (c *company) host(w http.ResponseWriter, r *http.Request) {
	document := ""
	switch r.Host + r.URL.Path {
	case "mcp.example.com/mcp":
		if r.Header.Get("Authorization") != "Bearer granted-outside" {
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="https://mcp.example.com/about"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		c.tools.ServeHTTP(w, r)
		return
	case "mcp.example.com/about":
		document = `{"resource":"https://mcp.example.com/mcp","authorization_servers":["https://login.example.com"]}`
	case "login.example.com/.well-known/oauth-authorization-server":
		document = `{"issuer":"https://login.example.com","token_endpoint":"https://login.example.com/token"}`
	case "login.example.com/token":
		document = `{"access_token":"granted-outside","token_type":"Bearer","expires_in":3600}`
	default:
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, document)
}

// proxy tunnels every CONNECT to the outside server.
func (c *company) proxy(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	if !slices.Contains(c.tunnels, r.Host) {
		c.tunnels = append(c.tunnels, r.Host)
	}
	c.mu.Unlock()
	authtest.Tunnel(w, r, c.outside.Listener.Addr().String())
}

// If the only way out is a proxy, the gateway uses it to reach the server, the metadata and the authorization server.
func TestLoginThroughAProxy(t *testing.T) {
	c := &company{tools: &tools{}}
	c.outside = httptest.NewTLSServer(http.HandlerFunc(c.host))
	defer c.outside.Close()
	proxy := httptest.NewServer(http.HandlerFunc(c.proxy))
	defer proxy.Close()
	w := &world{t: t, dir: gatetest.ShortDir(t)}
	w.config = filepath.Join(w.dir, "goblin.yaml")
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.outside.Certificate().Raw})
	for name, text := range map[string][]byte{
		"tls.crt":     certificate,
		"goblin.yaml": []byte("mcpServers:\n  safe: {url: https://mcp.example.com/mcp, auth: {type: client, clientId: us, clientSecret: of-ours}}\n"),
	} {
		if err := os.WriteFile(filepath.Join(w.dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, value := range map[string]string{"HTTPS_PROXY": proxy.URL, "NO_PROXY": "", "no_proxy": "", "SSL_CERT_FILE": filepath.Join(w.dir, "tls.crt")} {
		t.Setenv(name, value)
	}
	w.serve()
	w.state("ready")
	contains(t, "call", w.call("safe_echo"), "done")
	c.mu.Lock()
	defer c.mu.Unlock()
	if slices.Sort(c.tunnels); fmt.Sprint(c.tunnels) != "[login.example.com:443 mcp.example.com:443]" {
		t.Errorf("the proxy got requests for %v", c.tunnels)
	}
}
