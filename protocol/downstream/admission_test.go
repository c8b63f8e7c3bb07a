package downstream

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"goblin-actor/internal/identity"
	"goblin-actor/protocol"
)

// doorkeeper is an Admission that treats the credential as the principal's name: Authorization: Bearer NAME.
type doorkeeper struct {
	asks  atomic.Bool
	open  atomic.Bool  // admits requests without a credential
	full  atomic.Bool  // refuses requests with a credential
	calls atomic.Int64 // number of calls of Admit
	held  atomic.Int64 // leases not yet released
	most  atomic.Int64 // maximum number of messages after the first in a batch

	back chan struct{} // if not nil, each Release sends two values before the lease counts as released
}

func newDoorkeeper() *doorkeeper {
	d := &doorkeeper{}
	d.asks.Store(true)
	return d
}

type testLease struct {
	once sync.Once
	of   *doorkeeper
}

func (l *testLease) Release() {
	again := true
	l.once.Do(func() {
		if l.of.back != nil {
			l.of.back <- struct{}{}
			l.of.back <- struct{}{}
		}
		l.of.held.Add(-1)
		again = false
	})
	if again {
		panic("released twice")
	}
}

func (d *doorkeeper) ChecksAll() bool { return d.asks.Load() }

func (d *doorkeeper) Anonymous() *identity.Principal {
	if d.open.Load() || !d.ChecksAll() {
		return identity.Local
	}
	return nil
}

func (d *doorkeeper) AdmitBatch(_ *identity.Principal, more int) *Refusal {
	if int64(more) > d.most.Load() {
		return &Refusal{Status: 429, Fault: &protocol.Fault{Name: protocol.RateLimited}}
	}
	return nil
}

func (d *doorkeeper) Admit(r *Request) Admitted {
	d.calls.Add(1)
	name, ok := strings.CutPrefix(string(r.Authorization), "Bearer ")
	switch {
	case !d.ChecksAll() && r.Proxied:
		return Admitted{Refusal: &Refusal{Status: 403, Fault: &protocol.Fault{Name: protocol.InvalidRequest, Message: "a tunnel"}}}
	case !ok && !d.open.Load():
		return Admitted{Refusal: &Refusal{Status: 401, Challenge: `Bearer realm="x"`, Fault: &protocol.Fault{Name: protocol.Unauthenticated}}}
	case d.full.Load():
		return Admitted{Refusal: &Refusal{Status: 503, Fault: &protocol.Fault{Name: protocol.Overloaded, RetryAfter: 1200 * time.Millisecond}}}
	}
	d.held.Add(1)
	return Admitted{Principal: &identity.Principal{ID: name}, Lease: &testLease{of: d}}
}

// answerPrincipal answers with the name of the principal.
func answerPrincipal(x *Exchange) {
	x.Answer(protocol.Message{Frame: resultOf(x, fmt.Appendf(nil, "%q", identity.IDOf(x.Origin.Principal)))})
}

func result(who string) string { return `{"jsonrpc":"2.0","id":1,"result":"` + who + `"}` }

