package bench

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"goblin-actor/protocol"
)

// Answers of the raw servers. A call costs them a scan of the request and one write.
const (
	smallBytes = 200     // size of the small request; its answer is about as large
	bigBytes   = 1 << 20 // size of the big result's text
)

// ServerOptions says what a raw server offers.
type ServerOptions struct {
	Tools     int           // tools listed besides echo and big; 0 = none
	ToolBytes int           // of each of these, at least
	Modern    bool          // it speaks 2026-07-28 only
	Delay     time.Duration // of every call; over stdio one after the other

	Listen  string // address; "" = a free port of loopback
	Control string // path of a unix socket that takes commands, see live; "" = nothing ever changes
	Events  bool   // it answers calls with a stream of one event
	SSE     bool   // it speaks HTTP+SSE of 2024-11-05
}

// rawServer answers MCP requests from ready bytes: tails follow the id, up to the closing brace.
type rawServer struct {
	initialize, discover, list, small, big, empty []byte // discover, initialize: nil = in the other era

	resources []byte      // tail of resources/list; nil = it has none
	live      *live       // nil = nothing ever changes
	events    bool        // answers are events
	sse       *sseStreams // nil = it does not speak HTTP+SSE
	delay     time.Duration
}

// comesAlive adds what a server has that can be told to change.
func (s *rawServer) comesAlive(o ServerOptions, tools []string) *rawServer {
	s.events, s.delay = o.Events, o.Delay
	if o.Control == "" && !o.SSE {
		return s
	}
	s.live = newLive(tools, o.Modern)
	if o.SSE {
		s.sse = &sseStreams{live: s.live, open: map[string]*ear{}}
	}
	resources := `{"resources":[{"uri":"` + liveURI + `","name":"item"}]`
	s.resources = tail(resources + `}`)
	capable := `"capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true}}`
	s.initialize = bytes.Replace(s.initialize, []byte(`"capabilities":{"tools":{}}`), []byte(capable), 1)
	if o.Modern {
		s.resources = modernTail(resources + `,"ttlMs":3600000,"cacheScope":"public"}`)
		s.initialize, s.discover = nil, bytes.Replace(s.discover, []byte(`"capabilities":{"tools":{}}`), []byte(capable), 1)
	}
	return s
}

func newRawServer(o ServerOptions) *rawServer {
	tools := []string{
		`{"name":"echo","description":"answers about 200 bytes","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true,"openWorldHint":false}}`,
		`{"name":"big","description":"answers 1 MiB","inputSchema":{"type":"object"}}`,
	}
	if o.Tools > 0 {
		tools = nil
	}
	for i := range o.Tools {
		tool := fmt.Sprintf(`{"name":"tool_%03d","title":"Tool number %d","description":"does what tools of its kind do, `+
			`with two arguments","inputSchema":{"type":"object","properties":{"path":{"type":"string","description":"where"},`+
			`"depth":{"type":"integer","description":"how deep","default":1}},"required":["path"]}`, i, i)
		if more := o.ToolBytes - len(tool); more > 0 {
			tool += `,"outputSchema":{"type":"object","description":"` + strings.Repeat("words of it ", more/12) + `"}`
		}
		tools = append(tools, tool+"}")
	}
	if o.Modern {
		return newModernServer(tools).comesAlive(o, tools)
	}
	s := &rawServer{
		initialize: tail(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"bench","version":"1"}}`),
		list:       tail(`{"tools":[` + strings.Join(tools, ",") + `]}`),
		small:      tail(textResult(smallBytes - 80)),
		big:        tail(textResult(bigBytes)),
		empty:      tail(`{}`),
	}
	return s.comesAlive(o, tools)
}

// tail returns what follows the id in the answer with that result.
func tail(result string) []byte { return []byte(`,"result":` + result + `}`) }

func textResult(n int) string {
	return `{"content":[{"type":"text","text":"` + strings.Repeat("x", n) + `"}]}`
}

// answer returns the raw id and the tail of the answer to a message of a session; nil, nil when it needs none.
func (s *rawServer) answer(raw, session []byte) (id, tail []byte, err error) {
	var f protocol.Frame
	if err := f.Parse(raw); err != nil {
		return nil, nil, err
	}
	if f.Kind != protocol.KindRequest {
		return nil, nil, nil
	}
	id = f.ID.Of(raw)
	if s.live != nil {
		s.live.wait()
		switch f.M {
		case protocol.MethodToolsList:
			s.live.lists.Add(1)
			s.live.listed.Store(time.Now().UnixNano())
			return id, *s.live.list.Load(), nil
		case protocol.MethodResourcesList:
			return id, s.resources, nil
		case protocol.MethodResourcesSubscribe, protocol.MethodResourcesUnsubscribe:
			s.live.subscribe(session, f.M == protocol.MethodResourcesSubscribe)
			return id, s.empty, nil
		}
	}
	switch {
	case f.M == protocol.MethodInitialize && s.initialize != nil:
		return id, s.initialize, nil
	case f.M == protocol.MethodServerDiscover && s.discover != nil:
		return id, s.discover, nil
	}
	switch f.M {
	case protocol.MethodToolsList:
		return id, s.list, nil
	case protocol.MethodToolsCall:
		var p protocol.Params
		if err := p.Scan(&f); err != nil {
			return nil, nil, err
		}
		time.Sleep(s.delay)
		if bytes.HasSuffix(p.Name.Of(raw), []byte(`big"`)) {
			return id, s.big, nil
		}
		return id, s.small, nil
	case protocol.MethodPing:
		return id, s.empty, nil
	}
	return id, []byte(`,"error":{"code":-32601,"message":"Method not found"}}`), nil
}

