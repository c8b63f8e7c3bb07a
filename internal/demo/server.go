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

// Bounds of every demo server; what exceeds them is refused with an error.
const (
	maxSessions      = 4096 // HTTP sessions; then the one idle longest makes room
	maxCalls         = 256  // requests running in one session
	maxSubscriptions = 1024 // URIs one session subscribes to
	defaultPageSize  = 100  // items a page
)

// Server is one MCP server: what it offers, and the sessions of its clients. Make it with New, add what it offers
// before serving; resources may come and go at any time. Safe for use from any goroutine.
type Server struct {
	Name, Version string
	Instructions  string
	Protocol      string // the only version it speaks; "" = every one, as each message asks for
	PageSize      int    // items a page; 0 = 100
	Tasks         bool   // some tools use Call.Background

	// Background runs while the server is served, until ctx ends; nil = nothing.
	Background func(ctx context.Context)

	templates map[string]Template
	sealer    *seal.Sealer // of requestState

	mu        sync.Mutex
	tools     map[string]Tool
	prompts   map[string]Prompt
	resources map[string]Resource                // by URI
	sessions  map[string]*session                // by id; stdio: ""
	stdout    *downstream.EventStream            // stdio: the stream that was there before the session; else nil
	events    map[string]*downstream.EventStream // HTTP+SSE: the streams sessions begin with, by session id
	listeners map[*listener]bool                 // open subscriptions/listen
	tasks     map[string]*task                   // by id
}

// Handler answers one request. What it returns is marshalled as the result; an *Error becomes the JSON-RPC error;
// any other error a result with isError (tools) or an internal error.
type Handler func(c *Call) (any, error)

// Tool is one tool and who runs it.
type Tool struct {
	Name        string          `json:"name"`
	Title       string          `json:"title,omitempty"` // from 2025-06-18
	Description string          `json:"description,omitempty"`
	Input       json.RawMessage `json:"inputSchema"`            // nil = no arguments
	Output      json.RawMessage `json:"outputSchema,omitempty"` // from 2025-06-18
	Annotations json.RawMessage `json:"annotations,omitempty"`  // from 2025-03-26
	Since       string          `json:"-"`                      // the oldest version in which it can work; "" = every one
	Stateful    bool            `json:"-"`                      // its questions always have a requestState
	Handle      Handler         `json:"-"`

	bindings *protocol.Bindings // of its arguments to headers
}

// Prompt is one prompt; Handle returns a PromptResult.
type Prompt struct {
	Name        string           `json:"name"`
	Title       string           `json:"title,omitempty"`
	Description string           `json:"description,omitempty"`
	Arguments   []PromptArgument `json:"arguments,omitempty"`
	Handle      Handler          `json:"-"`
	Complete    Completer        `json:"-"` // nil = no suggestions
}

// PromptArgument is one argument of a prompt.
type PromptArgument struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required,omitempty"`
}

// Resource is one resource; Handle returns a ReadResult.
type Resource struct {
	URI         string  `json:"uri"`
	Name        string  `json:"name"`
	Title       string  `json:"title,omitempty"`
	Description string  `json:"description,omitempty"`
	MIMEType    string  `json:"mimeType,omitempty"`
	Size        int     `json:"size,omitempty"`
	Handle      Handler `json:"-"`
}

// Template is a family of resources. Match says whether a URI belongs to it; Handle reads it.
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

// Completer suggests values for an argument that begins with prefix.
type Completer func(argument, prefix string) []string

// New returns a server that offers nothing yet.
func New(name, version string) *Server {
	var key [32]byte
	_, _ = rand.Read(key[:]) // it never fails
	return &Server{
		Name: name, Version: version, sealer: seal.New(key),
		tools: map[string]Tool{}, prompts: map[string]Prompt{}, templates: map[string]Template{},
		resources: map[string]Resource{}, sessions: map[string]*session{}, events: map[string]*downstream.EventStream{},
		listeners: map[*listener]bool{}, tasks: map[string]*task{},
	}
}

// AddTool adds or replaces a tool and tells every client that the list changed. Annotations that bind arguments to
// headers must be valid: it panics else.
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

// RemoveTool removes a tool and tells every client that the list changed.
func (s *Server) RemoveTool(name string) {
	s.mu.Lock()
	delete(s.tools, name)
	s.mu.Unlock()
	s.changed(protocol.NotificationToolsListChanged)
}

// AddPrompt adds or replaces a prompt and tells every client that the list changed.
func (s *Server) AddPrompt(p Prompt) {
	s.mu.Lock()
	s.prompts[p.Name] = p
	s.mu.Unlock()
	s.changed(protocol.NotificationPromptsListChanged)
}

// RemovePrompt removes a prompt and tells every client that the list changed.
func (s *Server) RemovePrompt(name string) {
	s.mu.Lock()
	delete(s.prompts, name)
	s.mu.Unlock()
	s.changed(protocol.NotificationPromptsListChanged)
}

// tool and prompt return what is offered at this moment.
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

// AddTemplate adds a resource template; call it before serving.
func (s *Server) AddTemplate(t Template) { s.templates[t.URITemplate] = t }

// SetResource adds or replaces a resource. If it was not there, every client is told that the list changed;
// if it was, its subscribers are told that it was updated.
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

// RemoveResource removes a resource and tells every client that the list changed.
func (s *Server) RemoveResource(uri string) {
	s.mu.Lock()
	_, known := s.resources[uri]
	delete(s.resources, uri)
	s.mu.Unlock()
	if known {
		s.changed(protocol.NotificationResourcesListChanged)
	}
}

// Updated tells the subscribers of uri that it changed.
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

// changed tells every client that wants to know that a list changed.
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

// all returns the sessions of this moment.
func (s *Server) all() []*session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.sessions))
}

// resource finds who reads uri: the resource itself, else the template it belongs to.
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
