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
)

// Server takes what clients send over HTTP and gives it to a Handler. Its state is the set of open connections and
// streams and some counters; everything about messages belongs to the Handler. All methods may be called from any goroutine.
//
//	server := downstream.NewServer(handler, downstream.Options{MaxMessageBytes: 64 << 20}, log)
//	go server.Serve(listener)
//	…
//	server.Shutdown(ctx)
//
// fasthttp reads requests and writes plain answers (MCP 2025-11-25, basic/transports/streamable-http); bodies, checks,
// streams, deadlines and shutdown are ours, because its defaults trust the client (Content-Length is allocated at
// once, folded and doubled headers pass, unread bodies become the next request, open streams are not counted).
type Server struct {
	keeps      atomic.Pointer[[]string] // headers that are kept, in canonical spelling; nil = none
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

	mu      sync.Mutex
	conns   map[*serverConn]struct{}
	unknown list.List              // *serverConn of which no request was admitted yet, the oldest first
	streams map[uint64]*httpStream // by number
	opened  uint64                 // streams there have been
	poller  *poller                // of the streams; nil while there is none, or no need of it
	ended   chan struct{}          // closed when stopping and the last connection has ended; nil before
}

// limits are the clocks nobody configures; tests shorten them.
type limits struct {
	header   time.Duration // for a whole header and the first 8 KiB of the body; then again for each bodyRate·header bytes
	bodyRate int           // bytes a second a body must come at, once header has passed
	idle     time.Duration // between requests of a connection
	decide   time.Duration // for the Handler to accept or refuse a stream
	unknown  int           // connections of which no request was admitted; of more the oldest is closed. 0 = maxUnknown
}

const (
	serverHeaderBytes   = 16 << 10 // request line and headers together
	defaultMaxMessage   = 64 << 20
	defaultSSEAfter     = 5 * time.Second
	defaultKeepAlive    = 15 * time.Second
	defaultWriteTimeout = 30 * time.Second
	defaultWatchAfter   = 100 * time.Millisecond
	serverRetryAfter    = time.Second // told with 503
)

// NewServer returns an HTTP server for clients; it does nothing before Serve.
func NewServer(handler Handler, o Options, log *slog.Logger) *Server {
	return newServer(handler, o, log, limits{
		header: 15 * time.Second, bodyRate: 16 << 10, idle: 2 * time.Minute, decide: 30 * time.Second,
	})
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
		HeaderReceived:               s.headRead,
		ErrorHandler:                 s.unreadable,
		Logger:                       serverLogger{log},
		ConnState:                    connState,
		ReadTimeout:                  limits.header,
		IdleTimeout:                  limits.idle,
		ReadBufferSize:               serverHeaderBytes,
		StreamRequestBody:            true,
		DisablePreParseMultipartForm: true, // would read a Content-Length of any size
		NoDefaultServerHeader:        true,
		NoDefaultDate:                true,
		NoDefaultContentType:         true,
		SecureErrorLogMessage:        true,
		CloseOnShutdown:              true,
		// WriteTimeout stays zero: serverConn sets a deadline for each chunk instead of one for the whole answer.
	}
	return s
}

func orDefault[T int | time.Duration](value, standard T) T {
	if value <= 0 {
		return standard
	}
	return value
}

// connState hears from fasthttp that an answer has been written.
func connState(c net.Conn, state fasthttp.ConnState) {
	if state == fasthttp.StateIdle {
		c.(*serverConn).exit()
	}
}

// Serve accepts connections from l until Shutdown, then it returns nil. It may be called for several listeners.
func (s *Server) Serve(l net.Listener) error {
	if s.stopping.Load() {
		l.Close()
		return nil
	}
	s.checks.listening(l.Addr())
	return s.http.Serve(&serverListener{Listener: l, server: s})
}

// Allow replaces Options.AllowedOrigins and AllowedHosts, for every request from now on. Safe from any goroutine.
func (s *Server) Allow(origins, hosts []string) { s.checks.allow(origins, hosts) }

// Connections returns how many client connections are open, and how many of them are event streams (GET).
func (s *Server) Connections() (open, streams int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns) + len(s.streams), len(s.streams)
}

// Shutdown stops listening, ends open streams after what waits for them, and waits until running exchanges are
// answered. When ctx ends first, everything left is cut off and its error returned. Connections without a request end at once.
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

// beginStop refuses what is new from now on and returns what has to end.
func (s *Server) beginStop() (streams []*httpStream, ended <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopping.Store(true)
	for c := range s.conns {
		if !c.busy.Load() {
			cut(c.raw) // fasthttp would wait for half a request, or five seconds for a first one
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

// checkEnded tells Shutdown when nothing is open any more. The caller has the lock and has just changed that.
func (s *Server) checkEnded() {
	if s.ended != nil && len(s.conns) == 0 && len(s.streams) == 0 {
		close(s.ended)
	}
}

// HangUp ends every connection and stream there is, whatever is under way on it. New ones may come. Safe from any goroutine.
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
		c.kill()
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
	s.meet(c)
	return true
}

func (s *Server) unregister(c *serverConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.conns[c]; ok {
		delete(s.conns, c)
		s.part(c)
		s.checkEnded()
	}
}

// registerStream is false when no stream may begin any more.
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
		s.poller.close()
		s.poller = nil
	}
	s.checkEnded()
}

// serverLogger takes fasthttp's own complaints. Their arguments hold header bytes, tokens included, so only the
// constant text is logged.
type serverLogger struct{ log *slog.Logger }

func (l serverLogger) Printf(format string, _ ...any) {
	text, _, _ := strings.Cut(format, "%")
	l.log.Debug("http connection", "event", strings.TrimSpace(text))
}
