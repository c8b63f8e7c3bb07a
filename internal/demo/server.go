package demo

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"maps"
	"slices"
	"sync"

	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/rawjson"
	"goblin-actor/protocol/seal"
)

// Limits of every demo server.
const (
	maxSessions      = 4096 // HTTP sessions; a further one replaces the longest idle one
	maxCalls         = 256  // concurrent requests per session
	maxSubscriptions = 1024 // subscriptions per session
	defaultPageSize  = 100  // items per page
)

// Server is an MCP server with its items and sessions. Create it with New. Templates must be added before serving;
// tools, prompts and resources may also change later. While it is served, all methods except AddTemplate may be called
// concurrently.
type Server struct {
	Name, Version string
	Instructions  string
	Protocol      string // the only version it speaks; "" = all versions
	PageSize      int    // items per page; 0 = defaultPageSize
	Tasks         bool   // some tools use Call.Background

	// Background runs while the server is served, until ctx ends; nil = nothing.
	Background func(ctx context.Context)

	templates map[string]Template
	sealer    *seal.Sealer // seals requestState

	mu        sync.Mutex
	tools     map[string]Tool
	prompts   map[string]Prompt
	resources map[string]Resource                // resources by URI
	sessions  map[string]*session                // by id; stdio: ""
	stdout    *downstream.EventStream            // stdio: the stream, which exists before the session
	events    map[string]*downstream.EventStream // HTTP+SSE: the streams of sessions, by session id
	listeners map[*listener]bool                 // open subscriptions/listen
	tasks     map[string]*task                   // by id
}

// Handler processes a request. Its result is marshaled; an *Error becomes a JSON-RPC error, and
// any other error becomes a result with isError (tools) or an internal error.
type Handler func(c *Call) (any, error)

// Tool is a tool with its handler.
type Tool struct {
	Name        string          `json:"name"`
	Title       string          `json:"title,omitempty"` // since 2025-06-18
	Description string          `json:"description,omitempty"`
	Input       json.RawMessage `json:"inputSchema"`            // nil = no arguments
	Output      json.RawMessage `json:"outputSchema,omitempty"` // since 2025-06-18
	Annotations json.RawMessage `json:"annotations,omitempty"`  // since 2025-03-26
	Since       string          `json:"-"`                      // the oldest version in which it works; "" = all
	Stateful    bool            `json:"-"`                      // its questions always have a requestState
	Handle      Handler         `json:"-"`

	bindings *protocol.Bindings // headers that repeat its arguments
}

// Prompt is a prompt. Handle returns a PromptResult.
type Prompt struct {
	Name        string           `json:"name"`
	Title       string           `json:"title,omitempty"`
	Description string           `json:"description,omitempty"`
	Arguments   []PromptArgument `json:"arguments,omitempty"`
	Handle      Handler          `json:"-"`
	Complete    Completer        `json:"-"` // nil = no suggestions
}

// PromptArgument is an argument of a prompt.
type PromptArgument struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required,omitempty"`
}

// Resource is a resource. Handle returns a ReadResult.
type Resource struct {
	URI         string  `json:"uri"`
	Name        string  `json:"name"`
	Title       string  `json:"title,omitempty"`
	Description string  `json:"description,omitempty"`
	MIMEType    string  `json:"mimeType,omitempty"`
	Size        int     `json:"size,omitempty"`
	Handle      Handler `json:"-"`
}

// Template is a resource template. Match reports whether a URI matches it; Handle reads the URI.
type Template struct {
	URITemplate string            `json:"uriTemplate"`
	Name        string            `json:"name"`
	Title       string            `json:"title,omitempty"`
	Description string            `json:"description,omitempty"`
	MIMEType    string            `json:"mimeType,omitempty"`
	Match       func(string) bool `json:"-"`
	Handle      Handler           `json:"-"`
	Complete    Completer         `json:"-"` // nil = no suggestions
}

// Completer suggests values for an argument that start with prefix.
type Completer func(argument, prefix string) []string

// New returns a server without items.
func New(name, version string) *Server {
	var key [32]byte
	_, _ = rand.Read(key[:]) // never fails
	return &Server{
		Name: name, Version: version, sealer: seal.New(key),
		tools: map[string]Tool{}, prompts: map[string]Prompt{}, templates: map[string]Template{},
		resources: map[string]Resource{}, sessions: map[string]*session{}, events: map[string]*downstream.EventStream{},
		listeners: map[*listener]bool{}, tasks: map[string]*task{},
	}
}

