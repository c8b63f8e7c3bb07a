package downstream

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"goblin-actor/protocol"
	"goblin-actor/protocol/stream"
)

// Announcing a Content-Length allocates no memory.
func TestServerContentLengthAllocatesNothing(t *testing.T) {
	budget := stream.NewBudget(1 << 30)
	s, address := serve(t, handlerFunc{post: echo}, Options{Budget: budget}, testLimits)
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	const n, length = 20, 64 << 20
	var clients []*rawClient
	for i := range n {
		c := dial(t, address)
		c.send(postHead + "Content-Length: " + itoa(length) + "\r\n\r\n{")
		if i%2 == 1 { // more than fasthttp reads before it calls the handler
			c.send(strings.Repeat(" ", 20<<10))
		}
		clients = append(clients, c)
	}
	eventually(t, "the bodies to arrive", func() bool {
		return budget.Used() >= n/2*16<<10 && s.Stats().BytesIn > n/2*20<<10
	})
	if grown := int64(heap()) - int64(before); grown > 8<<20 {
		t.Errorf("%d connections that announced %d bytes each use %d KiB", n, length, grown>>10)
	}
	if used := budget.Used(); used > n/2*64<<10 {
		t.Errorf("budget: %d", used)
	}
	for _, c := range clients {
		c.Close()
	}
	eventually(t, "the budget to be free", func() bool { return budget.Used() == 0 })
}

// eventually polls until ok returns true. It fails the test after two minutes.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(2 * time.Minute)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("timed out waiting for %s", what)
		}
	}
}

// A client that has sent too much gets the response, not a reset.
func TestServerTooLarge(t *testing.T) {
	budget := stream.NewBudget(1 << 30)
	_, address := serve(t, handlerFunc{post: echo}, Options{MaxMessageBytes: 100 << 10, Budget: budget}, testLimits)
	large := strings.Repeat(" ", 20<<20)
	tests := map[string]string{
		"length":            postText(large),
		"one byte more":     postText(strings.Repeat(" ", 100<<10+1)),
		"chunks":            postHead + "Transfer-Encoding: chunked\r\n\r\n" + fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(large), large),
		"many small chunks": postHead + "Transfer-Encoding: chunked\r\n\r\n" + strings.Repeat("5\r\n     \r\n", 40<<10) + "0\r\n\r\n",
		"expect":            strings.Replace(postText("", "Expect: 100-continue"), "Content-Length: 0", "Content-Length: 200000", 1),
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			c := dial(t, address)
			r, body := c.send(text).body()
			if r.StatusCode != 413 || name != "expect" && !strings.Contains(body, "MESSAGE_TOO_LARGE") {
				t.Fatalf("%d %s", r.StatusCode, body)
			}
			c.closed()
		})
	}
	if used := budget.Used(); used != 0 {
		t.Errorf("the budget still counts %d bytes", used)
	}
}

// Bodies of sizes around each step of growth, with and without a Content-Length, arrive unchanged.
func TestServerBodies(t *testing.T) {
	budget := stream.NewBudget(1 << 30)
	_, address := serve(t, handlerFunc{post: echo}, Options{MaxMessageBytes: 300 << 10, Budget: budget}, testLimits)
	c := dial(t, address)
	for _, size := range []int{100, bodyPrefetch - 1, bodyPrefetch, bodyPrefetch + 1, bodyFirst, bodyFirst + 1, 64 << 10, 64<<10 + 1, 300<<10 - 1, 300 << 10} {
		head := `{"jsonrpc":"2.0","id":7,"method":"m","params":{"a":"`
		params := strings.Repeat("x", size-len(head)-len(`"}}`))
		message := head + params + `"}}`
		want := `{"jsonrpc":"2.0","id":7,"result":{"a":"` + params + `"}}`
		for kind, text := range map[string]string{
			"length":   postText(message),
			"chunks":   postHead + "Transfer-Encoding: chunked\r\n\r\n" + chunks(message, 7000) + "0\r\n\r\n",
			"trailer":  postHead + "Transfer-Encoding: chunked\r\n\r\n" + chunks(message, 70000) + "0\r\nX-T: y\r\n\r\n",
			"HTTP/1.0": strings.Replace(postText(message, "Connection: keep-alive"), "HTTP/1.1", "HTTP/1.0", 1),
		} {
			if r, body := c.send(text).body(); r.StatusCode != 200 || body != want {
				t.Fatalf("%s of %d bytes: %d %.200s", kind, size, r.StatusCode, body)
			}
		}
	}
	c.send(strings.Replace(postText("", "Expect: 100-continue"), "Content-Length: 0", "Content-Length: "+itoa(len(ping)), 1))
	if r := c.response(); r.StatusCode != http.StatusContinue {
		t.Fatalf("expect: %d", r.StatusCode)
	}
	if r, body := c.send(ping).body(); r.StatusCode != 200 || body != pong {
		t.Fatalf("after 100: %d %s", r.StatusCode, body)
	}
	eventually(t, "the budget to be free", func() bool { return budget.Used() == 0 })
}

func chunks(text string, size int) string {
	var b strings.Builder
	for len(text) > 0 {
		n := min(size, len(text))
		fmt.Fprintf(&b, "%x\r\n%s\r\n", n, text[:n])
		text = text[n:]
	}
	return b.String()
}

