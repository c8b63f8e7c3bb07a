package cluster

import (
	"crypto/tls"
	"net"
	"testing"
)

// handshake connects a node with the configuration client to a node with the configuration server, which it expects to have
// the given name. It returns the errors of both sides.
func handshake(t *testing.T, client, server *tls.Config, name string) (clientErr, serverErr error) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0") // a pipe has no buffer: both sides could block while they write
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	served := make(chan error, 1)
	go func() {
		far, err := listener.Accept()
		if err == nil {
			defer far.Close()
			conn := tls.Server(far, server)
			if err = conn.Handshake(); err == nil {
				_, err = conn.Write([]byte("x")) // the client learns of a refused certificate only when it reads
			}
		}
		served <- err
	}()
	near, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	config := client.Clone()
	config.ServerName = name
	conn := tls.Client(near, config)
	if clientErr = conn.Handshake(); clientErr == nil {
		_, clientErr = conn.Read(make([]byte, 1))
	}
	near.Close()
	return clientErr, <-served
}

// Nodes accept each other if each has the other's first secret in its list. They refuse all others.
func TestNodeCertificates(t *testing.T) {
	config := func(secrets, node string) *tls.Config {
		c, err := secretsOf(t, secrets).TLS(node)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	anonymous := config("a", "x")
	anonymous.Certificates = nil
	old := config("a", "a")
	old.MaxVersion = tls.VersionTLS12
	old.MinVersion = tls.VersionTLS12
	for name, c := range map[string]struct {
		client, server *tls.Config
		dialed         string
		ok             bool
	}{
		"same secret":         {config("a", "a"), config("a", "b"), "b", true},
		"rotation":            {config("ab", "a"), config("ba", "b"), "b", true},
		"another secret":      {config("a", "a"), config("c", "b"), "b", false},
		"server's is unknown": {config("a", "a"), config("ca", "b"), "b", false},
		"client's is unknown": {config("ca", "a"), config("a", "b"), "b", false},
		"another node":        {config("a", "a"), config("a", "c"), "b", false},
		"no certificate":      {anonymous, config("a", "b"), "b", false},
		"TLS 1.2":             {old, config("a", "b"), "b", false},
	} {
		clientErr, serverErr := handshake(t, c.client, c.server, c.dialed)
		if ok := clientErr == nil && serverErr == nil; ok != c.ok {
			t.Errorf("%s: client %v, server %v", name, clientErr, serverErr)
		}
	}
}

// Every node derives the same authority, so certificates need not be distributed.
func TestAuthorityIsTheSameEverywhere(t *testing.T) {
	a, err := (*secretsOf(t, "a").list.Load())[0].authority()
	if err != nil {
		t.Fatal(err)
	}
	b, err := (*secretsOf(t, "ba").list.Load())[1].authority()
	if err != nil || !a.certificate.Equal(b.certificate) {
		t.Errorf("another node derives another authority, or fails: %v", err)
	}
}