// All routes except the open paths need authentication: without it, no request for them reaches a handler.
func TestAdmissionOfEveryRoute(t *testing.T) {
	keeper, reached := newDoorkeeper(), atomic.Int64{}
	handler := handlerFunc{
		post:   func(x *Exchange) { reached.Add(1); answerPrincipal(x) },
		open:   func(s *EventStream) { reached.Add(1); s.Refuse(404, nil, 0) },
		delete: func(x *Exchange) { reached.Add(1); x.Accept() },
	}
	other := func(string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			reached.Add(1)
			fmt.Fprint(w, identity.From(r.Context()))
		})
	}
	_, address := serve(t, handler, Options{Admission: keeper, Other: other, AllowedOrigins: []string{"https://app.example"}}, testLimits)
	for _, c := range []struct {
		request string
		free    bool
	}{
		{"POST /mcp", false}, {"GET /mcp", false}, {"DELETE /mcp", false}, {"PUT /mcp", false}, {"HEAD /mcp", false},
		{"POST /p/a/mcp", false}, {"POST /s/a/mcp", false}, {"GET /sse", false}, {"POST /messages?sessionId=1", false},
		{"GET /metrics", false}, {"GET /", false}, {"GET /healthzz", false}, {"GET /login", false}, {"POST /x/healthz/mcp", false},
		{"GET /healthz", true}, {"GET /readyz", true}, {"GET /login/x", true}, {"POST /login/x/mcp", true}, {"GET /.well-known/x/mcp", true},
		{"OPTIONS /mcp", true},
	} {
		reached.Store(0)
		text := c.request + " HTTP/1.1\r\nHost: localhost\r\nAccept: application/json, text/event-stream\r\nContent-Type: application/json\r\nOrigin: https://app.example\r\n"
		if strings.HasPrefix(c.request, "P") {
			text += fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(ping), ping)
		} else {
			text += "\r\n"
		}
		conn := dial(t, address)
		conn.send(text)
		r, err := http.ReadResponse(conn.r, &http.Request{Method: strings.Fields(c.request)[0]})
		if err != nil {
			t.Fatal(err)
		}
		if c.free != (r.StatusCode < 400) || !c.free && (r.StatusCode != 401 || r.Header.Get("WWW-Authenticate") != `Bearer realm="x"` || reached.Load() != 0) {
			t.Errorf("%s: %d, reached %d", c.request, r.StatusCode, reached.Load())
		}
		if r.Header.Get("Access-Control-Allow-Origin") != "https://app.example" || !strings.Contains(r.Header.Get("Access-Control-Expose-Headers"), "WWW-Authenticate") {
			t.Errorf("%s: CORS headers %v", c.request, r.Header)
		}
	}
	for path, want := range map[string]string{"/readyz": "<nil>", "/metrics": "a"} {
		conn := dial(t, address)
		head := "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n"
		if path == "/metrics" {
			head += "Authorization: Bearer a\r\n"
		}
		if _, body := conn.send(head + "\r\n").body(); !strings.Contains(body, want) {
			t.Errorf("%s: principal %s, want %s", path, body, want)
		}
	}
	keeper.open.Store(true) // a policy without keys: requests are local, except those from a proxy
	for header, want := range map[string]string{"": "local", "X-Forwarded-For: 192.0.2.1\r\n": "<nil>"} {
		if _, body := dial(t, address).send("GET /readyz HTTP/1.1\r\nHost: localhost\r\n" + header + "\r\n").body(); !strings.Contains(body, want) {
			t.Errorf("/readyz with %q: principal %s, want %s", header, body, want)
		}
	}
	if n := keeper.held.Load(); n != 0 {
		t.Errorf("%d leases were not released", n)
	}
}

// If a key is revoked during a request, the response has the challenge that makes clients log in again.
func TestRevokedDuringRequest(t *testing.T) {
	handler := handlerFunc{
		post: func(x *Exchange) { x.Refuse(401, []byte("{}"), 0) },
		open: func(s *EventStream) { s.Refuse(401, []byte("{}"), 0) },
	}
	_, address := serve(t, handler, Options{Admission: newDoorkeeper()}, testLimits)
	head := "Host: localhost\r\nAuthorization: Bearer a\r\nAccept: application/json, text/event-stream\r\nContent-Type: application/json\r\n"
	for _, request := range []string{"GET /mcp HTTP/1.1\r\n" + head + "\r\n", fmt.Sprintf("POST /mcp HTTP/1.1\r\n%sContent-Length: %d\r\n\r\n%s", head, len(ping), ping)} {
		r, _ := dial(t, address).send(request).body()
		checkHeader(t, r, 401, map[string]string{"WWW-Authenticate": `Bearer realm="goblin-actor", error="invalid_token"`})
	}
}