// AddTool adds or replaces a tool and notifies all clients. It panics if the tool's schema has invalid header
// bindings.
func (s *Server) AddTool(t Tool) {
	if t.Input == nil {
		t.Input = json.RawMessage(`{"type":"object"}`)
	}
	raw, err := json.Marshal(t)
	if err == nil {
		t.bindings, err = protocol.CompileBindings(raw)
	}
	if err != nil {
		panic("tool " + t.Name + ": " + err.Error())
	}
	s.mu.Lock()
	s.tools[t.Name] = t
	s.mu.Unlock()
	s.changed(protocol.NotificationToolsListChanged)
}

// RemoveTool removes a tool and notifies all clients.
func (s *Server) RemoveTool(name string) {
	s.mu.Lock()
	delete(s.tools, name)
	s.mu.Unlock()
	s.changed(protocol.NotificationToolsListChanged)
}

// AddPrompt adds or replaces a prompt and notifies all clients.
func (s *Server) AddPrompt(p Prompt) {
	s.mu.Lock()
	s.prompts[p.Name] = p
	s.mu.Unlock()
	s.changed(protocol.NotificationPromptsListChanged)
}

// RemovePrompt removes a prompt and notifies all clients.
func (s *Server) RemovePrompt(name string) {
	s.mu.Lock()
	delete(s.prompts, name)
	s.mu.Unlock()
	s.changed(protocol.NotificationPromptsListChanged)
}

// tool returns the tool with the given name.
func (s *Server) tool(name string) (Tool, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, ok := s.tools[name]
	return t, ok
}

func (s *Server) prompt(name string) (Prompt, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.prompts[name]
	return p, ok
}

// AddTemplate adds a resource template. It must be called before serving.
func (s *Server) AddTemplate(t Template) { s.templates[t.URITemplate] = t }

// SetResource adds or replaces a resource. It notifies all clients of a new resource, and the subscribers
// of a replaced one.
func (s *Server) SetResource(r Resource) {
	s.mu.Lock()
	_, known := s.resources[r.URI]
	s.resources[r.URI] = r
	s.mu.Unlock()
	if known {
		s.Updated(r.URI)
		return
	}
	s.changed(protocol.NotificationResourcesListChanged)
}

// RemoveResource removes a resource and, if it existed, notifies all clients.
func (s *Server) RemoveResource(uri string) {
	s.mu.Lock()
	_, known := s.resources[uri]
	delete(s.resources, uri)
	s.mu.Unlock()
	if known {
		s.changed(protocol.NotificationResourcesListChanged)
	}
}

// Updated notifies the subscribers of a resource that it has changed.
func (s *Server) Updated(uri string) {
	member := append([]byte(`"uri":`), rawjson.Quote(uri)...)
	method := protocol.NotificationResourcesUpdated.String()
	frame := protocol.AppendNotification(nil, method, slices.Concat([]byte{'{'}, member, []byte{'}'}))
	for _, c := range s.all() {
		if c.wants(uri) {
			c.tell("updated "+uri, frame)
		}
	}
	s.listening(func(l *listener) {
		if l.uris[uri] {
			l.tell(method, member, "updated "+uri)
		}
	})
}

// changed notifies clients that a list has changed: all legacy sessions, and the modern streams that requested it.
func (s *Server) changed(m protocol.Method) {
	frame := protocol.AppendNotification(nil, m.String(), nil)
	for _, c := range s.all() {
		c.tell(m.String(), frame)
	}
	s.listening(func(l *listener) {
		if l.changes[m] {
			l.tell(m.String(), nil, m.String())
		}
	})
}

// all returns the current sessions.
func (s *Server) all() []*session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.sessions))
}

// resource returns the handler for a URI: that of the resource, or of the first template that matches.
func (s *Server) resource(uri string) (Handler, bool) {
	s.mu.Lock()
	r, ok := s.resources[uri]
	s.mu.Unlock()
	if ok {
		return r.Handle, true
	}
	for _, key := range slices.Sorted(maps.Keys(s.templates)) {
		if t := s.templates[key]; t.Match != nil && t.Match(uri) {
			return t.Handle, true
		}
	}
	return nil, false
}
