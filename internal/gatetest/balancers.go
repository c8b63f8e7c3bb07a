package gatetest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// Balancers deal each request to the next node, over connections that they keep, or over a new one for each request.
const (
	Nginx      = "nginx"
	NginxNew   = "nginx-new"
	Haproxy    = "haproxy"
	HaproxyNew = "haproxy-new"
)

// Balancers are the names of all balancers.
var Balancers = []string{Nginx, NginxNew, Haproxy, HaproxyNew}

// balancerPath returns the program of a balancer, or "" if it is not installed. NGINX_PROGRAM and HAPROXY_PROGRAM name other paths.
func balancerPath(name string) string {
	program := strings.TrimSuffix(name, "-new")
	if path := os.Getenv(strings.ToUpper(program) + "_PROGRAM"); path != "" {
		return path
	}
	path, _ := exec.LookPath(program) // the error means that it is not installed
	return path
}

// NeedBalancer skips the test if a balancer is not installed, and says so. With BALANCERS=all in the environment, as the make targets
// set it, the test fails instead. It also fails if there is no balancer of that name.
func NeedBalancer(t *testing.T, name string) {
	t.Helper()
	if !slices.Contains(Balancers, name) {
		t.Fatalf("unknown balancer %q; the balancers are %v", name, Balancers)
	}
	if balancerPath(name) == "" {
		missing(t, strings.TrimSuffix(name, "-new")+" is not installed")
	}
}

// missing skips the test because this machine lacks something, or fails it with BALANCERS=all.
func missing(t *testing.T, what string) {
	t.Helper()
	why := "SKIPPED: " + what + ", so some tests of a cluster do not run"
	if os.Getenv("BALANCERS") == "all" {
		t.Fatal(why)
	}
	fmt.Println(why)
	t.Skip(why)
}

// startNATS starts nats-server with JetStream, and returns its URL. Its files are below dir. It skips the test if the server is not installed;
// see NeedBalancer.
func startNATS(t *testing.T, dir string) (url string) {
	t.Helper()
	program, err := exec.LookPath("nats-server")
	if err != nil {
		missing(t, "nats-server is not installed")
	}
	port := FreePort(t)
	cmd, said := exec.Command(program, "-a", "127.0.0.1", "-p", port, "-js", "-sd", dir), &Output{}
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	WaitFor(t, "nats-server to listen", func() (bool, string) {
		conn, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil, said.String()
	})
	return "nats://127.0.0.1:" + port
}