// The body of an unauthenticated request is not read unless a proxy sends it: the response comes before the body, and
// the connection ends. Without a body, the connection can be reused.
func TestRefusedBeforeTheBody(t *testing.T) {
	_, address := serve(t, handlerFunc{post: answerPrincipal}, Options{Admission: newDoorkeeper()}, testLimits)
	c := dial(t, address)
	c.send(postHead + "Content-Length: 90000000000\r\n\r\n" + strings.Repeat("x", 9000))
	r, body := c.body()
	if r.StatusCode != 401 || !strings.Contains(body, "-31011") || !strings.Contains(body, `"id":null`) {
		t.Errorf("%d %s", r.StatusCode, body)
	}
	c.closed()
	c = dial(t, address) // not even a small one
	if r, body := c.send(postHead + "Content-Length: 56\r\n\r\n").body(); r.StatusCode != 401 || !r.Close || !strings.Contains(body, "-31011") {
		t.Errorf("small body that was not sent: %d %s", r.StatusCode, body)
	}
	c.closed()
	c = dial(t, address)
	if r, _ := c.send("POST /mcp HTTP/1.1\r\nHost: evil.example\r\nContent-Type: application/json\r\nAccept: application/json\r\nContent-Length: 56\r\n\r\n").body(); r.StatusCode != 403 {
		t.Errorf("foreign host: %d", r.StatusCode)
	}
	c = dial(t, address) // an interim response must not request the body
	if r, body := c.send(postHead + "Content-Length: 5000\r\nExpect: 100-continue\r\n\r\n").body(); r.StatusCode != 401 || r.Header.Get("WWW-Authenticate") == "" || !strings.Contains(body, "-31011") {
		t.Errorf("before the body: %d %s", r.StatusCode, body)
	}
	c = dial(t, address)
	if r := c.send(postHead + "Authorization: Bearer a\r\nContent-Length: 56\r\nExpect: 100-continue\r\n\r\n").response(); r.StatusCode != 100 {
		t.Errorf("with a credential: %d", r.StatusCode)
	}
	c = dial(t, address) // without a body the connection can be reused, and so can a proxy's if the body was sent
	for _, request := range []string{postHead + "Content-Length: 0\r\n\r\n", postText(ping, "X-Forwarded-For: 192.0.2.1")} {
		if r, _ := c.send(request).body(); r.StatusCode != 401 || r.Close {
			t.Errorf("%d", r.StatusCode)
		}
	}
	if _, body := c.send(postText(ping, "Authorization: Bearer a")).body(); body != result("a") {
		t.Error(body)
	}
	if r, body := c.send(postText(ping, "Mcp-Protocol-Version: 2026-07-28")).body(); r.StatusCode != 401 || strings.Contains(body, `"id"`) {
		t.Errorf("modern: %d %s", r.StatusCode, body)
	}
}

// S5.1.7: two users behind a proxy share a connection. Each request is handled for its own principal.
func TestAttack24TwoUsersOnOneConnection(t *testing.T) {
	_, address := serve(t, handlerFunc{post: answerPrincipal}, Options{Admission: newDoorkeeper()}, testLimits)
	c := dial(t, address)
	for i := range 3 {
		for _, name := range []string{"alice", "bob"} {
			if _, body := c.send(postText(ping, "Authorization: Bearer "+name)).body(); body != result(name) {
				t.Fatalf("turn %d: %s got %s", i, name, body)
			}
		}
		if r, body := c.send(postText(ping, "Via: 1.1 x")).body(); r.StatusCode != 401 {
			t.Fatalf("turn %d: without a credential: %d %s", i, r.StatusCode, body)
		}
	}
	c.send(postText(ping, "Authorization: Bearer alice") + postText(ping, "Authorization: Bearer bob") + postText(ping)) // pipelined
	for i, want := range []string{result("alice"), result("bob"), "401"} {
		if r, body := c.body(); body != want && fmt.Sprint(r.StatusCode) != want {
			t.Errorf("pipelined %d: %s", i, body)
		}
	}
}

// Without auth, only requests from a proxy are checked.
func TestAdmissionWithoutAuth(t *testing.T) {
	keeper := newDoorkeeper()
	keeper.asks.Store(false)
	_, address := serve(t, handlerFunc{post: answerPrincipal}, Options{Admission: keeper}, testLimits)
	c := dial(t, address)
	if _, body := c.send(postText(ping)).body(); body != result("local") || keeper.calls.Load() != 0 {
		t.Errorf("%s after %d calls of Admit", body, keeper.calls.Load())
	}
	for _, line := range []string{"Via: 1.1 x", "FORWARDED: for=1.2.3.4", "X-Forwarded-For: 1.2.3.4", "x-forwarded-anything: x", "X-Real-Ip: x"} {
		if r, _ := c.send(postText(ping, line)).body(); r.StatusCode != 403 {
			t.Errorf("%s: %d", line, r.StatusCode)
		}
	}
	if r, _ := dial(t, address).send(postText(ping, "Authorization: a", "Authorization: b")).body(); r.StatusCode != 400 {
		t.Errorf("two credentials: %d", r.StatusCode)
	}
}

