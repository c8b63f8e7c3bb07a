package downstream

import (
	"container/list"
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"goblin-actor/internal/poll"
)

// Server passes the messages that clients send over HTTP to a Handler. Its state is the set of open connections and
// streams, and counters. All methods may be called from any goroutine.
//
//	server := downstream.NewServer(handler, downstream.Options{MaxMessageBytes: 64 << 20}, log)
//	go server.Serve(listener)
//	…
//	server.Shutdown(ctx)
//
// fasthttp reads requests and writes plain responses (MCP 2025-11-25, basic/transports/streamable-http). Bodies, checks,
// streams, deadlines and shutdown are implemented here, because fasthttp's defaults trust the client: it allocates the
// whole Content-Length at once, accepts folded and repeated headers, reads unread bodies as the next request, and does not
// count open streams.
type Server struct {
	forwarded  atomic.Pointer[[]string] // names of the headers in Origin.Forwarded, in canonical form; nil if there are none
	handler    Handler
	options    Options
	log        *slog.Logger
	http       *fasthttp.Server
	checks     *hostChecks
	maxMessage int

	sseAfter, keepAlive, writeTimeout, watchAfter time.Duration
	limits                                        limits

	counters serverCounters
	stopping atomic.Bool
	retiring atomic.Bool // each response closes its connection

	mu         sync.Mutex
	listeners  []*serverListener
	conns      map[*serverConn]struct{}
	unadmitted list.List              // the *serverConn without an admitted request, oldest first
	streams    map[uint64]*httpStream // by number
	opened     uint64                 // number of streams ever opened
	poller     *poll.Poller           // watches the streams; nil if there are none, or on systems without one
	ended      chan struct{}          // closed when the last connection has ended; nil until the server stops
}

// limits are not configurable; tests shorten them.
type limits struct {
	header     time.Duration // time for the header and the first 8 KiB of the body
	bodyRate   int           // bytes per second at which a longer body must arrive, in addition to the time of header
	idle       time.Duration // maximum time between requests of a connection
	decide     time.Duration // time for the Handler to accept or refuse a stream
	unadmitted int           // maximum number of connections without an admitted request; 0 means maxUnadmitted
}

const (
	serverHeaderBytes   = 16 << 10 // request line and headers together
	defaultMaxMessage   = 64 << 20
	defaultSSEAfter     = 5 * time.Second
	defaultKeepAlive    = 15 * time.Second
	defaultWriteTimeout = 30 * time.Second
	defaultWatchAfter   = 100 * time.Millisecond
	serverRetryAfter    = time.Second // Retry-After of 503 responses
)

var defaultLimits = limits{header: 15 * time.Second, bodyRate: 16 << 10, idle: 2 * time.Minute, decide: 30 * time.Second}

// NewServer returns an HTTP server for clients. Call Serve to start it.
func NewServer(handler Handler, o Options, log *slog.Logger) *Server {
	return newServer(handler, o, log, defaultLimits)
}

func newServer(handler Handler, o Options, log *slog.Logger, limits limits) *Server {
	s := &Server{
		handler: handler, options: o, log: log, limits: limits,
		checks:       newHostChecks(o),
		maxMessage:   orDefault(o.MaxMessageBytes, defaultMaxMessage),
		sseAfter:     orDefault(o.SSEAfter, defaultSSEAfter),
		keepAlive:    orDefault(o.KeepAlive, defaultKeepAlive),
		writeTimeout: orDefault(o.WriteTimeout, defaultWriteTimeout),
		watchAfter:   defaultWatchAfter,
		conns:        make(map[*serverConn]struct{}),
		streams:      make(map[uint64]*httpStream),
	}
	s.http = &fasthttp.Server{
		Handler:                      s.handle,
		ExpectHandler:                s.expect,
		HeaderReceived:               s.headerReceived,
		ErrorHandler:                 s.unreadable,
		Logger:                       serverLogger{log},
		ConnState:                    connState,
		ReadTimeout:                  limits.header,
		IdleTimeout:                  limits.idle,
		ReadBufferSize:               serverHeaderBytes,
		StreamRequestBody:            true,
		DisablePreParseMultipartForm: true, // parsing would read a body of any size
		NoDefaultServerHeader:        true,
		NoDefaultDate:                true,
		NoDefaultContentType:         true,
		SecureErrorLogMessage:        true,
		CloseOnShutdown:              true,
		// WriteTimeout stays zero: serverConn sets a deadline for each chunk, not for the whole response.
	}
	return s
}

