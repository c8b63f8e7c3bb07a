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

// Modern is a scriptable server of 2026-07-28. A backend calls Open for each connection. Set the fields before the
// first Open.
type Modern struct {
	HTTP             bool               // responses come on the exchange of their request
	Versions         []string           // supportedVersions; nil = 2026-07-28
	Tools            []string           // names, or definitions as raw JSON objects
	Resources        []string           // URIs of the listed resources
	ListChanged      bool               // whether it declares listChanged of tools and resources
	TTL              int                // ttlMs of lists
	Subscribable     []string           // URIs for which it acknowledges subscriptions
	IgnoreListen     bool               // whether it never answers subscriptions/listen
	LosesListChanges bool               // whether, on stdio, the end of one stream ends list changes on all
	Listen           func(Message)      // replaces the handling of subscriptions/listen
	Refuse           error              // if set, every connection closes with this error
	Discover         func(Message) bool // called first for server/discover; returns whether it answered
	Handle           func(Message)      // handles tools/call, prompts/get, resources/read; nil = responds with a text
	HandleAnswer     func(Message)      // receives answers to its requests, which only legacy connections have
	HandleOther      func(Message) bool // called for other requests such as initialize; returns whether it answered

	mu              sync.Mutex
	peers           []*pipe.Peer
	received        []Message
	streams         []Message // open subscriptions/listen requests
	listChangesLost bool      // see LosesListChanges
}

// Message is a message from the gateway.
type Message struct {
	Out    upstream.Outgoing
	Frame  protocol.Frame
	Params protocol.Params
	Peer   *pipe.Peer
	server *Modern
}

// ID returns the request's id as raw JSON.
func (g Message) ID() []byte { return g.Frame.IDBytes() }

// Result responds with a result, given as raw JSON.
func (g Message) Result(result string) { g.respond(protocol.AppendResult(nil, g.ID(), []byte(result))) }

// Error responds with an error. data is raw JSON, or "" for none.
func (g Message) Error(code int, text, data string) {
	var raw []byte
	if data != "" {
		raw = []byte(data)
	}
	g.respond(protocol.AppendError(nil, g.ID(), code, text, raw))
}

func (g Message) respond(raw []byte) {
	if g.server.HTTP {
		_ = g.Peer.Answer(g.Out.Ticket, raw)
		return
	}
	_ = g.Peer.Send(raw)
}

// Notify sends a notification on the exchange of the request.
func (g Message) Notify(method, params string) {
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

// AnswerInitialize responds to initialize. Over HTTP, session decides whether the response has a session id.
func (g Message) AnswerInitialize(session bool, result string) {
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

// SendRequest sends a request, given as raw JSON, on the exchange of the message. Only legacy servers send requests.
func (g Message) SendRequest(raw string) {
	var f protocol.Frame
	if err := f.Parse([]byte(raw)); err != nil {
		panic(err)
	}
	e := upstream.Received{Frame: f}
	if g.server.HTTP {
		e.Ticket = g.Out.Ticket
	}
	_ = g.Peer.Tell(e)
}

// Open opens a connection and serves it until it closes.
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

// Last returns the server's end of the newest connection.
func (s *Modern) Last() *pipe.Peer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.peers[len(s.peers)-1]
}

// First returns the server's end of the oldest connection.
func (s *Modern) First() *pipe.Peer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.peers[0]
}

// Opened returns the number of connections opened so far.
func (s *Modern) Opened() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.peers)
}

// Received returns the messages received so far with that method, on all connections.
func (s *Modern) Received(method string) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.received), func(g Message) bool { return g.Frame.MethodText() != method })
}

// Methods returns the methods of all messages received so far.
func (s *Modern) Methods() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []string
	for _, g := range s.received {
		list = append(list, g.Frame.MethodText())
	}
	return list
}

// SetTools changes the tools and announces the change on every open stream.
func (s *Modern) SetTools(names ...string) {
	s.mu.Lock()
	s.Tools = names
	s.mu.Unlock()
	s.Notify("notifications/tools/list_changed", "")
}

