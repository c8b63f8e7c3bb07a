//go:build linux

package faults

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// faultyWeb starts an HTTP server and returns its URL. On each path, it has the fault that the path names.
func faultyWeb(t *testing.T) string {
	s := httptest.NewServer(http.HandlerFunc(answerFaulty))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL
}

// exchange is one request to a faulty HTTP server.
type exchange struct {
	w  http.ResponseWriter
	r  *http.Request
	id string // of the request, raw
}

func answerFaulty(w http.ResponseWriter, r *http.Request) {
	fault := strings.TrimPrefix(r.URL.Path, "/")
	body, _ := io.ReadAll(r.Body)
	text := string(body)
	e := exchange{w, r, "null"}
	if _, after, found := strings.Cut(text, `"id":`); found {
		e.id = after[:strings.IndexAny(after, ",}")]
	}
	switch {
	case e.never(fault):
	case r.Method == http.MethodGet && r.Header.Get("Last-Event-ID") == "event-1":
		e.resume()
	case r.Method == http.MethodGet:
		e.get(fault)
	case strings.Contains(text, `"id":"q1"`): // the answer to the server's request
		w.WriteHeader(http.StatusAccepted)
		answered <- text
	case r.Method == http.MethodDelete:
	case strings.Contains(text, `"server/discover"`):
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, e.id)
	case strings.Contains(text, `"initialize"`):
		w.Header().Set("Mcp-Session-Id", "s1")
		e.result(`{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"x","version":"1"}}`)
	case strings.Contains(text, `"notifications/`):
		w.WriteHeader(http.StatusAccepted)
	case strings.Contains(text, `"tools/list"`):
		e.result(`{"tools":[` + oneTool + `]}`)
	case strings.Contains(text, `"tools/call"`) && strings.HasPrefix(fault, "call-"):
		e.call(fault)
	case strings.Contains(text, `"tools/call"`):
		e.result(`{"content":[{"type":"text","text":"done"}]}`)
	default:
		e.result(`{}`)
	}
}

func (e exchange) result(result string) {
	e.w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(e.w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, e.id, result)
}

func (e exchange) text(status int, kind, body string) {
	e.w.Header().Set("Content-Type", kind)
	e.w.WriteHeader(status)
	_, _ = io.WriteString(e.w, body)
}

// events answers with an event stream that starts with text.
func (e exchange) events(text string) {
	e.text(http.StatusOK, "text/event-stream", text)
	e.w.(http.Flusher).Flush()
}

func (e exchange) hang() { <-e.r.Context().Done() }

// cut closes the connection, with a TCP reset if reset is set.
func (e exchange) cut(reset bool) {
	conn, _, err := e.w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	if reset {
		_ = conn.(*net.TCPConn).SetLinger(0)
	}
	_ = conn.Close()
}

// never handles a request to a server whose fault keeps it from becoming ready. It returns false for other faults.
func (e exchange) never(fault string) bool {
	switch fault {
	case "500":
		e.text(500, "text/plain", "oops")
	case "503":
		e.w.Header().Set("Retry-After", "1")
		e.text(503, "application/json", `{"error":"busy"}`)
	case "401":
		e.w.Header().Set("WWW-Authenticate", "Bearer")
		e.text(401, "text/plain", "")
	case "html":
		e.text(200, "text/html", "<html>hello</html>")
	case "hang":
		e.hang()
	case "empty":
		e.w.WriteHeader(200)
	case "redirect":
		http.Redirect(e.w, e.r, "http://example.invalid/", http.StatusFound)
	default:
		return false
	}
	return true
}

func (e exchange) get(fault string) {
	switch fault {
	case "get-404":
		e.text(404, "text/plain", "Cannot GET /mcp")
	case "get-400":
		e.text(400, "text/plain", "no session")
	case "get-flood":
		e.events(strings.Repeat("data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n", 20_000))
		e.hang()
	default:
		e.w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

// answered holds the answer to the server request of call-ask-and-end; parked holds the id of its call.
var answered, parked = make(chan string, 1), make(chan string, 1)

// resume continues a stream that ended after its server request.
func (e exchange) resume() {
	e.events(": here\n\n")
	select {
	case <-answered:
		fmt.Fprintf(e.w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"done\"}]}}\n\n", <-parked)
	case <-e.r.Context().Done():
	}
}

func (e exchange) call(fault string) {
	answer := `{"jsonrpc":"2.0","id":` + e.id + `,"result":`
	switch fault {
	case "call-ask-and-end":
		parked <- e.id
		e.events("id: event-1\nretry: 1\ndata: {\"jsonrpc\":\"2.0\",\"id\":\"q1\",\"method\":\"elicitation/create\",\"params\":{\"message\":\"?\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{}}}}\n\n")
	case "call-503":
		e.w.Header().Set("Retry-After", "1")
		e.text(503, "application/json", `{"error":"busy"}`)
	case "call-broken":
		e.text(200, "application/json", `{"jsonrpc":"2.0","id":`)
	case "call-html":
		e.text(200, "text/html", "<html>hello</html>")
	case "call-500":
		e.text(500, "text/plain", "oops")
	case "call-404":
		e.w.WriteHeader(404)
	case "call-404rpc":
		e.text(404, "application/json", `{"jsonrpc":"2.0","id":`+e.id+`,"error":{"code":-32601,"message":"mine"}}`)
	case "call-wrongid":
		e.text(200, "application/json", `{"jsonrpc":"2.0","id":4711,"result":{"content":[]}}`)
	case "call-big":
		e.text(200, "application/json", answer+`"`+strings.Repeat("x", 2<<20)+`"}`)
	case "call-ssebig":
		e.events("data: " + answer + `"` + strings.Repeat("x", 2<<20) + "\"}\n\n")
	case "call-ssebroken":
		e.events("data: " + answer + "\"\xff\"}\n\n")
		e.hang()
	case "call-sseend":
		e.events(": hello\n\n")
	case "call-cut":
		e.w.Header().Set("Content-Length", "1000")
		e.text(200, "application/json", answer)
		e.cut(false)
	case "call-202":
		e.w.WriteHeader(202)
	case "call-close":
		e.cut(false)
	case "call-reset":
		e.cut(true)
	case "call-hang":
		e.hang()
	case "call-comments":
		e.events("")
		for {
			if _, err := io.WriteString(e.w, ": "+strings.Repeat("c", 1000)+"\n"); err != nil {
				return
			}
		}
	case "call-blanks":
		e.text(200, "application/json", "")
		for {
			if _, err := io.WriteString(e.w, strings.Repeat(" ", 1000)); err != nil {
				return
			}
		}
	}
}
