package doctor

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"goblin-actor/internal/bus"
	"goblin-actor/internal/cli/output"
	"goblin-actor/internal/cluster"
	"goblin-actor/internal/config"
)

// secretOf returns a secret of 32 bytes.
func secretOf(c string) string { return strings.Repeat(c, cluster.MinSecret) }

func tlsOf(t *testing.T, secret, node string) *tls.Config {
	t.Helper()
	s, err := cluster.NewSecrets([]string{secretOf(secret)})
	if err != nil {
		t.Fatal(err)
	}
	o, err := s.TLS(node)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// listen returns a listener that ends with the test, and its port.
func listen(t *testing.T, address string, o *tls.Config) (net.Listener, int) {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	port := l.Addr().(*net.TCPAddr).Port
	if o != nil {
		l = tls.NewListener(l, o)
	}
	return l, port
}

// answerAll sends text to each connection, after it has read something if it asks, and then ends the connection.
func answerAll(l net.Listener, asks bool, text func() string) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			if asks {
				if _, err := conn.Read(make([]byte, 1024)); err != nil {
					return
				}
			}
			_, _ = io.WriteString(conn, text())
		}()
	}
}

// otherNode is another node, whose NATS port is that of the real server.
type otherNode struct {
	routes string
	port   int // for HTTPS
}

// startPeer starts a node of that name on 127.0.0.1. Its clock is ahead by skew.
func startPeer(t *testing.T, secret, node string, skew time.Duration) otherNode {
	t.Helper()
	free, port := listen(t, "127.0.0.1:0", nil)
	free.Close()
	routes := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	o := tlsOf(t, secret, node)
	b, err := bus.Start(bus.Options{Cluster: "goblin", Node: node, Routes: routes, Seeds: []string{routes}, TLS: func() *tls.Config { return o }, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	l, https := listen(t, "127.0.0.1:0", o)
	go answerAll(l, true, func() string {
		return "HTTP/1.1 404 Not Found\r\nDate: " + time.Now().Add(skew).UTC().Format("Mon, 02 Jan 2006 15:04:05 GMT") + "\r\nContent-Length: 0\r\n\r\n"
	})
	return otherNode{routes, https}
}

// examined returns what doctor prints about a node with the keys in lines, and the number of failed checks. Its files
// have the mode.
func examined(t *testing.T, lines string, mode os.FileMode) (string, int) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "goblin.yaml")
	if !strings.Contains(lines, "secrets: ") {
		lines += ", secrets: '${file:cluster.secret}'"
	}
	for file, text := range map[string]string{"cluster.secret": secretOf("s") + "\n", "new.secret": secretOf("n"), "goblin.yaml": "cluster: {node: a, " + lines + "}\n"} {
		file = filepath.Join(filepath.Dir(path), file)
		if err := errors.Join(os.WriteFile(file, []byte(text), 0o600), os.Chmod(file, mode)); err != nil {
			t.Fatal(err)
		}
	}
	cfg, report := config.Load(path)
	if cfg == nil {
		t.Fatal(report.Err())
	}
	var out bytes.Buffer
	d := newDiagnosis(&out, path, output.Table, cfg, report)
	d.examineCluster(t.Context())
	return out.String(), d.clusterFailed
}