// Notify sends a notification on every open stream that requested it. members are the members of params besides _meta,
// preceded by a comma.
func (s *Modern) Notify(method, members string) {
	s.mu.Lock()
	streams, wanted := slices.Clone(s.streams), strings.TrimPrefix(members, `,"uri":`)
	kind, ofList := strings.CutSuffix(strings.TrimPrefix(method, "notifications/"), "/list_changed")
	if ofList {
		wanted = `"` + kind + `ListChanged":true`
	}
	if ofList && s.listChangesLost {
		streams = nil
	}
	s.mu.Unlock()
	for _, g := range streams {
		if !strings.Contains(string(g.Params.Notifications.Of(g.Frame.Raw)), wanted) {
			continue
		}
		g.Notify(method, fmt.Sprintf(`{"_meta":{"io.modelcontextprotocol/subscriptionId":%s}%s}`, g.ID(), members))
	}
}

// EndStreams ends the open streams. If gracefully is true, it sends their results. Otherwise it ends their exchanges
// over HTTP as if the connection broke, and on stdio sends notifications/cancelled.
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

// Streams returns the number of open streams.
func (s *Modern) Streams() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropCanceled(s.peers[len(s.peers)-1], &Message{})
	return len(s.streams)
}

func (s *Modern) serve(peer *pipe.Peer) {
	for {
		out, err := peer.Receive()
		if err != nil {
			return
		}
		g := Message{Out: out, Peer: peer, server: s}
		if err := g.Frame.Parse(out.Frame); err != nil {
			panic("the gateway sent an invalid message: " + err.Error() + ": " + string(out.Frame))
		}
		if err := g.Params.Scan(&g.Frame); err != nil {
			panic("the gateway sent invalid params: " + err.Error() + ": " + string(out.Frame))
		}
		s.mu.Lock()
		s.received = append(s.received, g)
		s.dropCanceled(peer, &g)
		s.mu.Unlock()
		switch {
		case g.Frame.Kind == protocol.KindRequest:
			s.answer(g)
		case g.Frame.Kind == protocol.KindResult && s.HandleAnswer != nil:
			s.HandleAnswer(g)
		}
	}
}

// dropCanceled removes streams that were canceled by a notification or by closing their exchange.
func (s *Modern) dropCanceled(peer *pipe.Peer, g *Message) {
	canceled, before := peer.Canceled(), len(s.streams)
	s.streams = slices.DeleteFunc(s.streams, func(st Message) bool {
		named := g.Frame.Method == protocol.NotificationCancelled && string(g.Params.RequestID.Of(g.Frame.Raw)) == string(st.ID())
		return named || slices.Contains(canceled, st.Out.Ticket)
	})
	s.listChangesLost = s.listChangesLost || s.LosesListChanges && !s.HTTP && len(s.streams) < before
}

func (s *Modern) answer(g Message) {
	switch g.Frame.Method {
	case protocol.MethodServerDiscover:
		if s.Discover == nil || !s.Discover(g) {
			g.Result(s.discover())
		}
	case protocol.MethodToolsList:
		g.Result(s.list("tools", s.tools()))
	case protocol.MethodResourcesList:
		g.Result(s.list("resources", items(s.Resources, `{"uri":%q,"name":"r"}`)))
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
		if s.HandleOther == nil || !s.HandleOther(g) {
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
		strings.Join(versions, ","), s.ListChanged, s.ListChanged)
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

// listen acknowledges the requested notifications that the server supports.
func (s *Modern) listen(g Message) {
	if s.Listen != nil {
		s.Listen(g)
		return
	}
	if s.IgnoreListen {
		return
	}
	filter := string(g.Params.Notifications.Of(g.Frame.Raw))
	var acked []string
	for _, key := range []string{"toolsListChanged", "resourcesListChanged"} {
		if s.ListChanged && strings.Contains(filter, `"`+key+`":true`) {
			acked = append(acked, `"`+key+`":true`)
		}
	}
	var uris []string
	for _, uri := range s.Subscribable {
		if strings.Contains(filter, strconv.Quote(uri)) {
			uris = append(uris, strconv.Quote(uri))
		}
	}
	if len(uris) > 0 {
		acked = append(acked, `"resourceSubscriptions":[`+strings.Join(uris, ",")+`]`)
	}
	s.mu.Lock()
	s.listChangesLost = s.listChangesLost && !strings.Contains(filter, "ListChanged")
	s.streams = append(s.streams, g)
	s.mu.Unlock()
	g.Notify("notifications/subscriptions/acknowledged",
		fmt.Sprintf(`{"_meta":{"io.modelcontextprotocol/subscriptionId":"%s"},"notifications":{%s}}`, g.ID(), strings.Join(acked, ",")))
}