// ServeStdio answers what comes on in, one message a line, until it ends. Answers ready together are written together.
func ServeStdio(in io.Reader, out io.Writer, o ServerOptions) error {
	s := newRawServer(o)
	r, w := bufio.NewReaderSize(in, 64<<10), bufio.NewWriterSize(out, 64<<10)
	if s.live != nil {
		return s.serveLiveStdio(o, r, w)
	}
	for {
		line, err := r.ReadSlice('\n')
		if errors.Is(err, io.EOF) {
			return w.Flush()
		}
		if err != nil {
			return fmt.Errorf("read request: %w", err)
		}
		id, tail, err := s.answer(bytes.TrimSpace(line), nil)
		if err != nil {
			return err
		}
		if tail != nil {
			_, _ = w.WriteString(answerHead)
			_, _ = w.Write(id)
			_, _ = w.Write(tail)
			_ = w.WriteByte('\n')
		}
		if r.Buffered() == 0 {
			if err := w.Flush(); err != nil {
				return err
			}
		}
	}
}

// ServeHTTP answers streamable HTTP on a free loopback port, any path, and prints its URL on out. It ends when in does.
func ServeHTTP(in io.Reader, out io.Writer, o ServerOptions) error {
	s := newRawServer(o)
	if s.live != nil && o.Control != "" {
		if err := s.live.control(o.Control); err != nil {
			return err
		}
	}
	return acceptAt(o.Listen, in, out, s.serve)
}

// accept listens on a free loopback port, prints its URL on out and has every connection served by a goroutine of its own,
// until in ends.
func accept(in io.Reader, out io.Writer, serve func(net.Conn)) error {
	return acceptAt("", in, out, serve)
}

// acceptAt does so on an address; "" = a free port.
func acceptAt(address string, in io.Reader, out io.Writer, serve func(net.Conn)) error {
	l, err := net.Listen("tcp", cmp.Or(address, "127.0.0.1:0"))
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "http://%s/mcp\n", l.Addr())
	go func() {
		_, _ = io.Copy(io.Discard, in)
		_ = l.Close()
	}()
	for {
		conn, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		go serve(conn)
	}
}

