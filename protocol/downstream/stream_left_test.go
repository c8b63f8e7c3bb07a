package downstream

import (
	"crypto/tls"
	"runtime"
	"testing"
	"time"

	"goblin-actor/internal/poll"
)

// All streams share one poller, which exists while there is a stream. A client that leaves ends only its own stream.
func TestStreamsShareAPoller(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("SKIPPED: only Linux has a poller for streams")
	}
	handler, streams := keepStreams()
	s, address := serve(t, handler, Options{}, testLimits)
	poller := func() *poll.Poller {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.poller
	}
	for round := range 2 {
		const n = 200
		var clients []*rawClient
		gone := make(chan int, n)
		for i := range n {
			c := dial(t, address)
			openStream(t, c)
			clients = append(clients, c)
			(<-streams).OnGone(func() { gone <- i })
		}
		if poller() == nil {
			t.Fatal("no poller")
		}
		clients[7].Close()
		if i := <-gone; i != 7 || poller() == nil {
			t.Fatalf("round %d: stream %d has ended, want only stream 7", round, i)
		}
		for i, c := range clients {
			if i != 7 {
				c.Close()
			}
		}
		for range n - 1 {
			<-gone
		}
		for end := time.Now().Add(time.Minute); poller() != nil; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("the poller was not closed")
			}
		}
	}
}

// Over TLS, no goroutine waits for an idle stream. The stream ends if its client announces the end, or just leaves.
func TestTLSStreamsHaveNoGoroutine(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("SKIPPED: only Linux has a poller for streams")
	}
	handler, streams := keepStreams()
	_, _, connect := serveTLS(t, handler, Options{}, testLimits)
	const n = 50
	var clients []*rawClient
	gone := make(chan int, n)
	before := runtime.NumGoroutine()
	for i := range n {
		c := connect()
		openStream(t, c)
		clients = append(clients, c)
		(<-streams).OnGone(func() { gone <- i })
	}
	eventually(t, "the goroutines to end", func() bool { return runtime.NumGoroutine() < before+n/2 })
	if err := clients[0].Conn.(*tls.Conn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if i := <-gone; i != 0 {
		t.Errorf("stream %d has ended", i)
	}
	for _, c := range clients[1:] {
		_ = c.Conn.(*tls.Conn).NetConn().Close()
	}
	for range n - 1 {
		<-gone
	}
}