// doctor distinguishes a node that accepts this one from everything else that may be at a seed's address.
func TestClusterSeeds(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("SKIPPED: only Linux has more loopback addresses than one")
	}
	twin, friend, stranger, late := startPeer(t, "s", "a", 0), startPeer(t, "s", "b", 0), startPeer(t, "x", "b", 0), startPeer(t, "s", "b", -time.Hour)
	plain, plainPort := listen(t, "127.0.0.1:0", nil)
	go answerAll(plain, true, func() string { return "hello" })
	gone, gonePort := listen(t, "127.0.0.1:0", nil)
	gone.Close()
	own, ownPort := listen(t, "127.0.0.3:0", tlsOf(t, "s", "a"))
	go answerAll(own, false, func() string { return "INFO {}\r\n" })
	foreign, foreignPort := listen(t, "127.0.0.3:0", nil)
	go answerAll(foreign, false, func() string { return "SSH" })
	other := func(p int) string { return fmt.Sprintf("seeds: ['127.0.0.1:%d'], listen: '127.0.0.2:%d'", p, p) }
	of := func(p otherNode) string {
		return fmt.Sprintf("seeds: ['%s'], listen: '127.0.0.2:%d'", p.routes, p.port)
	}
	for name, c := range map[string]struct {
		lines  string
		failed int
		want   []string
	}{
		"friend": {of(friend), 0, []string{"cluster goblin: this is node a\n", "✓ secrets: 1 secret, from cluster.secret", "✓ listen: 127.0.0.2:", " is free", "✓ routes: 127.0.0.2:8732 is free",
			"✓ seed " + friend.routes + ": node b\n", "– voters: none"}},
		"voters":          {of(friend) + ", voters: [a, b, c]", 0, []string{"– voters: a, b, c; not seen among the seeds: c"}},
		"of another node": {of(friend) + ", secrets: '${file:cluster.secret}'}\nmcpServers: {x: {command: x, run: b}, y: {command: y, run: a}", 0, []string{"– run: x on b; run doctor there to test them"}},
		"of no node":      {of(friend) + ", secrets: '${file:cluster.secret}'}\nmcpServers: {x: {command: x, run: b}, y: {command: y, run: z}", 0, []string{"– run: x on b, y on z; not seen among the seeds: z"}},
		"all voters":      {of(friend) + ", voters: [a]", 0, []string{"✓ voters: a"}},
		"stranger":        {of(stranger), 1, []string{"✗ seed", "its certificate does not belong to this cluster", "cause: the first secret of one node is not among the secrets of the other"}},
		"rotation":        {of(friend) + ", secrets: ['${file:new.secret}', '${file:cluster.secret}']", 1, []string{"✓ secrets: 2 secrets, from new.secret, cluster.secret", "✗ seed", "remote error: tls:", "while a secret is replaced"}},
		"twin":            {of(twin), 1, []string{"a node with this node's name, a, answers there", "two nodes have the same name"}},
		"clock":           {of(late), 0, []string{"! seed", "node b; its clock differs by -", "h", "synchronize the clocks"}},
		"no HTTPS":        {fmt.Sprintf("seeds: ['%s'], listen: '127.0.0.2:%d'", friend.routes, gonePort), 1, []string{"node b; its HTTPS port: ", "connection refused", "no node runs there"}},
		"plain":           {other(plainPort), 1, []string{"the program that listens there is not a node of a cluster"}},
		"gone":            {other(gonePort), 0, []string{"! seed", "no node runs there"}},
		"no name":         {"seeds: [nothing.invalid], listen: '127.0.0.2:1024'", 1, []string{"✗ seed nothing.invalid:8732: ", "the name cannot be resolved"}},
		"itself":          {"seeds: ['127.0.0.2'], listen: '127.0.0.2:1024'", 0, []string{"– seeds: none besides this node"}},
		"running":         {fmt.Sprintf("seeds: ['%s'], listen: '127.0.0.3:%d'", friend.routes, ownPort), 1, []string{fmt.Sprintf("✓ listen: 127.0.0.3:%d is in use by this node", ownPort)}},
		"port in use":     {fmt.Sprintf("seeds: ['%s'], listen: '127.0.0.3:%d'", friend.routes, foreignPort), 2, []string{"✗ listen: ", "is in use\n    cause: another program listens there"}},
		"no such host":    {"seeds: ['127.0.0.2:8732'], listen: '192.0.2.1:1'", 2, []string{"✗ listen: ", "this machine does not have the address", "write only the port, such as :1,"}},
	} {
		got, failed := examined(t, c.lines, 0o600)
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %q in:\n%s", name, want, got)
			}
		}
		if failed != c.failed {
			t.Errorf("%s: %d failed checks, want %d:\n%s", name, failed, c.failed, got)
		}
	}
}

// doctor reports secrets that other users can replace.
func TestClusterSecretModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED: files have no modes")
	}
	gone, port := listen(t, "127.0.0.1:0", nil)
	gone.Close()
	lines := fmt.Sprintf("seeds: ['127.0.0.1:%d'], listen: '127.0.0.1:1'", port)
	for mode, want := range map[os.FileMode]string{0o600: "✓ secrets", 0o640: "✓ secrets", 0o620: "! secret: "} {
		if got, _ := examined(t, lines, mode); !strings.Contains(got, want) {
			t.Errorf("%04o: no %q in:\n%s", mode, want, got)
		}
	}
}

// doctor distinguishes a NATS server that the nodes can use from others.
func TestClusterNATS(t *testing.T) {
	const jetStream = `INFO {"version":"2.9.10","jetstream":true}` + "\r\n"
	for name, c := range map[string]struct {
		scheme, info string
		failed       int
		want         string
	}{
		"usable":       {"nats", jetStream, 0, "version 2.9.10, with JetStream"},
		"no TLS":       {"tls", jetStream, 1, "the server does not accept TLS"},
		"no JetStream": {"nats", `INFO {"version":"2.9.10"}` + "\r\n", 1, "turn on JetStream"},
		"SSH":          {"nats", "SSH-2.0\r\n", 1, "it does not answer like a NATS server"},
		"silent":       {"nats", "", 1, "the server is not running, or it is not a NATS server"},
	} {
		l, port := listen(t, "127.0.0.1:0", nil)
		go answerAll(l, false, func() string { return c.info })
		got, failed := examined(t, fmt.Sprintf("listen: '127.0.0.1:1024', nats: {url: '%s://127.0.0.1:%d'}", c.scheme, port), 0o600)
		if failed != c.failed || !strings.Contains(got, c.want) {
			t.Errorf("%s: %d failed, no %q in:\n%s", name, failed, c.want, got)
		}
	}
}

func TestSkew(t *testing.T) {
	at := time.Unix(1000, 0)
	for ms, want := range map[int]time.Duration{0: 0, -500: 0, -2000: -time.Second, 100: 0, 1500: 1300 * time.Millisecond} {
		if got := skew(at.Add(time.Duration(ms)*time.Millisecond), at, at.Add(200*time.Millisecond)); got != want {
			t.Errorf("%d ms: %v, want %v", ms, got, want)
		}
	}
}
