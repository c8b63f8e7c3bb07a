//go:build unix

package downstream

import (
	"crypto/tls"
	"net"
	"slices"
	"syscall"
	"testing"
	"time"
)

// Ten thousand clients connect, send at most the first message of a TLS handshake, and then nothing more. Existing
// clients are hardly affected, new clients are served, and at most maxUnadmitted of the silent connections are kept.
func TestAttack97HalfOpenTLS(t *testing.T) {
	attackers := 10_000
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if most := int(limit.Cur) - maxUnadmitted - 500; attackers > most { // both ends are in this process
		t.Logf("%d attackers instead of %d: the limit is %d open files", most, attackers, limit.Cur)
		attackers = most
	}
	if attackers <= 2*maxUnadmitted {
		t.Skipf("SKIPPED: %d open files are too few for this attack; raise ulimit -n", limit.Cur)
	}
	long := testLimits
	long.header = time.Minute
	s, address, connect := serveTLS(t, handlerFunc{post: echo}, Options{Admission: newDoorkeeper()}, long)
	good := connect()
	call := func(c *rawClient) time.Duration {
		began := time.Now()
		if _, body := c.send(postText(ping, "Authorization: Bearer a")).body(); body != pong {
			t.Fatal(body)
		}
		return time.Since(began)
	}
	call(good)
	quiet := percentile99(500, func() time.Duration { return call(good) })

	hello, first := clientHello(t), make([]net.Conn, 0, attackers)
	defer func() {
		for _, c := range first {
			c.Close()
		}
	}()
	for i := range attackers {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatalf("attacker %d: %v", i, err)
		}
		first = append(first, c)
		switch i % 3 {
		case 0: // sends nothing
		case 1:
			c.Write(hello[:len(hello)/2])
		case 2: // the server continues the handshake, and waits
			c.Write(hello)
		}
	}
	attacked := time.Hour
	for try := 0; try < 5 && attacked > quiet*3/2; try++ { // retry: other load on the machine must not fail this test
		attacked = min(attacked, percentile99(500, func() time.Duration { return call(good) }))
	}
	fresh := call(connect())
	t.Logf("p99 of a good client: %v, with %d attackers %v (× %.2f); a new client's first call %v",
		quiet, attackers, attacked, float64(attacked)/float64(quiet), fresh)
	eventually(t, "at most 2048 silent connections to remain", func() bool { // each connection's goroutine needs a moment
		open, _ := s.Connections()
		return open <= maxUnadmitted+10
	})
	if attacked > quiet*3/2+5*time.Millisecond && !raceEnabled {
		t.Errorf("p99 was %v and is %v", quiet, attacked)
	}
}

func percentile99(n int, measure func() time.Duration) time.Duration {
	times := make([]time.Duration, n)
	for i := range times {
		times[i] = measure()
	}
	slices.Sort(times)
	return times[n*99/100]
}

// clientHello returns the first message of a TLS client.
func clientHello(t *testing.T) []byte {
	ours, theirs := net.Pipe()
	defer ours.Close()
	go tls.Client(theirs, &tls.Config{ServerName: "localhost"}).Handshake()
	buffer := make([]byte, 4096)
	n, err := ours.Read(buffer)
	if err != nil {
		t.Fatal(err)
	}
	return buffer[:n]
}