// serve answers one HTTP/1.1 connection. It understands what well-behaved clients send and closes on anything else.
func (s *rawServer) serve(conn net.Conn) {
	defer conn.Close()
	r := bufio.NewReaderSize(conn, 16<<10)
	var body, out []byte
	var h head
	for {
		if err := h.read(r); err != nil {
			return
		}
		if string(h.method) == "GET" && s.live != nil {
			s.live.stream(conn, r, s.sse, string(h.session))
			return
		}
		if cap(body) < h.length {
			body = make([]byte, h.length)
		}
		body = body[:h.length]
		if _, err := io.ReadFull(r, body); err != nil {
			return
		}
		switch {
		case s.live != nil && s.discover != nil && isListen(body):
			s.live.wait()
			s.live.listen(conn, r, body)
			return
		case s.sse != nil:
			out = s.respondOn(out[:0], h.path, body)
		default:
			out = s.respond(out[:0], &h, body)
		}
		if _, err := conn.Write(out); err != nil {
			return
		}
	}
}

// respond appends the whole HTTP answer.
func (s *rawServer) respond(out []byte, h *head, body []byte) []byte {
	switch {
	case string(h.method) == "DELETE" && s.live != nil:
		s.live.forget(h.session)
		return append(out, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"...)
	case string(h.method) != "POST":
		return append(out, "HTTP/1.1 405 Method Not Allowed\r\nAllow: POST\r\nContent-Length: 0\r\n\r\n"...)
	}
	id, tail, err := s.answer(body, h.session)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench server:", err)
		return append(out, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"...)
	}
	if tail == nil {
		return append(out, "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"...)
	}
	begins := s.live != nil && isInitialize(body) // that is never an event: its header names the session
	if s.events && !begins {
		return appendEventAnswer(out, id, tail)
	}
	out = append(out, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"...)
	if begins {
		out = append(append(append(out, "Mcp-Session-Id: "...), rand.Text()...), "\r\n"...)
	}
	out = append(out, "Content-Length: "...)
	out = strconv.AppendInt(out, int64(len(answerHead)+len(id)+len(tail)), 10)
	out = append(out, "\r\n\r\n"+answerHead...)
	out = append(out, id...)
	return append(out, tail...)
}

// appendEventAnswer appends an answer that is a stream of one event.
func appendEventAnswer(out, id, tail []byte) []byte {
	const begin, end = "event: message\ndata: ", "\n\n"
	out = append(out, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: "...)
	out = strconv.AppendInt(out, int64(len(begin)+len(answerHead)+len(id)+len(tail)+len(end)), 10)
	out = append(out, "\r\n\r\n"+begin+answerHead...)
	out = append(append(out, id...), tail...)
	return append(out, end...)
}

// respondOn takes a message posted to path, whose answer goes to the stream that belongs to it, and appends the HTTP answer.
func (s *rawServer) respondOn(out, path, body []byte) []byte {
	id, tail, err := s.answer(body, path)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench server:", err)
		return append(out, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"...)
	}
	if tail != nil {
		s.sse.say(path, slices.Concat([]byte(answerHead), id, tail))
	}
	return append(out, "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"...)
}

// head is a request's line and what of its headers is understood. The bytes are kept until the next is read.
type head struct {
	method, path, session []byte
	length                int // of the body
}

func (h *head) read(r *bufio.Reader) error {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return err
	}
	method, line, _ := bytes.Cut(line, []byte(" "))
	path, _, _ := bytes.Cut(line, []byte(" "))
	h.method, h.path, h.session, h.length = append(h.method[:0], method...), append(h.path[:0], path...), h.session[:0], 0
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			return nil
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		switch {
		case bytes.EqualFold(name, []byte("content-length")):
			h.length, err = strconv.Atoi(string(bytes.TrimSpace(value)))
			if err != nil || h.length < 0 || h.length > 64<<20 {
				return fmt.Errorf("content-length: got %q", value)
			}
		case bytes.EqualFold(name, []byte("mcp-session-id")):
			h.session = append(h.session, bytes.TrimSpace(value)...)
		case bytes.EqualFold(name, []byte("transfer-encoding")):
			return errors.New("chunked requests are not understood here")
		}
	}
}
