package actortest

import (
	"fmt"
	"strconv"
	"strings"
	"sync"

	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
	"goblin-actor/protocol/upstream"
	"goblin-actor/protocol/upstream/pipe"
)

// Server is a scriptable MCP server. Open is what a backend opens its connections with; each is a fresh pipe.
// Set the fields before the first Open; the functions of a running server are Last and Calls.
type Server struct {
	Tools        []string                                        // names, or whole items (raw JSON objects)
	Meta         string                                          // _meta of every tool, raw JSON; "" = none
	Resources    []string                                        // URIs
	Prompts      []string                                        // names; nil = it declares none
	Templates    []string                                        // their texts
	PageSize     int                                             // items a page of tools/list; 0 = all on one
	Listing      func(page int)                                  // called when a page of tools/list, counted from 1, is made and not sent yet
	Instructions string                                          // of initialize
	Version      string                                          // answered to initialize; "" = the newest legacy one
	Refuse       error                                           // when set, every connection closes with it; see Refuses
	Logging      bool                                            // declares logging
	Tasks        bool                                            // declares tasks for tools/call; Handle has to do them
	Mute         bool                                            // never answers initialize
	Handle       func(p *pipe.Peer, f protocol.Frame, id []byte) // tools/call, prompts/get, resources/read …; nil = echo

	Posted func(p *pipe.Peer, o upstream.Outgoing) // what is no request; over HTTP its ticket has an end of its own

	mu    sync.Mutex
	pages int // of tools/list, made so far
	peers []*pipe.Peer
	got   []protocol.Frame
}

// Open makes a connection and serves it until it closes.
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

// Refuses sets Refuse while connections may be made; nil = it does not.
func (s *Server) Refuses(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Refuse = err
}

// Last returns the newest connection's server end.
func (s *Server) Last() *pipe.Peer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.peers[len(s.peers)-1]
}

// Opened counts connections.
func (s *Server) Opened() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.peers)
}

// Got returns the frames with that method that came so far, from all connections.
func (s *Server) Got(method string) []protocol.Frame {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []protocol.Frame
	for _, f := range s.got {
		if f.MethodText() == method {
			list = append(list, f)
		}
	}
	return list
}

// Answers returns the responses that came so far: answers to the server's own questions.
func (s *Server) Answers() []protocol.Frame {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []protocol.Frame
	for _, f := range s.got {
		if f.Kind == protocol.KindResult || f.Kind == protocol.KindError {
			list = append(list, f)
		}
	}
	return list
}

// SetTools changes the list and, when announce, says so.
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
			panic("the gateway sent a bad frame: " + err.Error() + ": " + string(out.Frame))
		}
		s.mu.Lock()
		s.got = append(s.got, f)
		s.mu.Unlock()
		switch {
		case f.Kind == protocol.KindRequest:
			s.answer(peer, f)
		case s.Posted != nil:
			s.Posted(peer, out)
		}
	}
}

func (s *Server) answer(peer *pipe.Peer, f protocol.Frame) {
	id := f.IDBytes()
	result := ""
	switch f.M {
	case protocol.MethodInitialize:
		if s.Mute {
			return
		}
		version := s.Version
		if version == "" {
			version = protocol.LatestLegacy
		}
		logging := ""
		if s.Prompts != nil {
			logging = `,"prompts":{}`
		}
		if s.Logging {
			logging += `,"logging":{}`
		}
		if s.Tasks {
			logging += `,"tasks":{"cancel":{},"requests":{"tools":{"call":{}}}}`
		}
		result = fmt.Sprintf(`{"protocolVersion":%q,"capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true}%s},"serverInfo":{"name":"fake","version":"1"},"instructions":%q}`, version, logging, s.Instructions)
	case protocol.MethodPing:
		result = "{}"
	case protocol.MethodServerDiscover:
		_ = peer.Send(protocol.AppendError(nil, id, -32601, "Method not found", nil))
		return
	case protocol.MethodToolsList:
		result = s.toolsPage(f)
		if s.Listing != nil {
			s.mu.Lock()
			s.pages++
			page := s.pages
			s.mu.Unlock()
			s.Listing(page)
		}
	case protocol.MethodResourcesList:
		var items []string
		for _, uri := range s.Resources {
			items = append(items, fmt.Sprintf(`{"uri":%q,"name":"r"}`, uri))
		}
		result = `{"resources":[` + strings.Join(items, ",") + `]}`
	case protocol.MethodTemplatesList:
		var items []string
		for _, text := range s.Templates {
			items = append(items, fmt.Sprintf(`{"uriTemplate":%q,"name":"t"}`, text))
		}
		result = `{"resourceTemplates":[` + strings.Join(items, ",") + `]}`
	case protocol.MethodPromptsList:
		var items []string
		for _, name := range s.Prompts {
			items = append(items, fmt.Sprintf(`{"name":%q}`, name))
		}
		result = `{"prompts":[` + strings.Join(items, ",") + `]}`
	default:
		if s.Handle != nil {
			s.Handle(peer, f, id)
			return
		}
		result = `{"content":[{"type":"text","text":"echo"}]}`
	}
	_ = peer.Send(protocol.AppendResult(nil, id, []byte(result)))
}

// toolsPage answers with one page; the cursor is the index of its first tool.
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
