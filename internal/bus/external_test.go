package bus

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// startServer starts the installed nats-server on the address, with a user and a password.
func startServer(t testing.TB, address string, arguments ...string) *exec.Cmd {
	t.Helper()
	program, err := exec.LookPath("nats-server")
	if err != nil {
		t.Skip("nats-server is not installed")
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	server := exec.Command(program, append([]string{"-a", host, "-p", port, "--user", "u", "--pass", "p"}, arguments...)...)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	within(t, 5*time.Second, "the server listens", func() bool {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	return server
}

func connectTo(t testing.TB, address, node string) Bus {
	t.Helper()
	b, err := Connect(External{Cluster: "test", Node: node, URL: "nats://u:p@" + address, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// Two nodes talk over an external server. A node can start before the server, and goes on after the server was restarted.
func TestExternalServer(t *testing.T) {
	t.Parallel()
	address := freeAddress(t, 1)
	a := connectTo(t, address, "a")
	if _, err := a.Ask(t.Context(), "node.b", nil); !errors.Is(err, ErrOffline) || a.Status().Lost.IsZero() {
		t.Errorf("without a server: %v, %+v", err, a.Status())
	}
	server := startServer(t, address)
	b := connectTo(t, address, "b")
	if _, err := b.Subscribe("node.b", func(m Message) { m.Answer(m.Payload) }); err != nil {
		t.Fatal(err)
	}
	answers := func() bool { return quickAsk(a, "node.b") == nil }
	within(t, 5*time.Second, "an answer", answers)
	if s := a.Status(); s.Engine != "external" || s.Server != address || !s.Lost.IsZero() {
		t.Errorf("%+v", s)
	}
	if err := quickAsk(a, "node.c"); !errors.Is(err, ErrNoListener) {
		t.Errorf("without listener: %v", err)
	}
	_ = server.Process.Kill()
	_ = server.Wait()
	within(t, 5*time.Second, "offline", func() bool { return errors.Is(quickAsk(a, "node.b"), ErrOffline) })
	startServer(t, address)
	t.Logf("an answer %v after the server listens again", within(t, 5*time.Second, "an answer", answers))
}

// A client with wrong credentials keeps trying, because the credentials may be replaced.
func TestExternalServerRefuses(t *testing.T) {
	address := freeAddress(t, 1)
	startServer(t, address)
	log := new(lockedLog)
	b, err := Connect(External{Cluster: "test", Node: "a", URL: "nats://u:wrong@" + address, Log: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	within(t, 5*time.Second, "an entry in the log", func() bool { return strings.Contains(log.String(), "Authorization Violation") })
	if err := quickAsk(b, "x"); !errors.Is(err, ErrOffline) {
		t.Error(err)
	}
	if strings.Contains(log.String(), "wrong") {
		t.Errorf("the log contains the password: %s", log)
	}
	_, err = Connect(External{Cluster: "test", Node: "a", URL: "nats://u:secret@[::1", Log: slog.New(slog.DiscardHandler)})
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("malformed address: %v", err)
	}
}

// Three external servers that replicate keep the records when one of them is killed.
func TestExternalCluster(t *testing.T) {
	if *voterFaults == 0 {
		t.Skip("takes a minute; see make voters")
	}
	var clients, routes []string
	for range 3 {
		clients, routes = append(clients, freeAddress(t, 1)), append(routes, "nats://"+freeAddress(t, 1))
	}
	var servers []*exec.Cmd
	for i, address := range clients {
		servers = append(servers, startServer(t, address, "-js", "-sd", t.TempDir(), "--server_name", fmt.Sprint("s", i),
			"--cluster_name", "external", "--cluster", routes[i], "--routes", strings.Join(routes, ",")))
	}
	b, err := Connect(External{Cluster: "test", Node: "a", URL: "nats://u:p@" + strings.Join(clients, ",nats://u:p@"), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	t.Logf("the records are available after %v", ready(t, b))
	first, err := b.Records().Put(t.Context(), "key", []byte("1"), 0)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := b.(external).records.open(t.Context())
	if err != nil || stream.CachedInfo().Config.Replicas != 3 {
		t.Fatalf("%+v, %v", stream.CachedInfo().Config, err)
	}
	for i, s := range servers {
		if fmt.Sprint("s", i) == stream.CachedInfo().Cluster.Leader {
			_ = s.Process.Kill()
		}
	}
	t.Logf("read %v after the leader was killed", ready(t, b))
	if got, err := b.Records().Get(t.Context(), "key"); err != nil || got.Revision != first {
		t.Errorf("%+v, %v", got, err)
	}
}
