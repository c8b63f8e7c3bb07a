package relay

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A connection to another node ends when its user, the relay or the members of the cluster end it. Its errors show no addresses.
func TestDial(t *testing.T) {
	keep := func(Target) bool { return true }
	for name, end := range map[string]func(w *rig, c net.Conn){
		"its user":          func(_ *rig, c net.Conn) { _ = c.Close() },
		"a node that left":  func(w *rig, _ net.Conn) { w.relay.Forget(func(Target) bool { return false }) },
		"the relay":         func(w *rig, _ net.Conn) { w.relay.Close() },
		"nothing, but late": func(w *rig, _ net.Conn) { w.relay.Forget(keep) },
	} {
		w := newRig(t, nil, nil)
		address := w.fakeHome(func(c *tls.Conn) { _, _ = io.Copy(io.Discard, c) })
		c, err := w.relay.Dial(t.Context(), Target{Node: "home", Address: address})
		if err != nil {
			t.Fatal(err)
		}
		raw, err := c.(syscall.Conn).SyscallConn()
		if err != nil || raw.Control(func(uintptr) {}) != nil {
			t.Errorf("%s: no socket: %v", name, err)
		}
		if _, err := c.Write([]byte("x")); err != nil {
			t.Error(err)
		}
		end(w, c)
		_ = c.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
		_, err = c.Read(make([]byte, 1))
		if late := strings.HasPrefix(name, "nothing"); late != isTimeout(err) || err == nil || strings.Contains(err.Error(), "127.0.0.1") && !late {
			t.Errorf("%s: %v", name, err)
		}
		_ = c.Close()
		if n := len(w.relay.dialed); n != 0 {
			t.Errorf("%s: %d connections are left", name, n)
		}
	}
}

// No connection is opened after the end of the context, to a node with another name than expected, or after Close.
func TestDialFails(t *testing.T) {
	w := newRig(t, nil, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.relay.Dial(ctx, Target{Node: "home", Address: w.node}); err == nil {
		t.Error("connected after the end of the context")
	}
	if _, err := w.relay.Dial(t.Context(), Target{Node: "other", Address: w.node}); err == nil {
		t.Error("connected to a node with another name")
	}
	if _, err := w.relay.Dial(t.Context(), Target{Node: "home", Address: closing(t)}); !errors.Is(err, errHandshake) {
		t.Errorf("a node that closes connections at once: %v", err)
	}
	w.relay.Close()
	if _, err := w.relay.Dial(t.Context(), Target{Node: "home", Address: w.node}); !errors.Is(err, net.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// closing returns an address whose connections are closed at once.
func closing(t *testing.T) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.Close()
		}
	}()
	return l.Addr().String()
}
