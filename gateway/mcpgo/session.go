package mcpgo

import (
	"crypto/rand"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// waitingNotifications is the number of notifications that can wait while the gateway has no room. If more are sent,
// mcp-go drops them and returns an error to the sender.
const waitingNotifications = 1024

// session is the ClientSession of a connection. Methods may be called from any goroutine.
type session struct {
	*questions
	id            string
	notifications chan mcp.JSONRPCNotification
	initialized   atomic.Bool
	level         atomic.Value // mcp.LoggingLevel

	mu           sync.Mutex
	info         mcp.Implementation
	capabilities mcp.ClientCapabilities
	version      string
	tools        map[string]server.ServerTool
	resources    map[string]server.ServerResource
	templates    map[string]server.ServerResourceTemplate
	subscribed   map[string]bool
	filter       mcp.SubscriptionFilter
	listens      bool // it serves a subscriptions/listen stream
}

func newSession(q *questions) *session {
	s := &session{questions: q, id: "goblin-" + rand.Text(), notifications: make(chan mcp.JSONRPCNotification, waitingNotifications), subscribed: map[string]bool{}}
	s.level.Store(mcp.LoggingLevelError)
	return s
}

func (s *session) SessionID() string                                   { return s.id }
func (s *session) NotificationChannel() chan<- mcp.JSONRPCNotification { return s.notifications }
func (s *session) Initialize()                                         { s.initialized.Store(true) }
func (s *session) Initialized() bool                                   { return s.initialized.Load() }
func (s *session) SetLogLevel(level mcp.LoggingLevel)                  { s.level.Store(level) }
func (s *session) GetLogLevel() mcp.LoggingLevel                       { return s.level.Load().(mcp.LoggingLevel) }

// get returns a field that mu guards.
func get[T any](s *session, field *T) T {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *field
}

// set sets a field that mu guards.
func set[T any](s *session, field *T, value T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*field = value
}

func (s *session) GetClientInfo() mcp.Implementation              { return get(s, &s.info) }
func (s *session) SetClientInfo(info mcp.Implementation)          { set(s, &s.info, info) }
func (s *session) GetClientCapabilities() mcp.ClientCapabilities  { return get(s, &s.capabilities) }
func (s *session) SetClientCapabilities(c mcp.ClientCapabilities) { set(s, &s.capabilities, c) }
func (s *session) ProtocolVersion() string                        { return get(s, &s.version) }
func (s *session) SetProtocolVersion(version string)              { set(s, &s.version, version) }
func (s *session) GetSessionTools() map[string]server.ServerTool  { return maps.Clone(get(s, &s.tools)) }
func (s *session) SetSessionTools(tools map[string]server.ServerTool) {
	set(s, &s.tools, maps.Clone(tools))
}
func (s *session) GetSessionResources() map[string]server.ServerResource {
	return maps.Clone(get(s, &s.resources))
}

func (s *session) SetSessionResources(resources map[string]server.ServerResource) {
	set(s, &s.resources, maps.Clone(resources))
}

func (s *session) GetSessionResourceTemplates() map[string]server.ServerResourceTemplate {
	return maps.Clone(get(s, &s.templates))
}

func (s *session) SetSessionResourceTemplates(templates map[string]server.ServerResourceTemplate) {
	set(s, &s.templates, maps.Clone(templates))
}

// SubscribeToResource records a subscription. The gateway limits their number.
func (s *session) SubscribeToResource(uri string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.subscribed[uri] = true
}

func (s *session) UnsubscribeFromResource(uri string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.subscribed, uri)
}

func (s *session) SubscribedResources() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.subscribed))
}

func (s *session) IsSubscribedToResource(uri string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.subscribed[uri]
}

// SubscriptionFilter returns what a stream of 2026-07-28 has requested. The connection itself receives no broadcasts in
// that version: they belong to streams.
func (s *session) SubscriptionFilter() (filter mcp.SubscriptionFilter, active bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.filter, s.listens || mcp.IsModernProtocol(s.version)
}

func (s *session) SetSubscriptionFilter(filter mcp.SubscriptionFilter) { set(s, &s.filter, filter) }

var (
	_ server.SessionWithLogging               = (*session)(nil)
	_ server.SessionWithTools                 = (*session)(nil)
	_ server.SessionWithResources             = (*session)(nil)
	_ server.SessionWithResourceTemplates     = (*session)(nil)
	_ server.SessionWithResourceSubscriptions = (*session)(nil)
	_ server.SessionWithSubscriptionFilter    = (*session)(nil)
	_ server.SessionWithClientInfo            = (*session)(nil)
	_ server.SessionWithProtocolVersion       = (*session)(nil)
	_ server.SessionWithElicitation           = (*session)(nil)
	_ server.SessionWithSampling              = (*session)(nil)
	_ server.SessionWithRoots                 = (*session)(nil)
)
