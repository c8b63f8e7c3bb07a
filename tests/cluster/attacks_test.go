//go:build linux

package cluster

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/auth"
	internal "goblin-actor/internal/cluster"
	"goblin-actor/internal/gatetest"
	"goblin-actor/internal/identity"
)

const (
	initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	ping       = `{"jsonrpc":"2.0","id":2,"method":"ping"}`
)

// forgery is a request of an attacker.
type forgery struct {
	client        *http.Client // nil = http.DefaultClient
	base, path    string
	host          string // "" = that of base
	key           string // "" = none
	session, body string
	headers       map[string]string
}

// send returns the status and the body of the response, or "no answer" if there is none, and the session that was opened.
func (f forgery) send(t *testing.T) (answer, session string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, f.base+f.path, strings.NewReader(f.body))
	if err != nil {
		t.Fatal(err)
	}
	r.Host = f.host
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for name, value := range map[string]string{"Authorization": "Bearer " + f.key, "Mcp-Session-Id": f.session} {
		if value != "" && value != "Bearer " {
			r.Header.Set(name, value)
		}
	}
	for name, value := range f.headers {
		r.Header.Set(name, value)
	}
	client := f.client
	if client == nil {
		client = http.DefaultClient
	}
	response, err := client.Do(r)
	if err != nil {
		return "no answer", ""
	}
	defer func() { _ = response.Body.Close() }()
	text, _ := io.ReadAll(io.LimitReader(response.Body, 1<<20)) // a cut answer is compared as it is
	return fmt.Sprintf("%d %s", response.StatusCode, text), response.Header.Get("Mcp-Session-Id")
}

// keyedCluster starts three nodes with a process for each principal, and returns the API keys and the holders of the principals.
func keyedCluster(t *testing.T, names ...string) (c *gatetest.Cluster, keys, holders map[string]string) {
	t.Helper()
	dir := gatetest.ShortDir(t)
	keys, holders = map[string]string{}, map[string]string{}
	for _, name := range names {
		key, sum := auth.NewKey()
		keys[name], holders[name] = key, identity.Held("key:"+name, keyNumber(sum))
		for _, node := range []string{"a", "b", "c"} {
			if err := auth.Add(filepath.Join(dir, "keys-"+node+".yaml"), auth.Key{Name: name, Sum: sum}); err != nil {
				t.Fatal(err)
			}
		}
	}
	c = gatetest.StartCluster(t, gatetest.ClusterOptions{Binary: binary, Dir: dir, Config: fmt.Sprintf(keyedHops, binary)})
	within(t, gatetest.Patience, "members", "3 3 3", func() string { return counted(t, c.Nodes...) })
	return c, keys, holders
}

// claims returns headers with which a client pretends to be another node that serves this principal.
func claims(holder string) []map[string]string {
	return []map[string]string{
		{"Goblin-Node-Holder": holder},
		{"Goblin-Node-Holder": holder, "Goblin-Node-Client": "127.0.0.1"},
		{"Goblin-Node-Hop": "a", "Goblin-Node-Holder": holder, "Goblin-Node-Key": "k"},
		{"Goblin-Node-Hop": "a", "Goblin-Node-Key": holder},
	}
}

// S6.8: a client without a key names a principal in the headers of nodes, at the ports for clients and without a certificate at those for nodes.
func TestAttack103HolderFromAClient(t *testing.T) {
	c, _, holders := keyedCluster(t, "ann")
	blind := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	for _, n := range c.Nodes {
		want, _ := forgery{base: n.Base, path: "/mcp", body: initialize}.send(t)
		for _, headers := range append(claims(holders["ann"]), claims("")...) {
			if got, _ := (forgery{base: n.Base, path: "/mcp", body: initialize, headers: headers}).send(t); got != want || !strings.HasPrefix(got, "401 ") {
				t.Errorf("node %s, %v: %s; without them %s", n.Name, headers, got, want)
			}
			if got, _ := (forgery{client: blind, base: "https://" + n.Address(), path: "/mcp", host: n.Name, body: initialize, headers: headers}).send(t); got != "no answer" {
				t.Errorf("the port for nodes of %s, without a certificate, %v: %s", n.Name, headers, got)
			}
		}
	}
}