// If the budget is exhausted, new requests get 503 with Retry-After, and the bytes they took are returned to the budget.
func TestServerBudget(t *testing.T) {
	budget := stream.NewBudget(100 << 10)
	_, address := serve(t, handlerFunc{post: echo}, Options{Budget: budget}, testLimits)
	message := `{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":"` + strings.Repeat("x", 90<<10) + `"}}`
	c := dial(t, address)
	budget.Take(20 << 10)
	r, body := c.send(postText(message)).body()
	checkHeader(t, r, 503, map[string]string{"Retry-After": "1"})
	if !strings.Contains(body, "OVERLOADED") {
		t.Errorf("body: %s", body)
	}
	c.closed()
	budget.Give(20 << 10)
	if used := budget.Used(); used != 0 {
		t.Fatalf("the budget still counts %d bytes", used)
	}
	c = dial(t, address)
	if r, _ := c.send(postText(message)).body(); r.StatusCode != 200 {
		t.Errorf("%d", r.StatusCode)
	}
	eventually(t, "the budget to be free", func() bool { return budget.Used() == 0 })
}

// An error replaces an answer that does not fit in the budget. A small answer is still sent.
func TestServerBudgetOfAnswers(t *testing.T) {
	budget := stream.NewBudget(100 << 10)
	size := 50 << 10
	_, address := serve(t, handlerFunc{post: func(x *Exchange) {
		x.Answer(protocol.Message{Frame: resultOf(x, []byte(`"`+strings.Repeat("y", size)+`"`))})
	}}, Options{Budget: budget}, testLimits)
	budget.Take(60 << 10)
	for _, c := range []struct {
		size int
		want string
	}{{50 << 10, "OVERLOADED"}, {10 << 10, "yyy"}} {
		size = c.size
		r, body := dial(t, address).send(postText(`{"jsonrpc":"2.0","id":"a","method":"m"}`)).body()
		if r.StatusCode != 200 || !strings.Contains(body, `"id":"a"`) || !strings.Contains(body, c.want) {
			t.Errorf("an answer of %d bytes: %d %.200s", c.size, r.StatusCode, body)
		}
	}
	budget.Give(60 << 10)
	eventually(t, "the budget to be free", func() bool { return budget.Used() == 0 })
}

// A truncated body is not handled.
func TestServerTruncatedBody(t *testing.T) {
	reached := &collect[string]{}
	_, address := serve(t, handlerFunc{post: func(x *Exchange) { reached.Add("post"); x.Accept() }}, Options{}, testLimits)
	for _, text := range []string{
		postHead + "Content-Length: 100\r\n\r\n" + ping,
		postHead + "Content-Length: 10000\r\n\r\n" + ping + strings.Repeat(" ", 9000),
		postHead + "Transfer-Encoding: chunked\r\n\r\n" + chunks(ping, 100),
	} {
		c := dial(t, address)
		c.send(text)
		c.Conn.(interface{ CloseWrite() error }).CloseWrite()
		if r, _ := c.body(); r.StatusCode != 400 {
			t.Errorf("%d", r.StatusCode)
		}
	}
	if len(reached.All()) > 0 {
		t.Error("the truncated body reached the handler")
	}
}

// The time allowed for a body grows with the bytes received, not with the announced length.
func TestServerSlowBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limits := limits{header: 10 * time.Second, bodyRate: 1000, idle: time.Minute, decide: time.Minute}
		connect := servePipe(t, handlerFunc{post: echo}, Options{}, limits)
		message := `{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":"` + strings.Repeat("x", 40<<10) + `"}}`
		send := func(rate int) (*rawClient, time.Duration) {
			c, began := connect(), time.Now()
			go func() {
				io.WriteString(c.Conn, postHead+"Content-Length: "+itoa(len(message))+"\r\n\r\n"+message[:bodyPrefetch])
				for rest := []byte(message[bodyPrefetch:]); len(rest) > 0; {
					time.Sleep(time.Second)
					n, err := c.Write(rest[:min(rate, len(rest))])
					if err != nil {
						return
					}
					rest = rest[n:]
				}
			}()
			if _, err := c.r.Peek(1); err != nil {
				t.Fatal(err)
			}
			return c, time.Since(began)
		}
		c, took := send(1500) // above the minimum rate: 22 seconds, longer than a header may take
		if r, _ := c.body(); r.StatusCode != 200 || took < 20*time.Second {
			t.Errorf("steady body: %d after %v", r.StatusCode, took)
		}
		c, took = send(10) // far below the minimum rate
		if r, _ := c.body(); r.StatusCode != 408 || took > 19*time.Second {
			t.Errorf("trickling body: %d after %v", r.StatusCode, took)
		}
	})
}

// Large answers to many concurrent small requests arrive unchanged.
func TestServerLargeAnswers(t *testing.T) {
	answer := append(append([]byte(`{"jsonrpc":"2.0","id":1,"result":{"t":"`), bytes.Repeat([]byte("0123456789abcdef"), 1<<16)...), `"}}`...)
	_, address := serve(t, handlerFunc{post: func(x *Exchange) { go x.Answer(protocol.Message{Frame: answer}) }}, Options{}, testLimits)
	const clients, rounds = 8, 12
	done := make(chan error, clients)
	for range clients {
		c := dial(t, address)
		go func() {
			for range rounds {
				c.send(postText(ping))
				r, err := http.ReadResponse(c.r, nil)
				if err != nil {
					done <- err
					return
				}
				b, err := io.ReadAll(r.Body)
				if err != nil || !bytes.Equal(b, answer) {
					done <- fmt.Errorf("%d bytes of %d: %v", len(b), len(answer), err)
					return
				}
			}
			done <- nil
		}()
	}
	for range clients {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
