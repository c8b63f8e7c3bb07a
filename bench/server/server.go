package server

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"goblin-actor/bench/wire"
	"goblin-actor/protocol"
)

// Options configures a raw server.
type Options struct {
	Tools     int           // number of listed tools; 0 = echo and big
	ToolBytes int           // minimum size of each listed tool, in bytes
	Modern    bool          // the server supports 2026-07-28 only
	Delay     time.Duration // delay of every call; over stdio, calls run sequentially

	Listen  string // address; "" = a free loopback port
	Control string // path of a unix socket for commands (see live); "" = the server never changes
	Events  bool   // calls are answered with a stream of one event
	SSE     bool   // the server speaks HTTP+SSE of 2024-11-05
}

// rawServer answers MCP requests with prepared bytes. A tail is the part of a response after the id, including the
// closing brace.
type rawServer struct {
	initialize, discover, list, small, big, empty []byte // initialize is nil in a modern server, discover in a legacy one

	resources []byte      // tail of resources/list; nil = no resources
	live      *live       // nil = the server never changes
	events    bool        // calls are answered with an event
	sse       *sseStreams // nil = no HTTP+SSE
	delay     time.Duration
}

// addLive adds the list and the resource that commands can change, if o requires them.
func (s *rawServer) addLive(o Options, tools []string) *rawServer {
	s.events, s.delay = o.Events, o.Delay
	if o.Control == "" && !o.SSE {
		return s
	}
	s.live = newLive(tools, o.Modern)
	if o.SSE {
		s.sse = &sseStreams{live: s.live, open: map[string]*outStream{}}
	}
	resources := `{"resources":[{"uri":"` + ItemURI + `","name":"item"}]`
	s.resources = wire.ResultTail(resources + `}`)
	capable := `"capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true}}`
	s.initialize = bytes.Replace(s.initialize, []byte(`"capabilities":{"tools":{}}`), []byte(capable), 1)
	if o.Modern {
		s.resources = modernTail(resources + `,"ttlMs":3600000,"cacheScope":"public"}`)
		s.initialize, s.discover = nil, bytes.Replace(s.discover, []byte(`"capabilities":{"tools":{}}`), []byte(capable), 1)
	}
	return s
}

func newRawServer(o Options) *rawServer {
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
		return newModernServer(tools).addLive(o, tools)
	}
	s := &rawServer{
		initialize: wire.ResultTail(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"bench","version":"1"}}`),
		list:       wire.ResultTail(`{"tools":[` + strings.Join(tools, ",") + `]}`),
		small:      wire.SmallTail(),
		big:        wire.BigTail(),
		empty:      wire.ResultTail(`{}`),
	}
	return s.addLive(o, tools)
}

// answer returns the raw id and the tail of the response to a message of a session, or nil, nil if the message needs no
// response.
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
		switch f.Method {
		case protocol.MethodToolsList:
			s.live.lists.Add(1)
			s.live.listed.Store(time.Now().UnixNano())
			return id, *s.live.list.Load(), nil
		case protocol.MethodResourcesList:
			return id, s.resources, nil
		case protocol.MethodResourcesSubscribe, protocol.MethodResourcesUnsubscribe:
			s.live.subscribe(session, f.Method == protocol.MethodResourcesSubscribe)
			return id, s.empty, nil
		}
	}
	switch {
	case f.Method == protocol.MethodInitialize && s.initialize != nil:
		return id, s.initialize, nil
	case f.Method == protocol.MethodServerDiscover && s.discover != nil:
		return id, s.discover, nil
	}
	switch f.Method {
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

// ServeStdio answers messages on in, one per line, until in ends. It flushes out when no more input is buffered.
func ServeStdio(in io.Reader, out io.Writer, o Options) error {
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
			_, _ = w.WriteString(wire.ResponseHead)
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

// ServeHTTP serves streamable HTTP, or with o.SSE HTTP+SSE, at every path of o.Listen and prints its URL on out. It
// ends at the end of in.
func ServeHTTP(in io.Reader, out io.Writer, o Options) error {
	s := newRawServer(o)
	if s.live != nil && o.Control != "" {
		if err := s.live.control(o.Control); err != nil {
			return err
		}
	}
	return acceptAt(o.Listen, in, out, s.serve)
}
