package remote

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"goblin-actor/protocol/coding"
	"goblin-actor/protocol/stream"
	"goblin-actor/protocol/upstream"
	"goblin-actor/protocol/upstream/linktest"
)

func testEncode(encoding string, body []byte) []byte {
	var b bytes.Buffer
	var w io.WriteCloser
	switch encoding {
	case "gzip":
		w = gzip.NewWriter(&b)
	case "zlib":
		w = zlib.NewWriter(&b)
	case "raw":
		w, _ = flate.NewWriter(&b, flate.DefaultCompression)
	}
	_, _ = w.Write(body)
	_ = w.Close()
	return b.Bytes()
}

// testIdle waits until no exchange holds a connection. A response is reported before its connection is returned.
func testIdle(l upstream.Link) {
	link := l.(*httpLink)
	for running := 1; running > 0; runtime.Gosched() {
		link.mu.Lock()
		running = len(link.calls)
		link.mu.Unlock()
	}
}

// Encoded responses, requested or not, are decoded without errors, with or without a length, and the connection is reused.
func TestHTTPLinkDecodes(t *testing.T) {
	headers := map[string]string{"gzip": "gzip", "zlib": "deflate", "raw": "Deflate"}
	for form, header := range headers {
		for _, size := range []int{0, 10, 200_000} {
			for _, sized := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s %d sized=%v", form, size, sized), func(t *testing.T) {
					testBoth(t, func(t *testing.T, serve func(http.HandlerFunc) string) {
						result := `{"n":12345678901234567890,"s":"<&>` + strings.Repeat("é ", size/2) + `"}`
						var mu sync.Mutex
						peers := map[string]bool{}
						l, r := testOpen(t, Options{URL: serve(func(w http.ResponseWriter, q *http.Request) {
							mu.Lock()
							peers[q.RemoteAddr] = true
							mu.Unlock()
							body, _ := io.ReadAll(q.Body)
							encoded := testEncode(form, testResult(body, result))
							w.Header().Set("Content-Type", "application/json")
							w.Header().Set("Content-Encoding", header)
							if sized {
								w.Header().Set("Content-Length", strconv.Itoa(len(encoded)))
							}
							_, _ = w.Write(encoded[:len(encoded)/2])
							w.(http.Flusher).Flush()
							_, _ = w.Write(encoded[len(encoded)/2:])
						})})
						for i := uint64(1); i <= 3; i++ {
							l.Send(testRequest(i))
							want := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":%s}`, i, result)
							if got, ok := testEnd(r, i).(upstream.Received); !ok || string(got.Frame.Raw) != want {
								t.Fatalf("events:\n%s", linktest.Dump(r.Events()))
							}
							testIdle(l)
						}
						mu.Lock()
						defer mu.Unlock()
						if len(peers) != 1 {
							t.Errorf("%d connections for three consecutive requests", len(peers))
						}
					})
				})
			}
		}
	}
}

