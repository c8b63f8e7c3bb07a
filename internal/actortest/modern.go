package actortest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream"
	"goblin-actor/protocol/upstream/pipe"
)

// Modern is a scriptable server of 2026-07-28. Open is what a backend opens its connections with; each is a fresh pipe.
// Set the fields before the first Open.
type Modern struct {
	HTTP     bool           // answers come on the response of their request
	Versions []string       // supportedVersions; nil = 2026-07-28
	Tools    []string       // names, or whole items (raw JSON objects)
	Offers   []string       // URIs of the resources it lists
	Changes  bool           // declares listChanged of tools and resources
	TTL      int            // ttlMs of lists
	Known    []string       // URIs whose subscription it acknowledges
	Deaf     bool           // never answers subscriptions/listen
	Forgets  bool           // on stdio the end of one stream ends the changes of lists on all
	Listen   func(Got)      // takes over subscriptions/listen
	Refuse   error          // when set, every connection closes with it
	Discover func(Got) bool // takes over server/discover when it returns true
	Handle   func(Got)      // takes over tools/call, prompts/get, resources/read; nil = a text
	Replied  func(Got)      // takes answers, which a server gets on a legacy connection only
	Other    func(Got) bool // takes over any other request when it returns true (initialize …)

	mu      sync.Mutex
	peers   []*pipe.Peer
	got     []Got
	streams []Got // subscriptions/listen that are open
	forgot  bool  // which of them wanted changes of lists
}

// Got is a frame the server got, and where its answer goes.
type Got struct {
	Out    upstream.Outgoing
	Frame  protocol.Frame
	Params protocol.Params
	Peer   *pipe.Peer
	server *Modern
}

// ID is the raw id of the request.
func (g Got) ID() []byte { return g.Frame.IDBytes() }

// Result answers with a result, raw JSON.
func (g Got) Result(result string) { g.last(protocol.AppendResult(nil, g.ID(), []byte(result))) }

// Error answers with an error; data is raw JSON, "" = none.
func (g Got) Error(code int, text, data string) {
	var raw []byte
	if data != "" {
		raw = []byte(data)
	}
	g.last(protocol.AppendError(nil, g.ID(), code, text, raw))
}

func (g Got) last(raw []byte) {
	if g.server.HTTP {
		_ = g.Peer.Answer(g.Out.Ticket, raw)
		return
	}
	_ = g.Peer.Send(raw)
}

// Note sends a notification that belongs to the request.
func (g Got) Note(method, params string) {
	raw := protocol.AppendNotification(nil, method, []byte(params))
	if !g.server.HTTP {
		_ = g.Peer.Send(raw)
		return
	}
	var f protocol.Frame
	if err := f.Parse(raw); err != nil {
		panic(err)
	}
	_ = g.Peer.Tell(upstream.Received{Ticket: g.Out.Ticket, Frame: f})
}

// Welcome answers initialize; over HTTP with a session, or without.
func (g Got) Welcome(session bool, result string) {
	if !g.server.HTTP {
		g.Result(result)
		return
	}
	var f protocol.Frame
	if err := f.Parse(protocol.AppendResult(nil, g.ID(), []byte(result))); err != nil {
		panic(err)
	}
	_ = g.Peer.Tell(upstream.Received{Ticket: g.Out.Ticket, Frame: f, Last: true, Session: session})
}

// Ask sends a question that belongs to the request, raw JSON, as only a legacy server does.
func (g Got) Ask(question string) {
	var f protocol.Frame
	if err := f.Parse([]byte(question)); err != nil {
		panic(err)
	}
	e := upstream.Received{Frame: f}
	if g.server.HTTP {
		e.Ticket = g.Out.Ticket
	}
	_ = g.Peer.Tell(e)
}

