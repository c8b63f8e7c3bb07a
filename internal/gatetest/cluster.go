//go:build linux

package gatetest

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"testing"

	"github.com/goccy/go-yaml"

	"goblin-actor/internal/cluster"
)

// ClusterOptions describes a cluster of gateways on this machine.
type ClusterOptions struct {
	Binary   string   // the gateway
	Dir      string   // a short directory for the files of all nodes
	Config   string   // text of the configuration, YAML or JSON; addresses and secrets of its section cluster are replaced
	Balancer string   // one of Balancers; "" = none
	Patient  bool     // haproxy makes no health checks, so a node that answers late still gets requests
	Voters   bool     // all nodes keep records
	NATS     bool     // the nodes use an external nats-server instead of the one inside the gateways
	Run      string   // where servers with a command and without run are to run; "" = each
	Names    []string // of the nodes; nil = a, b, c
	Network  bool     // the test can cut connections between the nodes; see RunNamespace and Cut
}

// Cluster is a running cluster. Each node has a loopback address and directories of its own.
type Cluster struct {
	t       *testing.T
	o       ClusterOptions
	file    string
	port    string   // of the nodes' HTTPS
	routes  string   // port of the nodes' NATS servers
	network *network // nil without ClusterOptions.Network
	URL     string   // URL of the MCP endpoint at the balancer, or at the first node if there is none
	Base    string   // http://host:port
	Nodes   []*Node
}

// Node is a gateway of a Cluster.
type Node struct {
	*Process
	Name, Host string
	Dir        string // its state and runtime directory
	Binary     string // the gateway; the test may change it before Start
	cluster    *Cluster
	port       string // of its clients; it keeps the port when it is started again
}

// StartCluster starts a node for each name and the balancer, and waits until all nodes are ready.
func StartCluster(t *testing.T, o ClusterOptions) *Cluster {
	t.Helper()
	if o.Names == nil {
		o.Names = []string{"a", "b", "c"}
	}
	c := &Cluster{t: t, o: o, port: FreePort(t), routes: FreePort(t)}
	c.file = c.write("goblin.yaml", c.config())
	c.write("cluster.secret", cluster.NewSecret())
	for i, name := range o.Names {
		n := &Node{Name: name, Binary: o.Binary, Host: fmt.Sprintf("127.0.0.%d", i+1), cluster: c, port: FreePort(t)}
		n.Dir = filepath.Join(o.Dir, n.Name)
		if err := os.Mkdir(n.Dir, 0o700); err != nil {
			t.Fatal(err)
		}
		c.Nodes = append(c.Nodes, n)
	}
	if o.Network {
		c.isolate()
	}
	for _, n := range c.Nodes {
		n.Start()
	}
	for _, n := range c.Nodes {
		WaitReady(t, n.Base)
	}
	c.URL, c.Base = c.Nodes[0].URL, c.Nodes[0].Base
	if o.Balancer != "" {
		c.balance()
	}
	return c
}

func (c *Cluster) write(name, text string) (path string) {
	path = filepath.Join(c.o.Dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		c.t.Fatal(err)
	}
	return path
}

// config returns the configuration of all nodes.
func (c *Cluster) config() string {
	var all map[string]any
	if err := yaml.Unmarshal([]byte(c.o.Config), &all); err != nil {
		c.t.Fatal(err)
	}
	servers, _ := all["mcpServers"].(map[string]any)
	for _, server := range servers {
		if s, ok := server.(map[string]any); ok && s["command"] != nil && s["run"] == nil {
			s["run"] = cmp.Or(c.o.Run, "each")
		}
	}
	var seeds []string
	for i := range c.o.Names {
		seeds = append(seeds, fmt.Sprintf("127.0.0.%d:%s", i+1, c.routes))
	}
	section, ok := all["cluster"].(map[string]any)
	if !ok {
		section = map[string]any{}
		all["cluster"] = section
	}
	maps.Copy(section, map[string]any{
		"name": "test", "node": "${NODE}", "listen": "${NODE_HOST}:" + c.port, "secrets": []string{"${file:cluster.secret}"},
	})
	if c.o.NATS {
		section["nats"] = map[string]any{"url": startNATS(c.t, filepath.Join(c.o.Dir, "nats"))}
	} else {
		section["routes"], section["seeds"] = "${NODE_HOST}:"+c.routes, seeds
	}
	if c.o.Voters {
		section["voters"] = c.o.Names
	}
	text, err := yaml.Marshal(all)
	if err != nil {
		c.t.Fatal(err)
	}
	return string(text)
}

// Address returns where the node accepts requests of other nodes, as host:port.
func (n *Node) Address() string { return n.Host + ":" + n.cluster.port }