func orDefault[T int | time.Duration](value, standard T) T {
	if value <= 0 {
		return standard
	}
	return value
}

// connState is called by fasthttp. StateIdle means that a response has been written.
func connState(c net.Conn, state fasthttp.ConnState) {
	if state == fasthttp.StateIdle {
		c.(*serverConn).exit()
	}
}

// Serve accepts connections from l until Shutdown, and then returns nil. It may be called for several listeners.
func (s *Server) Serve(l net.Listener) error {
	if s.stopping.Load() {
		l.Close()
		return nil
	}
	s.checks.listening(l.Addr())
	listener := &serverListener{Listener: l, server: s}
	s.mu.Lock()
	s.listeners = append(s.listeners, listener)
	s.mu.Unlock()
	return s.http.Serve(listener)
}

// Allow replaces Options.AllowedOrigins and AllowedHosts for later requests.
func (s *Server) Allow(origins, hosts []string) { s.checks.allow(origins, hosts) }

// Connections returns how many client connections are open, and how many of them are event streams (GET).
func (s *Server) Connections() (open, streams int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns) + len(s.streams), len(s.streams)
}

// Retire makes each later response close its connection, so that load balancers no longer use the idle connections that Shutdown closes.
func (s *Server) Retire() { s.retiring.Store(true) }

// Shutdown stops listening, closes idle connections, ends streams once their waiting messages are written, and waits
// until running exchanges are answered. If ctx ends first, Shutdown closes all connections and returns an error that
// wraps ctx.Err().
func (s *Server) Shutdown(ctx context.Context) error {
	streams, ended := s.beginStop()
	for _, stream := range streams {
		stream.close()
	}
	err := s.http.ShutdownWithContext(ctx)
	select {
	case <-ended:
	case <-ctx.Done():
		err = errors.Join(err, ctx.Err())
	}
	if ctx.Err() != nil {
		s.HangUp()
	}
	return err
}

// beginStop makes the server refuse new requests and closes the connections that handle none. It returns the open
// streams, and a channel that is closed when all connections have ended.
func (s *Server) beginStop() (streams []*httpStream, ended <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopping.Store(true)
	for c := range s.conns {
		if !c.busy.Load() {
			cut(c.raw) // fasthttp would wait for a started request, or five seconds for a first one
		}
	}
	for _, stream := range s.streams {
		streams = append(streams, stream)
	}
	if s.ended == nil {
		s.ended = make(chan struct{})
		s.checkEnded()
	}
	return streams, s.ended
}

// checkEnded closes ended if no connection is open. The caller must hold mu.
func (s *Server) checkEnded() {
	if s.ended != nil && len(s.conns) == 0 && len(s.streams) == 0 {
		close(s.ended)
	}
}

// HangUp closes all connections and streams at once. The server continues to accept new ones.
func (s *Server) HangUp() {
	s.mu.Lock()
	var conns []*serverConn
	for c := range s.conns {
		conns = append(conns, c)
	}
	var streams []*httpStream
	for _, stream := range s.streams {
		streams = append(streams, stream)
	}
	s.mu.Unlock()
	for _, c := range conns {
		c.Kill()
	}
	for _, stream := range streams {
		stream.end()
	}
}

func (s *Server) register(c *serverConn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping.Load() {
		return false
	}
	s.conns[c] = struct{}{}
	s.addUnadmitted(c)
	return true
}

func (s *Server) unregister(c *serverConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.conns[c]; ok {
		delete(s.conns, c)
		s.removeUnadmitted(c)
		s.checkEnded()
	}
}

// registerStream returns false if the server is stopping.
func (s *Server) registerStream(stream *httpStream) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping.Load() {
		return false
	}
	s.opened++
	stream.number = s.opened
	s.streams[stream.number] = stream
	return true
}

func (s *Server) unregisterStream(stream *httpStream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.streams[stream.number] != stream {
		return
	}
	delete(s.streams, stream.number)
	if len(s.streams) == 0 && s.poller != nil {
		s.poller.Close()
		s.poller = nil
	}
	s.checkEnded()
}

// serverLogger logs fasthttp's messages. Their arguments may contain headers with credentials, so it logs only the
// constant text before them.
type serverLogger struct{ log *slog.Logger }

func (l serverLogger) Printf(format string, _ ...any) {
	text, _, _ := strings.Cut(format, "%")
	l.log.Debug("http connection", "event", strings.TrimSpace(text))
}
