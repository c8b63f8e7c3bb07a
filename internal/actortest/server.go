package actortest

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
	"goblin-actor/protocol/upstream"
	"goblin-actor/protocol/upstream/pipe"
)

// Server is a scriptable MCP server with sessions. A backend calls Open for each connection. Set the fields before the
// first Open; use the methods later.
type Server struct {
	Tools            []string                                        // names, or definitions as raw JSON objects
	Meta             string                                          // _meta of every tool, raw JSON; "" = none
	Resources        []string                                        // URIs
	Prompts          []string                                        // names; nil = does not declare prompts
	Templates        []string                                        // URI templates
	PageSize         int                                             // tools per page; 0 = all on one page
	BeforePage       func(page int)                                  // called before each page of tools/list is sent; page counts from 1
	Instructions     string                                          // in the result of initialize
	Version          string                                          // in the result of initialize; "" = the latest legacy version
	Refuse           error                                           // if set, every connection closes with this error; see SetRefuse
	Logging          bool                                            // whether it declares logging
	Tasks            bool                                            // whether it declares tasks for tools/call, which Handle must then implement
	IgnoreInitialize bool                                            // whether it never answers initialize
	Handle           func(p *pipe.Peer, f protocol.Frame, id []byte) // handles tools/call, prompts/get, resources/read …; nil = echo

	HandleOther func(p *pipe.Peer, o upstream.Outgoing) // receives messages other than requests; over HTTP it must end their exchange

	mu       sync.Mutex
	pages    int // pages of tools/list sent
	peers    []*pipe.Peer
	received []protocol.Frame
}

// Open opens a connection and serves it until it closes.
func (s *Server) Open(sink upstream.Sink) upstream.Link {
	link, peer := pipe.New(sink)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.peers = append(s.peers, peer)
	if s.Refuse != nil {
		peer.Close(s.Refuse)
		return link
	}
	go s.serve(peer)
	return link
}

// SetRefuse sets Refuse. Unlike the field, it may be used while connections are opened.
func (s *Server) SetRefuse(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Refuse = err
}

// Last returns the server's end of the newest connection.
func (s *Server) Last() *pipe.Peer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.peers[len(s.peers)-1]
}

// Opened returns the number of connections opened so far.
func (s *Server) Opened() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.peers)
}

// Received returns the messages received so far with that method, on all connections.
func (s *Server) Received(method string) []protocol.Frame {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []protocol.Frame
	for _, f := range s.received {
		if f.MethodText() == method {
			list = append(list, f)
		}
	}
	return list
}

// Answers returns the responses to the server's own requests received so far.
func (s *Server) Answers() []protocol.Frame {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []protocol.Frame
	for _, f := range s.received {
		if f.Kind == protocol.KindResult || f.Kind == protocol.KindError {
			list = append(list, f)
		}
	}
	return list
}

// SetTools changes the tools. If announce is true, it sends list_changed on the newest connection.
func (s *Server) SetTools(announce bool, names ...string) {
	s.mu.Lock()
	s.Tools = names
	s.mu.Unlock()
	if announce {
		_ = s.Last().Send([]byte(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`))
	}
}

func (s *Server) serve(peer *pipe.Peer) {
	for {
		out, err := peer.Receive()
		if err != nil {
			return
		}
		var f protocol.Frame
		if err := f.Parse(out.Frame); err != nil {
			panic("the gateway sent an invalid message: " + err.Error() + ": " + string(out.Frame))
		}
		s.mu.Lock()
		s.received = append(s.received, f)
		s.mu.Unlock()
		switch {
		case f.Kind == protocol.KindRequest:
			s.answer(peer, f)
		case s.HandleOther != nil:
			s.HandleOther(peer, out)
		}
	}
}

func (s *Server) answer(peer *pipe.Peer, f protocol.Frame) {
	id := f.IDBytes()
	result := ""
	switch f.Method {
	case protocol.MethodInitialize:
		if s.IgnoreInitialize {
			return
		}
		result = s.initializeResult()
	case protocol.MethodPing:
		result = "{}"
	case protocol.MethodServerDiscover:
		_ = peer.Send(protocol.AppendError(nil, id, -32601, "Method not found", nil))
		return
	case protocol.MethodToolsList:
		result = s.toolsPage(f)
		if s.BeforePage != nil {
			s.mu.Lock()
			s.pages++
			page := s.pages
			s.mu.Unlock()
			s.BeforePage(page)
		}
	case protocol.MethodResourcesList:
		result = `{"resources":[` + items(s.Resources, `{"uri":%q,"name":"r"}`) + `]}`
	case protocol.MethodTemplatesList:
		result = `{"resourceTemplates":[` + items(s.Templates, `{"uriTemplate":%q,"name":"t"}`) + `]}`
	case protocol.MethodPromptsList:
		result = `{"prompts":[` + items(s.Prompts, `{"name":%q}`) + `]}`
	default:
		if s.Handle != nil {
			s.Handle(peer, f, id)
			return
		}
		result = `{"content":[{"type":"text","text":"echo"}]}`
	}
	_ = peer.Send(protocol.AppendResult(nil, id, []byte(result)))
}

func (s *Server) initializeResult() string {
	capabilities := `"tools":{"listChanged":true},"resources":{"subscribe":true}`
	if s.Prompts != nil {
		capabilities += `,"prompts":{}`
	}
	if s.Logging {
		capabilities += `,"logging":{}`
	}
	if s.Tasks {
		capabilities += `,"tasks":{"cancel":{},"requests":{"tools":{"call":{}}}}`
	}
	return fmt.Sprintf(`{"protocolVersion":%q,"capabilities":{%s},"serverInfo":{"name":"fake","version":"1"},"instructions":%q}`,
		cmp.Or(s.Version, protocol.LatestLegacy), capabilities, s.Instructions)
}

// items formats each value and joins the results to the content of a JSON array.
func items(values []string, format string) string {
	var list []string
	for _, value := range values {
		list = append(list, fmt.Sprintf(format, value))
	}
	return strings.Join(list, ",")
}

// toolsPage returns a page of tools/list. The cursor is the index of its first tool.
func (s *Server) toolsPage(f protocol.Frame) string {
	var p protocol.Params
	if err := p.Scan(&f); err != nil {
		panic(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	cursor, _ := rawjson.Unquote(p.Cursor.Of(f.Raw))
	from, _ := strconv.Atoi(cursor)
	to := len(s.Tools)
	if s.PageSize > 0 {
		to = min(to, from+s.PageSize)
	}
	var items []string
	for _, name := range s.Tools[from:to] {
		if strings.HasPrefix(name, "{") {
			items = append(items, name)
			continue
		}
		meta := ""
		if s.Meta != "" {
			meta = `,"_meta":` + s.Meta
		}
		items = append(items, fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}%s}`, name, meta))
	}
	next := ""
	if to < len(s.Tools) {
		next = fmt.Sprintf(`,"nextCursor":"%d"`, to)
	}
	return `{"tools":[` + strings.Join(items, ",") + `]` + next + `}`
}