// Start starts the node, or starts it again after it has ended. It does not wait until the node is ready.
func (n *Node) Start() {
	n.cluster.t.Helper()
	args := []string{"serve", "--config", n.cluster.file, "--listen", n.Host + ":" + n.port}
	cmd := exec.Command(n.Binary, args...)
	if n.cluster.network != nil {
		cmd = n.cluster.network.command(n, n.Binary, args...)
	}
	cmd.Env = append(Environment(n.Dir), "NODE="+n.Name, "NODE_HOST="+n.Host)
	n.Process = Serve(n.cluster.t, cmd)
}

// Calls returns how many calls of tools each node has sent to its servers.
func (c *Cluster) Calls() (calls []int) {
	c.t.Helper()
	for _, n := range c.Nodes {
		_, page := Get(n.Base + "/metrics")
		total := 0
		for _, found := range callsTotal.FindAllStringSubmatch(page, -1) {
			count, err := strconv.Atoi(found[1])
			if err != nil {
				c.t.Fatal(err)
			}
			total += count
		}
		calls = append(calls, total)
	}
	return calls
}

var callsTotal = regexp.MustCompile(`(?m)^goblin_calls_total\{.*method="tools/call".*\} (\d+)$`)

// Kill ends the node at once, as kill -9 does.
func (n *Node) Kill() {
	_ = n.Cmd.Process.Kill()
	<-n.Exited
}

// Freeze stops the node's process until Thaw.
func (n *Node) Freeze() { _ = n.Cmd.Process.Signal(syscall.SIGSTOP) }

// Thaw lets a frozen node continue.
func (n *Node) Thaw() { _ = n.Cmd.Process.Signal(syscall.SIGCONT) }

const nginxCluster = `
daemon off; worker_processes 1; pid %[1]s/nginx.pid; error_log %[1]s/error.log;
events { worker_connections 4096; }
http {
  access_log off; client_body_temp_path %[1]s/body; proxy_temp_path %[1]s/proxy; client_max_body_size 0;
  fastcgi_temp_path %[1]s/f; uwsgi_temp_path %[1]s/u; scgi_temp_path %[1]s/s;
  upstream nodes { %[3]s }
  server {
    listen %[2]s;
    location / {
      proxy_pass http://nodes; proxy_http_version 1.1; proxy_set_header Connection "%[4]s"; proxy_set_header Host $http_host;
      proxy_buffering off; proxy_request_buffering off; proxy_read_timeout 1h;
    }
  }
}
`

const haproxyCluster = `
global
  maxconn 4096
defaults
  mode http
  timeout connect 2s
  timeout client 1h
  timeout server 1h
  retries 0
%[3]sfrontend clients
  bind %[1]s
  default_backend nodes
backend nodes
  balance roundrobin
  option httpchk
  http-check send meth GET uri /readyz ver HTTP/1.1 hdr Host localhost
%[2]s`

// balance starts the balancer, which deals each request to the next node, and waits until it works.
func (c *Cluster) balance() {
	c.t.Helper()
	address, servers := "127.0.0.1:"+FreePort(c.t), ""
	switch c.o.Balancer {
	case Nginx, NginxNew:
		for _, n := range c.Nodes {
			servers += "server " + n.Host + ":" + n.port + " max_fails=0; "
		}
		connections := "close"
		if c.o.Balancer == Nginx {
			connections = ""
			servers += "keepalive 16;"
		}
		c.Balance(Nginx, address, fmt.Sprintf(nginxCluster, c.o.Dir, address, servers, connections))
	case Haproxy, HaproxyNew:
		check, connections := " check inter 200ms fall 1 rise 1", ""
		if c.o.Patient {
			check = ""
		}
		if c.o.Balancer == HaproxyNew {
			connections = "  option httpclose\n"
		}
		for _, n := range c.Nodes {
			servers += "  server " + n.Name + " " + n.Host + ":" + n.port + check + "\n"
		}
		c.Balance(Haproxy, address, fmt.Sprintf(haproxyCluster, address, servers, connections))
	default:
		c.t.Fatalf("unknown balancer %q", c.o.Balancer)
	}
}

// Balance starts the balancer Nginx or Haproxy with a configuration that listens on address, and waits until it works.
func (c *Cluster) Balance(name, address, config string) {
	c.t.Helper()
	file := c.write(name+".conf", config)
	args := []string{"-db", "-f", file}
	if name == Nginx {
		args = []string{"-p", c.o.Dir, "-c", file, "-e", filepath.Join(c.o.Dir, "error.log")}
	}
	cmd, said := exec.Command(balancerPath(name), args...), &Output{}
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGINT)
		_ = cmd.Wait()
		if c.t.Failed() {
			log, _ := os.ReadFile(filepath.Join(c.o.Dir, "error.log")) // of nginx
			c.t.Logf("the balancer: %s%s", said, log)
		}
	})
	c.Base = "http://" + address
	c.URL = c.Base + "/mcp"
	WaitReady(c.t, c.Base)
}
