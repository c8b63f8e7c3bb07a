package downstream

import (
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// The owner of an upgraded connection has it for itself: the server neither reads from it nor closes it. Requests for other
// paths or without Upgrade are served as usual.
func TestUpgrade(t *testing.T) {
	owned := make(chan net.Conn, 1)
	_, address := serve(t, handlerFunc{post: echo}, Options{Upgrade: func(path, protocol string) func(net.Conn) {
		if path != "/other" || protocol != "parrot" {
			return nil
		}
		return func(c net.Conn) { owned <- c }
	}}, testLimits)
	c := dial(t, address)
	for _, refused := range []string{"GET /other HTTP/1.1\r\nHost: localhost\r\n\r\n", "GET /else HTTP/1.1\r\nHost: localhost\r\nUpgrade: parrot\r\n\r\n", "GET /other HTTP/1.1\r\nHost: localhost\r\nUpgrade: h2c\r\n\r\n"} {
		if r, _ := c.send(refused).body(); r.StatusCode != http.StatusNotFound {
			t.Errorf("%q: %s", refused, r.Status)
		}
	}
	if _, body := c.send(postText(ping)).body(); body != pong {
		t.Errorf("a request on the same connection: %s", body)
	}
	c.send("GET /other HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: parrot\r\n\r\n")
	if r := c.response(); r.StatusCode != http.StatusSwitchingProtocols || r.Header.Get("Upgrade") != "parrot" {
		t.Fatalf("%s, Upgrade: %q", r.Status, r.Header.Get("Upgrade"))
	}
	var mine net.Conn
	select {
	case mine = <-owned:
	case <-time.After(time.Minute):
		t.Fatal("the owner did not get the connection")
	}
	defer mine.Close()
	c.send("hello")
	got := make([]byte, 5)
	if _, err := io.ReadFull(mine, got); err != nil || string(got) != "hello" {
		t.Errorf("the owner has read %q, %v", got, err)
	}
	if _, err := io.WriteString(mine, "HELLO"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c.r, got); err != nil || string(got) != "HELLO" {
		t.Errorf("the client has read %q, %v", got, err)
	}
}