// A lease is released before the answer is written, even on a stream: a client that has the answer may send its next request.
func TestLeaseReleasedBeforeAnswer(t *testing.T) {
	keeper := newDoorkeeper()
	keeper.back = make(chan struct{})
	_, address := serve(t, handlerFunc{post: func(x *Exchange) {
		if x.Frame.MethodText() == "stream" {
			x.Notify(protocol.Message{Frame: note("x")}, WeightAnswer, "")
		}
		x.Answer(protocol.Message{Frame: []byte(pong)})
	}}, Options{Admission: keeper}, testLimits)
	for _, method := range []string{"ping", "stream"} {
		c := dial(t, address).send(postText(`{"jsonrpc":"2.0","id":1,"method":"`+method+`"}`, "Authorization: Bearer a"))
		got := make(chan string, 1)
		go func() { _, body := c.body(); got <- body }()
		<-keeper.back
		body := ""
		select {
		case body = <-got:
			t.Errorf("%s: answered before the lease was released", method)
		case <-time.After(50 * time.Millisecond):
		}
		if <-keeper.back; body == "" {
			body = <-got
		}
		if !strings.Contains(body, "result") || keeper.held.Load() != 0 {
			t.Errorf("%s: got %s, %d leases are held", method, body, keeper.held.Load())
		}
	}
}

// A lease is released when its request ends, however it ends, or when the stream that it opened ends.
func TestLeasesReleased(t *testing.T) {
	keeper := newDoorkeeper()
	var streams collect[*EventStream]
	var exchanges collect[*Exchange]
	handler := handlerFunc{
		post: func(x *Exchange) {
			switch x.Frame.MethodText() {
			case "wait":
				exchanges.Add(x)
			case "panic":
				panic("requested by the test")
			case "away":
				x.Redirect(streams.All()[0])
				exchanges.Add(x)
			default:
				answerPrincipal(x)
			}
		},
		open: func(s *EventStream) { streams.Add(s); s.Accept() },
	}
	_, address := serve(t, handler, Options{Admission: keeper, Other: func(string) http.Handler { return http.NotFoundHandler() }}, testLimits)
	wants := func(what string, want int64) {
		t.Helper()
		for end := time.Now().Add(5 * time.Second); keeper.held.Load() != want; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s: %d leases are held, want %d", what, keeper.held.Load(), want)
			}
		}
	}
	const me = "Authorization: Bearer a"
	c := dial(t, address)
	for what, text := range map[string]string{
		"answered": postText(ping, me), "no JSON-RPC": postText("{}", me), "a path that is not there": strings.Replace(postText(ping, me), "/mcp", "/none", 1),
		"media type": strings.Replace(postText(ping, me), "application/json\r\nAccept", "text/plain\r\nAccept", 1),
		"deleted":    "DELETE /mcp HTTP/1.1\r\nHost: localhost\r\n" + me + "\r\n\r\n",
	} {
		c.send(text).body()
		wants(what, 0)
	}
	dial(t, address).send(postText(`{"jsonrpc":"2.0","id":1,"method":"panic"}`, me)).body()
	wants("panicked", 0)

	stream := dial(t, address).send("GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n" + me + "\r\n\r\n")
	stream.response()
	wants("stream", 1)
	gone := dial(t, address).send(postText(`{"jsonrpc":"2.0","id":1,"method":"wait"}`, me))
	wants("waiting", 2)
	exchanges.All()[0].OnGone(func() {})
	gone.Close()
	wants("left", 1)
	if r, _ := c.send(postText(`{"jsonrpc":"2.0","id":1,"method":"away"}`, me)).body(); r.StatusCode != 202 {
		t.Errorf("%d", r.StatusCode)
	}
	wants("answered elsewhere", 2)
	exchanges.All()[1].Answer(protocol.Message{Frame: []byte(pong)})
	wants("answered there", 1)
	stream.Close()
	wants("stream left", 0)

	keeper.open.Store(true) // a request without a credential is admitted twice: before the body and after it
	expecting := dial(t, address).send(postHead + "Content-Length: " + itoa(len(ping)) + "\r\nExpect: 100-continue\r\n\r\n")
	if r := expecting.response(); r.StatusCode != 100 {
		t.Errorf("before the body: %d", r.StatusCode)
	}
	if r, _ := expecting.send(ping).body(); r.StatusCode != 200 {
		t.Errorf("after the body: %d", r.StatusCode)
	}
	wants("admitted twice", 0)

	keeper.full.Store(true)
	r, body := c.send(postText(ping, me)).body()
	if r.StatusCode != 503 || r.Header.Get("Retry-After") != "2" || !strings.Contains(body, "OVERLOADED") {
		t.Errorf("%d %v %s", r.StatusCode, r.Header, body)
	}
}