// A response that cannot be decoded ends the request with an error that says why. If an error response is not JSON, its
// status takes precedence.
func TestHTTPLinkCannotDecode(t *testing.T) {
	const result = `{"jsonrpc":"2.0","id":1,"result":{}}`
	large := []byte(`{"jsonrpc":"2.0","id":1,"result":{"x":"` + strings.Repeat("x", 8<<20) + `"}}`)
	whole := testEncode("gzip", []byte(result))
	const rpc = `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}`
	for name, test := range map[string]struct {
		status   int
		encoding string
		kind     string // Content-Type; "" = application/json
		body     []byte
		want     string // part of the error
		is       error
	}{
		"br":                 {200, "br", "", []byte(result), `Content-Encoding "br"; set the server, or the proxy in front of it, to respect Accept-Encoding`, coding.ErrUnsupported},
		"br event stream":    {200, "br", "text/event-stream", []byte("data: " + result + "\n\n"), `"br"`, coding.ErrUnsupported},
		"gzip twice":         {200, "gzip, gzip", "", testEncode("gzip", whole), "to use only one encoding", coding.ErrUnsupported},
		"not gzip":           {200, "gzip", "", []byte(result), "not valid gzip data", coding.ErrInvalid},
		"bytes after gzip":   {200, "gzip", "", append(bytes.Clone(whole), "\n\n"...), "more bytes after its gzip data", coding.ErrInvalid},
		"cut":                {200, "gzip", "", whole[:len(whole)-3], errCut.Error(), io.ErrUnexpectedEOF},
		"cut event stream":   {200, "gzip", "text/event-stream", testEncode("gzip", []byte("data: {}"))[:20], errCut.Error(), io.ErrUnexpectedEOF},
		"too large":          {200, "gzip", "", testEncode("gzip", large), "more than 1048576 bytes", stream.ErrFrameTooLarge},
		"too large an event": {200, "gzip", "text/event-stream", testEncode("gzip", append([]byte("data: "), large...)), "the limit for a message is 1048576", coding.ErrExpands},
		"too large an error": {500, "gzip", "", testEncode("gzip", large), "more than 1048576 bytes", stream.ErrFrameTooLarge},
		"page":               {502, "gzip", "text/html", testEncode("gzip", []byte("<html>try later")), `HTTP 502 (Bad Gateway): "<html>try later"`, nil},
		"page in br":         {503, "br", "text/html", []byte("\x8b\x05\x80"), "HTTP 503 (Service Unavailable)", nil},
		"session lost":       {404, "gzip", "text/plain", testEncode("gzip", []byte("who?")), "HTTP 404 (Not Found): \"who?\"", nil},
		"error without id":   {400, "gzip", "", testEncode("gzip", []byte(rpc)), "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			testBoth(t, func(t *testing.T, serve func(http.HandlerFunc) string) {
				budget := stream.NewBudget(64 << 20)
				l, r := testOpen(t, Options{MaxMessageBytes: 1 << 20, Budget: budget, URL: serve(func(w http.ResponseWriter, q *http.Request) {
					_, _ = io.Copy(io.Discard, q.Body)
					kind := test.kind
					if kind == "" {
						kind = "application/json"
					}
					w.Header().Set("Content-Type", kind)
					w.Header().Set("Content-Encoding", test.encoding)
					w.WriteHeader(test.status)
					_, _ = w.Write(test.body)
				})})
				l.Send(testRequest(1))
				switch e := testEnd(r, 1).(type) {
				case upstream.Ended:
					if e.Err == nil || !strings.Contains(e.Err.Error(), test.want) || test.is != nil && !errors.Is(e.Err, test.is) {
						t.Errorf("ended: %v", e.Err)
					}
				default:
					if test.want != "" {
						t.Errorf("event: %#v", e)
					}
				}
			})
		})
	}
}

// An encoded event is delivered once the server has flushed it, while the stream stays open.
func TestHTTPLinkDecodesStreams(t *testing.T) {
	testBoth(t, func(t *testing.T, serve func(http.HandlerFunc) string) {
		seen := make(chan struct{})
		events := func(w http.ResponseWriter, texts ...string) {
			w.Header().Set("Content-Type", "text/event-stream")
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			for _, text := range texts {
				_, _ = io.WriteString(z, text)
				_ = z.Flush()
				w.(http.Flusher).Flush()
				<-seen
			}
			_ = z.Close()
		}
		const notice = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}\n\n"
		l, r := testOpen(t, Options{URL: serve(func(w http.ResponseWriter, q *http.Request) {
			body, _ := io.ReadAll(q.Body)
			if q.Method == http.MethodGet {
				events(w, notice)
				return
			}
			events(w, notice, notice, "data: "+string(testResult(body, `{}`))+"\n\n")
		})})
		l.Send(testRequest(1))
		for n := range 3 {
			linktest.Wait[upstream.Received](r, n+1)
			seen <- struct{}{}
		}
		testEnd(r, 1)
		l.Listen()
		linktest.Wait[upstream.Received](r, 4)
		seen <- struct{}{}
	})
}

