package demo

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"

	"goblin-actor/protocol"
	"goblin-actor/protocol/transport"
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
	Protocol      string // the only version it speaks; "" = whichever legacy version the client asks for
	PageSize      int    // items a page; 0 = 100

	// Background runs while the server is served, until ctx ends; nil = nothing.
	Background func(ctx context.Context)

	tools     map[string]Tool
	prompts   map[string]Prompt
	templates map[string]Template

	mu        sync.Mutex
	resources map[string]Resource               // by URI
	sessions  map[string]*session               // by id; stdio: ""
	stdout    *transport.EventStream            // stdio: the stream that was there before the session; else nil
	events    map[string]*transport.EventStream // HTTP+SSE: the streams sessions begin with, by session id
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
	Handle      Handler         `json:"-"`
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
	return &Server{
		Name: name, Version: version,
		tools: map[string]Tool{}, prompts: map[string]Prompt{}, templates: map[string]Template{},
		resources: map[string]Resource{}, sessions: map[string]*session{}, events: map[string]*transport.EventStream{},
	}
}

// AddTool, AddPrompt and AddTemplate add what the server offers as long as it is served.
func (s *Server) AddTool(t Tool) {
	if t.Input == nil {
		t.Input = json.RawMessage(`{"type":"object"}`)
	}
	s.tools[t.Name] = t
}

// AddPrompt adds a prompt; call it before serving.
func (s *Server) AddPrompt(p Prompt) { s.prompts[p.Name] = p }

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
	s.resourcesChanged()
}

// RemoveResource removes a resource and tells every client that the list changed.
func (s *Server) RemoveResource(uri string) {
	s.mu.Lock()
	_, known := s.resources[uri]
	delete(s.resources, uri)
	s.mu.Unlock()
	if known {
		s.resourcesChanged()
	}
}

// Updated tells the subscribers of uri that it changed.
func (s *Server) Updated(uri string) {
	params := append([]byte(`{"uri":`), protocol.Quote(uri)...)
	frame := protocol.AppendNotification(nil, protocol.NotificationResourcesUpdated.String(), append(params, '}'))
	for _, c := range s.all() {
		if c.wants(uri) {
			c.tell("updated "+uri, frame)
		}
	}
}

func (s *Server) resourcesChanged() {
	frame := protocol.AppendNotification(nil, protocol.NotificationResourcesListChanged.String(), nil)
	for _, c := range s.all() {
		c.tell("resources changed", frame)
	}
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