// The oldest silent connections are closed to make room for new ones.
func TestUnadmittedConnectionsMakeRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		few := testLimits
		few.unadmitted = 3
		connect, s := servePipes(t, handlerFunc{post: answerPrincipal}, Options{Admission: newDoorkeeper()}, few)
		known := connect()
		known.send(postText(ping, "Authorization: Bearer a")).body()
		var silent []*rawClient
		for range 10 {
			silent = append(silent, connect())
			synctest.Wait()
		}
		if open, _ := s.Connections(); open != 4 {
			t.Errorf("%d connections are open, want 3 silent ones and an authenticated one", open)
		}
		for _, c := range silent[:7] {
			c.closed()
		}
		if _, body := silent[9].send(postText(ping, "Authorization: Bearer b")).body(); body != result("b") {
			t.Error(body)
		}
		if _, body := known.send(postText(ping, "Authorization: Bearer a")).body(); body != result("a") {
			t.Error(body)
		}
	})
}

func TestAttack93ReboundHost(t *testing.T) {
	_, address := serve(t, handlerFunc{post: echo}, Options{}, testLimits)
	for host, want := range map[string]int{"localhost": 200, address: 200, "evil.example": 403, "localhost.evil.example": 403, "127.0.0.1.evil.example:80": 403, "192.0.2.1": 403} {
		if r, _ := dial(t, address).send(strings.Replace(postText(ping), "Host: localhost", "Host: "+host, 1)).body(); r.StatusCode != want {
			t.Errorf("Host %s: %d, want %d", host, r.StatusCode, want)
		}
	}
}

func TestAttack94OriginNullOrSuffix(t *testing.T) {
	_, address := serve(t, handlerFunc{post: echo}, Options{AllowedOrigins: []string{"https://app.example"}}, testLimits)
	_, port, _ := strings.Cut(address, ":")
	for origin, want := range map[string]int{
		"https://app.example": 200, "http://localhost:" + port: 200,
		"null": 403, "": 403, "https://app.example.evil": 403, "https://evilapp.example": 403, "https://app.example:444": 403,
		"http://localhost:" + port + ".evil.example": 403, "http://evil-localhost": 403, "http://evil.localhost": 403, "file://localhost": 403,
	} {
		if r, _ := dial(t, address).send(postText(ping, "Origin: "+origin)).body(); r.StatusCode != want {
			t.Errorf("Origin %q: %d, want %d", origin, r.StatusCode, want)
		}
	}
}

// Attack 56: each message of a batch counts as a request. The lease of a refused batch is released.
func TestAttack56RateOfABatch(t *testing.T) {
	keeper, reached := newDoorkeeper(), atomic.Int64{}
	handler := handlerFunc{post: func(x *Exchange) { reached.Add(1); x.Accept() }}
	_, address := serve(t, handler, Options{Admission: keeper}, testLimits)
	keeper.most.Store(2)
	client := dial(t, address)
	for _, c := range []struct {
		members, status int
	}{{1, 202}, {3, 202}, {4, 429}, {1000, 429}, {2, 202}} {
		client.send(postText("["+strings.Repeat(ping+",", c.members-1)+ping+"]", "Authorization: Bearer a"))
		if r, body := client.body(); r.StatusCode != c.status || c.status == 429 && !strings.Contains(body, "RATE_LIMITED") {
			t.Fatalf("%d messages: %d %.200s, want %d", c.members, r.StatusCode, body, c.status)
		}
		if c.members == 1000 {
			client = dial(t, address) // the connection is closed if the body did not arrive with the header
		}
	}
	if got := reached.Load(); got != 3 {
		t.Errorf("%d requests were handled", got)
	}
	for range 100 {
		if keeper.held.Load() == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d leases are held", keeper.held.Load())
}