// Paths of nodes do not exist for clients, and the headers of nodes change nothing for a client with a key.
func TestAttack103PathsOfNodes(t *testing.T) {
	c, keys, holders := keyedCluster(t, "ann", "bob")
	for _, n := range c.Nodes {
		for _, path := range []string{"/cluster/mcp", "/cluster/", "/cluster/s/notes/mcp", "/cluster/admin"} {
			unknown, _ := forgery{base: n.Base, path: strings.Replace(path, "cluster", "nothing", 1), key: keys["bob"], body: initialize}.send(t)
			for _, headers := range append(claims(holders["ann"]), nil) {
				if got, _ := (forgery{base: n.Base, path: path, key: keys["bob"], body: initialize, headers: headers}).send(t); got != unknown || !strings.HasPrefix(got, "404 ") {
					t.Errorf("node %s, %s with %v: %s; an unknown path has %s", n.Name, path, headers, got, unknown)
				}
			}
		}
	}
}

// A client with a key asks for the data of another user, whose process runs on one node of the cluster, with the headers of nodes. It
// also sends the session id of the other user.
func TestAttack107TenantByForgedHeaders(t *testing.T) {
	c, keys, holders := keyedCluster(t, "ann", "bob")
	call := func(n *gatetest.Node, who, session, tool, arguments string, headers map[string]string) string {
		t.Helper()
		if session == "" {
			gatetest.WaitFor(t, "a session of "+who, func() (bool, string) {
				var answer string
				answer, session = forgery{base: n.Base, path: "/mcp", key: keys[who], body: initialize, headers: headers}.send(t)
				return session != "", answer
			})
		}
		body := `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + arguments + `}}`
		answer, _ := forgery{base: n.Base, path: "/mcp", key: keys[who], session: session, body: body, headers: headers}.send(t)
		return answer
	}
	const search = `{"query":"treasure"}`
	for _, server := range []string{"notes", "diary"} {
		gatetest.WaitFor(t, "ann's note in "+server, func() (bool, string) {
			answer := call(c.Nodes[0], "ann", "", server+"_add_note", `{"title":"treasure","text":"x"}`, nil)
			return strings.HasPrefix(answer, "200 ") && !strings.Contains(answer, "error") && !strings.Contains(answer, "isError"), answer
		})
		for _, n := range c.Nodes {
			want := call(n, "bob", "", server+"_search_notes", search, nil)
			if got := call(n, "ann", "", server+"_search_notes", search, nil); got == want || !strings.HasPrefix(got, "200 ") {
				t.Errorf("%s: ann at node %s does not find her note: %s", server, n.Name, got)
			}
			for _, headers := range claims(holders["ann"]) {
				if got := call(n, "bob", "", server+"_search_notes", search, headers); got != want {
					t.Errorf("%s: bob at node %s with %v: %s; without them %s", server, n.Name, headers, got, want)
				}
			}
		}
	}
	_, stolen := forgery{base: c.Nodes[0].Base, path: "/mcp", key: keys["ann"], body: initialize}.send(t)
	for _, n := range c.Nodes {
		missing, _ := forgery{base: n.Base, path: "/mcp", key: keys["bob"], session: stolen[:len(stolen)-4] + "AAAA", body: ping}.send(t)
		for _, headers := range append(claims(holders["ann"]), nil) {
			if got, _ := (forgery{base: n.Base, path: "/mcp", key: keys["bob"], session: stolen, body: ping, headers: headers}).send(t); got != missing || !strings.HasPrefix(got, "404 ") {
				t.Errorf("ann's session at node %s, with bob's key and %v: %s; an unknown session has %s", n.Name, headers, got, missing)
			}
		}
	}
}

// S6.8: a node of another cluster has a certificate that is valid for the name of a node, but is made from another secret. It gets no answer at the
// ports for nodes, and does not become a member.
func TestAttack105NodeOfAnotherCluster(t *testing.T) {
	c, _, holders := keyedCluster(t, "ann")
	secrets, err := internal.NewSecrets([]string{internal.NewSecret()})
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := secrets.TLS("a")
	if err != nil {
		t.Fatal(err)
	}
	foreign.InsecureSkipVerify = true // the attacker does not care who answers
	certificate := foreign.Certificates[0]
	foreign.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &certificate, nil } // also for other authorities
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: foreign}, Timeout: 10 * time.Second}
	for _, n := range c.Nodes {
		for _, headers := range claims(holders["ann"]) {
			if got, _ := (forgery{client: client, base: "https://" + n.Address(), path: "/mcp", host: n.Name, body: initialize, headers: headers}).send(t); got != "no answer" {
				t.Errorf("the port for nodes of %s, %v: %s", n.Name, headers, got)
			}
		}
	}
}