// Open makes a connection and serves it until it closes.
func (s *Modern) Open(sink upstream.Sink) upstream.Link {
	link, peer := pipe.New(sink)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.peers = append(s.peers, peer)
	s.streams = nil
	if s.Refuse != nil {
		peer.Close(s.Refuse)
		return link
	}
	go s.serve(peer)
	return link
}

// Last returns the newest connection's server end.
func (s *Modern) Last() *pipe.Peer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.peers[len(s.peers)-1]
}

// First returns the oldest connection's server end.
func (s *Modern) First() *pipe.Peer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.peers[0]
}

// Opened counts connections.
func (s *Modern) Opened() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.peers)
}

// Got returns the frames with that method that came so far, from all connections.
func (s *Modern) Got(method string) []Got {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.got), func(g Got) bool { return g.Frame.MethodText() != method })
}

// Methods are the methods of everything that came so far.
func (s *Modern) Methods() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []string
	for _, g := range s.got {
		list = append(list, g.Frame.MethodText())
	}
	return list
}

// SetTools changes the list and tells it on every open stream.
func (s *Modern) SetTools(names ...string) {
	s.mu.Lock()
	s.Tools = names
	s.mu.Unlock()
	s.Tell("notifications/tools/list_changed", "")
}

// Tell sends a notification on every open stream that was opened for it; members are those of params besides _meta, with
// a comma in front.
func (s *Modern) Tell(method, members string) {
	s.mu.Lock()
	streams, wanted := slices.Clone(s.streams), strings.TrimPrefix(members, `,"uri":`)
	kind, ofList := strings.CutSuffix(strings.TrimPrefix(method, "notifications/"), "/list_changed")
	if ofList {
		wanted = `"` + kind + `ListChanged":true`
	}
	if ofList && s.forgot {
		streams = nil
	}
	s.mu.Unlock()
	for _, g := range streams {
		if !strings.Contains(string(g.Params.Notifications.Of(g.Frame.Raw)), wanted) {
			continue
		}
		g.Note(method, fmt.Sprintf(`{"_meta":{"io.modelcontextprotocol/subscriptionId":%s}%s}`, g.ID(), members))
	}
}

// EndStreams ends the open streams: gracefully, with a result, or as if the connection broke.
func (s *Modern) EndStreams(gracefully bool) {
	s.mu.Lock()
	streams := s.streams
	s.streams = nil
	s.mu.Unlock()
	for _, g := range streams {
		switch {
		case gracefully:
			g.Result(`{"resultType":"complete"}`)
		case s.HTTP:
			_ = g.Peer.Tell(upstream.Ended{Ticket: g.Out.Ticket, Err: upstream.ErrNoAnswer})
		default:
			_ = g.Peer.Send(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, g.ID()))
		}
	}
}

// Streams counts the open streams.
func (s *Modern) Streams() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(s.peers[len(s.peers)-1], &Got{})
	return len(s.streams)
}

func (s *Modern) serve(peer *pipe.Peer) {
	for {
		out, err := peer.Receive()
		if err != nil {
			return
		}
		g := Got{Out: out, Peer: peer, server: s}
		if err := g.Frame.Parse(out.Frame); err != nil {
			panic("the gateway sent a bad frame: " + err.Error() + ": " + string(out.Frame))
		}
		if err := g.Params.Scan(&g.Frame); err != nil {
			panic("the gateway sent bad params: " + err.Error() + ": " + string(out.Frame))
		}
		s.mu.Lock()
		s.got = append(s.got, g)
		s.drop(peer, &g)
		s.mu.Unlock()
		switch {
		case g.Frame.Kind == protocol.KindRequest:
			s.answer(g)
		case g.Frame.Kind == protocol.KindResult && s.Replied != nil:
			s.Replied(g)
		}
	}
}