// The endpoint, messages and refusals of HTTP+SSE are decoded, too.
func TestSSELinkDecodes(t *testing.T) {
	testBoth(t, func(t *testing.T, serve func(http.HandlerFunc) string) {
		answers, r := make(chan []byte, 1), linktest.New(t)
		l := OpenSSE(Options{URL: serve(func(w http.ResponseWriter, q *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			if q.Method == http.MethodPost {
				body, _ := io.ReadAll(q.Body)
				if bytes.Contains(body, []byte(`"id":2,`)) {
					w.WriteHeader(http.StatusForbidden)
					_, _ = w.Write(testEncode("gzip", []byte("not for you")))
					return
				}
				w.WriteHeader(http.StatusAccepted)
				answers <- testResult(body, `{}`)
				return
			}
			w.Header().Set("Content-Type", "text/event-stream")
			z := gzip.NewWriter(w)
			send := func(text string) {
				_, _ = io.WriteString(z, text)
				_ = z.Flush()
				w.(http.Flusher).Flush()
			}
			send("event: endpoint\ndata: /messages\n\n")
			for {
				select {
				case answer := <-answers:
					send("data: " + string(answer) + "\n\n")
				case <-q.Context().Done():
					return
				}
			}
		})}, r.Sink)
		linktest.Wait[upstream.Opened](r, 1)
		l.Send(testRequest(1))
		linktest.Wait[upstream.Received](r, 1)
		l.Send(testRequest(2))
		if e, ok := testEnd(r, 2).(upstream.Ended); !ok || !strings.Contains(fmt.Sprint(e.Err), `HTTP 403 (Forbidden): "not for you"`) {
			t.Errorf("the refused POST: %v", e)
		}
		l.Close(0)
		linktest.Wait[upstream.Closed](r, 1)
	})
}

func TestAcceptEncoding(t *testing.T) {
	for _, test := range []struct{ url, configured, want string }{
		{"https://mcp.example.com/mcp", "", "gzip"},
		{"http://192.168.1.2:8080/mcp", "", "gzip"},
		{"http://[2001:db8::1]/mcp", "", "gzip"},
		{"http://localhost.example.com/mcp", "", "gzip"},
		{"https://mcp.example.com/mcp", "identity", ""},
		{"https://mcp.example.com/mcp", "gzip, deflate, br", "gzip"},
		{"http://localhost:3000/mcp", "", ""},
		{"http://LOCALHOST.:3000/mcp", "", ""},
		{"http://a.localhost/mcp", "", ""},
		{"http://127.9.9.9/mcp", "", ""},
		{"http://[::1]:3000/mcp", "", ""},
		{"http://[::ffff:127.0.0.1]:3000/mcp", "", ""},
		{"http://localhost:3000/mcp", "GZIP", "gzip"},
		{"http://localhost:3000/mcp", "br", ""},
	} {
		site, err := parseSite(Options{URL: test.url, Headers: map[string]string{"accept-encoding": test.configured}})
		if err != nil || site.accept != test.want {
			t.Errorf("%s with %q: %q, want %q; %v", test.url, test.configured, site.accept, test.want, err)
		}
	}
}

// POST accepts encodings, and so does the stream of HTTP+SSE, which carries responses. The GET stream of Streamable
// HTTP and DELETE do not.
func TestAcceptEncodingByVerb(t *testing.T) {
	testBoth(t, func(t *testing.T, serve func(http.HandlerFunc) string) {
		asked := make(chan string, 8)
		url := serve(func(w http.ResponseWriter, q *http.Request) {
			asked <- q.Method + " " + strings.Join(q.Header["Accept-Encoding"], "|")
			body, _ := io.ReadAll(q.Body)
			if q.Method != http.MethodPost {
				w.WriteHeader(http.StatusMethodNotAllowed)
				return
			}
			w.Header().Set("Mcp-Session-Id", "s")
			_, _ = w.Write(testResult(body, `{}`))
		})
		expect := func(want string) {
			t.Helper()
			if got := <-asked; got != want {
				t.Errorf("%q, want %q", got, want)
			}
		}
		o := Options{URL: url, Headers: map[string]string{"Accept-Encoding": "gzip"}}
		r := linktest.New(t)
		l := OpenHTTP(o, r.Sink)
		l.Send(upstream.Outgoing{Ticket: 1, Request: true, Method: "initialize", Frame: []byte(`{"jsonrpc":"2.0","id":1,"method":"initialize"}`)})
		testEnd(r, 1)
		expect("POST gzip")
		l.Listen()
		expect("GET ")
		l.Close(5 * time.Second)
		linktest.Wait[upstream.Closed](r, 1)
		expect("DELETE ")
		r = linktest.New(t)
		OpenSSE(o, r.Sink)
		expect("GET gzip")
		linktest.Wait[upstream.Closed](r, 1)
	})
}
