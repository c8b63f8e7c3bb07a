package downstream

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// Invalid requests over real sockets get the right status. Each row of the table says whether the connection is then closed.
func TestServerRefuses(t *testing.T) {
	reached := &collect[string]{}
	handler := handlerFunc{
		post:   func(x *Exchange) { reached.Add(x.Frame.MethodText()); echo(x) },
		open:   func(s *EventStream) { reached.Add("open"); s.Refuse(405, nil, 0) },
		delete: func(x *Exchange) { reached.Add("delete"); x.Accept() },
	}
	s, address := serve(t, handler, Options{AllowedOrigins: []string{"http://ok.example"}}, testLimits)
	smuggled := "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 44\r\n\r\n" + `{"jsonrpc":"2.0","id":9,"method":"smuggled"}`
	host := "Host: localhost\r\n"
	media := "Content-Type: application/json\r\n"
	tests := []struct {
		name, text string
		status     int
		closes     bool
	}{
		{"length and chunks", "POST /mcp HTTP/1.1\r\n" + host + media + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + smuggled, 400, true},
		{"two lengths", "POST /mcp HTTP/1.1\r\n" + host + media + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello" + smuggled, 400, true},
		{"folded header", "POST /mcp HTTP/1.1\r\n" + host + media + "X-A: b\r\n Content-Length: 0\r\nContent-Length: 2\r\n\r\n{}" + smuggled, 400, true},
		{"space before the colon", "POST /mcp HTTP/1.1\r\n" + host + media + "Transfer-Encoding : chunked\r\nContent-Length: 2\r\n\r\n{}" + smuggled, 400, true},
		{"bare LF between headers", "POST /mcp HTTP/1.1\r\n" + host + media + "X: y\nContent-Length: 2\r\n\r\n{}" + smuggled, 400, true},
		{"bad chunk", "POST /mcp HTTP/1.1\r\n" + host + media + "Transfer-Encoding: chunked\r\n\r\nzz\r\n" + smuggled, 400, true},
		{"HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400, true},
		{"preface with host", "PRI * HTTP/1.1\r\n" + host + "\r\n", 400, true},
		{"asterisk", "OPTIONS * HTTP/1.1\r\n" + host + "\r\n", 400, true},
		{"absolute form", "GET http://localhost/mcp HTTP/1.1\r\n" + host + "Accept: text/event-stream\r\n\r\n", 400, true},
		{"authority form", "CONNECT localhost:80 HTTP/1.1\r\n" + host + "\r\n", 400, true},
		{"no host", "POST /mcp HTTP/1.0\r\n" + media + "Content-Length: 2\r\n\r\n{}", 400, true},
		{"garbage", "\x16\x03\x01\x02\x00\x01\r\n\r\n", 400, true},
		{"foreign host", "POST /mcp HTTP/1.1\r\nHost: evil.example\r\n" + media + "Content-Length: 2\r\n\r\n{}", 403, false},
		{"foreign origin", postText(ping, "Origin: http://evil.example"), 403, false},
		{"foreign origin, preflight", "OPTIONS /mcp HTTP/1.1\r\n" + host + "Origin: http://evil.example\r\nAccess-Control-Request-Method: POST\r\n\r\n", 403, false},
		{"foreign host elsewhere", "GET /healthz HTTP/1.1\r\nHost: evil.example\r\n\r\n", 403, false},
		{"no such path", "GET /nothing HTTP/1.1\r\n" + host + "\r\n", 404, false},
		{"path with a slash at the end", "POST /mcp/ HTTP/1.1\r\n" + host + media + "Content-Length: 2\r\n\r\n{}", 404, false},
		{"verb", "PUT /mcp HTTP/1.1\r\n" + host + "Content-Length: 2\r\n\r\n{}", 405, false},
		{"form", "POST /mcp HTTP/1.1\r\n" + host + "Content-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}", 415, false},
		{"multipart", "POST /mcp HTTP/1.1\r\n" + host + "Content-Type: multipart/form-data; boundary=x\r\nContent-Length: 2\r\n\r\n{}", 415, false},
		{"no media type", "POST /mcp HTTP/1.1\r\n" + host + "Content-Length: 2\r\n\r\n{}", 415, false},
		{"compressed", postText("x", "Content-Encoding: gzip"), 415, false},
		{"accepts neither", "POST /mcp HTTP/1.1\r\n" + host + media + "Accept: text/html\r\nContent-Length: 2\r\n\r\n{}", 406, false},
		{"GET without event stream", "GET /mcp HTTP/1.1\r\n" + host + "Accept: application/json\r\n\r\n", 406, false},
		{"GET of anything", "GET /mcp HTTP/1.1\r\n" + host + "Accept: */*\r\n\r\n", 406, false},
		{"malformed JSON", postText(`{"jsonrpc":`), 400, false},
		{"no JSON-RPC", postText(`{"a":1}`), 400, false},
		{"empty body", postText(``), 400, false},
		{"too many headers", "GET /mcp HTTP/1.1\r\n" + host + strings.Repeat("X: y\r\n", 200) + "\r\n", 431, false},
		{"long header", "GET /mcp HTTP/1.1\r\n" + host + "X: " + strings.Repeat("y", 20<<10) + "\r\n\r\n", 431, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := dial(t, address)
			c.send(test.text)
			r, body := c.body()
			if r.StatusCode != test.status {
				t.Fatalf("got %d %s, want %d", r.StatusCode, body, test.status)
			}
			if !strings.Contains(body, `"jsonrpc":"2.0","id":null,"error"`) {
				t.Errorf("body: %s", body)
			}
			if test.closes {
				c.closed()
			} else if r, body := c.send(postText(ping)).body(); r.StatusCode != 200 || body != pong {
				t.Errorf("next request on the connection: %d %s", r.StatusCode, body)
			}
		})
	}
	for _, method := range reached.All() {
		if method != "ping" {
			t.Errorf("method %q was accepted", method)
		}
	}
	stats := s.Stats()
	for _, word := range []string{"malformed", "host", "origin", "path", "verb", "media", "accept", "message", "header_size"} {
		if stats.Refused[word] == 0 {
			t.Errorf("refusals are not counted for %q: %v", word, stats.Refused)
		}
	}
	if stats.Requests == 0 || stats.BytesIn == 0 || stats.BytesOut == 0 {
		t.Errorf("counters: %+v", stats)
	}
}

// The rest of an unread body is not parsed as the next request.
func TestServerUnreadBodyIsNoRequest(t *testing.T) {
	reached := &collect[string]{}
	_, address := serve(t, handlerFunc{post: func(x *Exchange) { reached.Add(x.Frame.MethodText()); echo(x) }}, Options{}, testLimits)
	inner := postText(`{"jsonrpc":"2.0","id":9,"method":"smuggled"}`)
	big := strings.Repeat(" ", 9000) + inner
	for name, text := range map[string]string{
		"small": "PUT /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + itoa(len(inner)) + "\r\n\r\n" + inner,
		"large": "PUT /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + itoa(len(big)) + "\r\n\r\n" + big,
		"chunks": "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n" +
			"0\r\n\r\n" + inner,
		"GET": "GET /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + itoa(len(big)) + "\r\n\r\n" + big,
	} {
		c := dial(t, address)
		r, body := c.send(text).body()
		if r.StatusCode < 400 {
			t.Errorf("%s: %d %s", name, r.StatusCode, body)
		}
		if name == "small" {
			continue
		}
		c.closed()
	}
	if all := reached.All(); len(all) > 0 {
		t.Errorf("executed: %v", all)
	}
}

// Allowed origins get CORS headers that expose Mcp-Session-Id, and preflights are answered.
func TestServerCORS(t *testing.T) {
	handler := handlerFunc{post: func(x *Exchange) { x.SetSession("s"); echo(x) }}
	_, address := serve(t, handler, Options{AllowedOrigins: []string{"http://ok.example"}}, testLimits)
	c := dial(t, address)
	r, _ := c.send("OPTIONS /p/x/mcp HTTP/1.1\r\nHost: localhost\r\nOrigin: http://ok.example\r\nAccess-Control-Request-Method: POST\r\n" +
		"Access-Control-Request-Headers: content-type, mcp-param-x\r\nAccess-Control-Request-Private-Network: true\r\n\r\n").body()
	want := map[string]string{
		"Access-Control-Allow-Origin": "http://ok.example", "Access-Control-Allow-Methods": "GET, POST, DELETE, OPTIONS",
		"Access-Control-Allow-Headers": "content-type, mcp-param-x", "Access-Control-Allow-Private-Network": "true", "Vary": "Origin",
	}
	checkHeader(t, r, 204, want)
	r, body := c.send(postText(ping, "Origin: http://ok.example")).body()
	checkHeader(t, r, 200, map[string]string{"Access-Control-Allow-Origin": "http://ok.example", "Access-Control-Expose-Headers": "Mcp-Session-Id, WWW-Authenticate", "Mcp-Session-Id": "s"})
	if body != pong {
		t.Errorf("body: %s", body)
	}
	r, _ = c.send(postText(ping, "Origin: http://"+address)).body()
	checkHeader(t, r, 200, map[string]string{"Access-Control-Allow-Origin": ""})
	r, _ = c.send("OPTIONS /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n").body()
	checkHeader(t, r, 204, map[string]string{"Allow": "GET, POST, DELETE, OPTIONS", "Access-Control-Allow-Methods": ""})
	r = c.send("GET /mcp HTTP/1.1\r\nHost: localhost\r\nOrigin: http://ok.example\r\nAccept: text/event-stream\r\n\r\n").response()
	checkHeader(t, r, 200, map[string]string{"Access-Control-Allow-Origin": "http://ok.example", "Access-Control-Expose-Headers": "Mcp-Session-Id, WWW-Authenticate"})
}

func checkHeader(t *testing.T, r *http.Response, status int, want map[string]string) {
	t.Helper()
	if r.StatusCode != status {
		t.Errorf("status: got %d, want %d", r.StatusCode, status)
	}
	for name, value := range want {
		if got := r.Header.Get(name); got != value {
			t.Errorf("%s: got %q, want %q", name, got, value)
		}
	}
}

// protocol.md L8, L9: Origin holds copies of everything that the Handler needs.
func TestServerOrigin(t *testing.T) {
	seen := &collect[Origin]{}
	handler := handlerFunc{
		post: func(x *Exchange) { seen.Add(x.Origin); echo(x) },
		delete: func(x *Exchange) {
			if seen.Add(x.Origin); x.Origin.SessionID == "mine" {
				x.Accept()
			}
			x.Refuse(404, nil, 0)
		},
		open: func(s *EventStream) { seen.Add(s.Origin); s.Refuse(405, nil, 0) },
	}
	_, address := serve(t, handler, Options{}, testLimits)
	c := dial(t, address)
	headers := "Mcp-Session-Id: s1\r\nMCP-Protocol-Version: 2025-06-18\r\nGoblin-Project: p1\r\nX-Other: no\r\n"
	c.send("POST /p/alpha/mcp?x=/mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json; charset=utf-8\r\nAccept: application/json\r\n" + headers + "Content-Length: 57\r\n\r\n" + ping)
	if r, body := c.body(); r.StatusCode != 200 {
		t.Fatalf("%d %s", r.StatusCode, body)
	}
	c.send("DELETE /s/files/mcp HTTP/1.1\r\nHost: localhost\r\n" + headers + "\r\n")
	if r, _ := c.body(); r.StatusCode != 404 {
		t.Fatalf("%d", r.StatusCode)
	}
	c.send("GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nLast-Event-ID: e1\r\n" + headers + "\r\n")
	r, _ := c.body()
	checkHeader(t, r, 405, map[string]string{"Allow": "POST, DELETE, OPTIONS"})
	all := seen.All()
	c.send("DELETE /mcp HTTP/1.1\r\nHost: localhost\r\nMcp-Session-Id: mine\r\n\r\n")
	if r, body := c.body(); r.StatusCode != 204 || body != "" {
		t.Errorf("DELETE: %d %s", r.StatusCode, body)
	}
	if len(all) != 3 {
		t.Fatalf("reached the handler: %v", all)
	}
	for i, path := range []string{"/p/alpha/mcp", "/s/files/mcp", "/mcp"} {
		o := all[i]
		if o.Path != path || o.SessionID != "s1" || o.Version != "2025-06-18" || o.Project != "p1" || o.Remote != c.LocalAddr().String() ||
			o.JSONOnly != (i == 0) || o.LastEvent != [3]string{"", "", "e1"}[i] || len(o.Header) != 0 {
			t.Errorf("origin %d: %+v", i, o)
		}
	}
}

// An Exchange does not refer to fasthttp's memory, which later requests of the same and other connections overwrite.
func TestServerCopiesOutOfPooledMemory(t *testing.T) {
	kept := &collect[*Exchange]{}
	handler := handlerFunc{post: func(x *Exchange) { kept.Add(x); echo(x) }}
	_, address := serve(t, handler, Options{}, testLimits)
	c := dial(t, address)
	message := func(letter string) string {
		fill := strings.Repeat(letter, 40)
		return postText(`{"jsonrpc":"2.0","id":"`+fill+`","method":"ping","params":{"name":"`+fill+`"}}`,
			"Mcp-Session-Id: "+fill, "MCP-Protocol-Version: "+fill, "Goblin-Project: "+fill, "Mcp-Name: "+fill)
	}
	letters := "abcdefgh"
	for i := range letters {
		c.send(message(letters[i : i+1])).body()
		dial(t, address).send(message("z")).body()
	}
	count := 0
	for _, x := range kept.All() {
		fill := x.Origin.SessionID
		if fill == strings.Repeat("z", 40) {
			continue
		}
		if fill != strings.Repeat(letters[count:count+1], 40) {
			t.Fatalf("exchange %d has session %q", count, fill)
		}
		name, frame := string(x.Params.Name.Of(x.Frame.Raw)), string(x.Frame.Raw)
		if name != `"`+fill+`"` || strings.Count(frame, fill) != 2 || x.Origin.Version != fill || x.Origin.Project != fill || x.Origin.Header.Get("Mcp-Name") != fill {
			t.Errorf("exchange %d was overwritten: %+v %s", count, x.Origin, frame)
		}
		count++
	}
	if count != len(letters) {
		t.Errorf("%d exchanges", count)
	}
}

// Options.Other serves other paths.
func TestServerOther(t *testing.T) {
	health := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == "POST" {
			b := make([]byte, r.ContentLength)
			r.Body.Read(b)
			w.Header().Set("X-Got", string(b)+r.URL.Query().Get("q")+r.Header.Get("X-In"))
			w.WriteHeader(201)
			w.Header().Set("X-Late", "no")
		}
		w.Write([]byte("fine"))
	})
	other := func(path string) http.Handler {
		if path == "/healthz" {
			return health
		}
		return nil
	}
	_, address := serve(t, handlerFunc{}, Options{Other: other, MaxMessageBytes: 1000}, testLimits)
	c := dial(t, address)
	r, body := c.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").body()
	checkHeader(t, r, 200, map[string]string{"Content-Type": "text/plain; charset=utf-8"})
	if body != "fine" {
		t.Errorf("body: %q", body)
	}
	r, _ = c.send("POST /healthz?q=2 HTTP/1.1\r\nHost: localhost\r\nX-In: 3\r\nContent-Length: 1\r\n\r\n1").body()
	checkHeader(t, r, 201, map[string]string{"X-Got": "123", "X-Late": ""})
	c.send("HEAD /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
	if r, err := http.ReadResponse(c.r, &http.Request{Method: "HEAD"}); err != nil || r.StatusCode != 200 || r.ContentLength != 4 {
		t.Errorf("HEAD: %v %v", r, err)
	}
	r, _ = c.send("POST /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2000\r\n\r\n" + strings.Repeat("x", 2000)).body()
	checkHeader(t, r, 413, nil)
	c.Close()
	r, _ = dial(t, address).send("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").body()
	checkHeader(t, r, 404, nil)
}

// A panic of the Handler affects only its own request.
func TestServerSurvivesPanic(t *testing.T) {
	handler := handlerFunc{post: func(x *Exchange) {
		if x.Frame.MethodText() == "panic" {
			panic("boom")
		}
		echo(x)
	}}
	s, address := serve(t, handler, Options{}, testLimits)
	c := dial(t, address)
	r, _ := c.send(postText(`{"jsonrpc":"2.0","id":1,"method":"panic"}`)).body()
	checkHeader(t, r, 500, nil)
	c.closed()
	if r, body := dial(t, address).send(postText(ping)).body(); r.StatusCode != 200 {
		t.Errorf("%d %s", r.StatusCode, body)
	}
	if s.Stats().Refused["internal"] != 1 {
		t.Errorf("%+v", s.Stats())
	}
}

// A header that arrives too slowly is refused.
func TestServerSlowHeader(t *testing.T) {
	limits := testLimits
	limits.header = 200 * time.Millisecond
	_, address := serve(t, handlerFunc{post: echo}, Options{}, limits)
	c := dial(t, address)
	c.send("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Le")
	r, _ := c.body()
	checkHeader(t, r, 408, nil)
	c.closed()
}