// drop forgets the streams that were cancelled, in either way.
func (s *Modern) drop(peer *pipe.Peer, g *Got) {
	canceled, before := peer.Canceled(), len(s.streams)
	s.streams = slices.DeleteFunc(s.streams, func(st Got) bool {
		named := g.Frame.M == protocol.NotificationCancelled && string(g.Params.RequestID.Of(g.Frame.Raw)) == string(st.ID())
		return named || slices.Contains(canceled, st.Out.Ticket)
	})
	s.forgot = s.forgot || s.Forgets && !s.HTTP && len(s.streams) < before
}

func (s *Modern) answer(g Got) {
	switch g.Frame.M {
	case protocol.MethodServerDiscover:
		if s.Discover == nil || !s.Discover(g) {
			g.Result(s.discover())
		}
	case protocol.MethodToolsList:
		g.Result(s.list("tools", s.tools()))
	case protocol.MethodResourcesList:
		var items []string
		for _, uri := range s.Offers {
			items = append(items, fmt.Sprintf(`{"uri":%q,"name":"r"}`, uri))
		}
		g.Result(s.list("resources", strings.Join(items, ",")))
	case protocol.MethodTemplatesList:
		g.Result(s.list("resourceTemplates", ""))
	case protocol.MethodSubscriptionsListen:
		s.listen(g)
	case protocol.MethodToolsCall, protocol.MethodPromptsGet, protocol.MethodResourcesRead:
		if s.Handle != nil {
			s.Handle(g)
			return
		}
		g.Result(`{"resultType":"complete","content":[{"type":"text","text":"modern"}]}`)
	default:
		if s.Other == nil || !s.Other(g) {
			g.Error(-32601, "Method not found", "")
		}
	}
}

func (s *Modern) discover() string {
	versions := s.Versions
	if versions == nil {
		versions = []string{protocol.Version20260728}
	}
	for i := range versions {
		versions[i] = strconv.Quote(strings.Trim(versions[i], `"`))
	}
	return fmt.Sprintf(`{"resultType":"complete","supportedVersions":[%s],"capabilities":{"tools":{"listChanged":%v},"resources":{"subscribe":true,"listChanged":%v}},`+
		`"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"fake","version":"2"}},"instructions":"be modern","ttlMs":0,"cacheScope":"private"}`,
		strings.Join(versions, ","), s.Changes, s.Changes)
}

func (s *Modern) list(key, items string) string {
	return fmt.Sprintf(`{"resultType":"complete",%q:[%s],"ttlMs":%d,"cacheScope":"private"}`, key, items, s.TTL)
}

func (s *Modern) tools() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var items []string
	for _, tool := range s.Tools {
		if !strings.HasPrefix(tool, "{") {
			tool = fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}}`, tool)
		}
		items = append(items, tool)
	}
	return strings.Join(items, ",")
}

// listen acknowledges what is asked for and offered.
func (s *Modern) listen(g Got) {
	if s.Listen != nil {
		s.Listen(g)
		return
	}
	if s.Deaf {
		return
	}
	filter := string(g.Params.Notifications.Of(g.Frame.Raw))
	var acked []string
	for _, key := range []string{"toolsListChanged", "resourcesListChanged"} {
		if s.Changes && strings.Contains(filter, `"`+key+`":true`) {
			acked = append(acked, `"`+key+`":true`)
		}
	}
	var uris []string
	for _, uri := range s.Known {
		if strings.Contains(filter, strconv.Quote(uri)) {
			uris = append(uris, strconv.Quote(uri))
		}
	}
	if len(uris) > 0 {
		acked = append(acked, `"resourceSubscriptions":[`+strings.Join(uris, ",")+`]`)
	}
	s.mu.Lock()
	s.forgot = s.forgot && !strings.Contains(filter, "ListChanged")
	s.streams = append(s.streams, g)
	s.mu.Unlock()
	g.Note("notifications/subscriptions/acknowledged",
		fmt.Sprintf(`{"_meta":{"io.modelcontextprotocol/subscriptionId":"%s"},"notifications":{%s}}`, g.ID(), strings.Join(acked, ",")))
}
