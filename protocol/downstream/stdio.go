package downstream

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"goblin-actor/protocol"
	"goblin-actor/protocol/stream"
)

// stdioFarewell is how long calls may go on after the client closed stdin.
const stdioFarewell = 5 * time.Second

// errStdoutStuck ends a client that takes nothing from stdout while more waits for it than it will ever read.
var errStdoutStuck = errors.New("the client does not read our stdout")

// stdioServer is one client on stdin and stdout (MCP 2025-11-25, basic/transports, stdio). Everything
// for the client goes through one queue and one writer, so it arrives in the order it was given.
type stdioServer struct {
	handler Handler
	o       Options
	log     *slog.Logger
	limit   int // bytes of a line

	mu      sync.Mutex
	queue   outboxQueue
	last    uint64                      // number of the newest exchange
	running map[*stdioExchange]struct{} // not answered yet
	closing bool                        // the input is over: nothing new comes from the stream
	over    bool                        // nobody reads any more
	failure error                       // why it is over
	gone    []func()                    // of the stream
	dropped uint64                      // log messages

	wake chan struct{} // the writer has something to look at
	idle chan struct{} // the last running exchange was answered while closing
	dead chan struct{} // closed when over
}

// ServeStdio speaks MCP with one client over in and out, one message a line, until in ends; then it waits up to five
// seconds for running calls and returns nil. When ctx ends it returns ctx's error, when out fails that error.
//
// The stream is opened first, before a line is read; its Accept does nothing. A line that is no JSON-RPC message is
// answered with an error without id, and the next one read. in and out are not closed. A Read that does not end by
// itself (a terminal) is left behind, as is a blocked Write.
func ServeStdio(ctx context.Context, in io.Reader, out io.Writer, handler Handler, o Options, log *slog.Logger) error {
	s := &stdioServer{
		handler: handler, o: o, log: log, limit: orDefault(o.MaxMessageBytes, defaultMaxMessage),
		running: make(map[*stdioExchange]struct{}),
		wake:    make(chan struct{}, 1), idle: make(chan struct{}, 1), dead: make(chan struct{}),
	}
	s.queue.limit = 2*s.limit + stream.Slack
	s.queue.budget = o.Budget
	written := make(chan struct{})
	go func() {
		defer close(written)
		s.write(out)
	}()
	handler.Open(&EventStream{Origin: s.origin(), out: (*stdioStream)(s)})
	read := make(chan error, 1)
	go func() { read <- s.read(in) }()

	var err error
	select {
	case err = <-read:
		s.farewell(ctx)
	case <-ctx.Done():
		err = ctx.Err()
	case <-s.dead:
	}
	s.finish(nil)
	select {
	case <-written:
	case <-time.After(time.Second): // stuck in Write
	}
	return errors.Join(err, s.failure)
}

// stdioRemote is the Origin.Remote of a client on a pipe.
const stdioRemote = "stdio"

func (*stdioServer) origin() Origin { return Origin{Stdio: true, Remote: stdioRemote} }

// farewell waits until what was asked has been answered and written. Streams of subscriptions/listen are never
// answered: for them the client has gone.
func (s *stdioServer) farewell(ctx context.Context) {
	s.mu.Lock()
	s.closing = true
	var gone []func()
	for x := range s.running {
		if x.Frame.M == protocol.MethodSubscriptionsListen && x.Frame.Kind == protocol.KindRequest {
			gone = append(gone, x.leave()...)
			delete(s.running, x)
		}
	}
	s.tellIdle()
	s.mu.Unlock()
	for _, f := range gone {
		f()
	}
	timeout := time.NewTimer(stdioFarewell)
	defer timeout.Stop()
	select {
	case <-s.idle:
	case <-timeout.C:
	case <-ctx.Done():
	case <-s.dead:
	}
}

// tellIdle tells farewell that all is answered and written. The caller has the lock.
func (s *stdioServer) tellIdle() {
	if s.closing && len(s.running) == 0 && s.queue.empty() {
		select {
		case s.idle <- struct{}{}:
		default:
		}
	}
}

// finish ends it once: whoever wanted to know that the client is gone is told.
func (s *stdioServer) finish(failure error) {
	s.mu.Lock()
	if s.over {
		s.mu.Unlock()
		return
	}
	s.over, s.failure = true, failure
	gone := s.gone
	s.gone = nil
	for x := range s.running {
		gone = append(gone, x.leave()...)
	}
	clear(s.running)
	s.queue.clear()
	close(s.dead)
	dropped := s.dropped
	s.mu.Unlock()
	if dropped > 0 {
		s.log.Info("the client read slowly", "dropped_logs", dropped)
	}
	for _, f := range gone {
		f()
	}
}

// read takes lines until in ends.
func (s *stdioServer) read(in io.Reader) error {
	r := bufio.NewReaderSize(in, bodyFirst)
	for {
		line, why, id, err := s.line(r)
		switch {
		case why != refusedNothing:
			s.say(protocol.Message{Frame: refusalFaults[why].AppendTo(nil, orNull(id, protocol.EraLegacy), protocol.EraLegacy)})
		case len(bytes.TrimSpace(line.bytes)) > 0:
			s.Take(line)
		default:
			line.release()
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read stdin: %w", err)
		}
	}
}

// lineEnds is how many bytes of both ends of a line that is not taken are searched for its id.
const lineEnds = 4 << 10

// line reads one line into memory of its own, which grows as bytes come. A line that is too long, or for which there
// is no budget, is read to its end and forgotten, but for its id if it was a request: nobody shall wait for its answer.
func (s *stdioServer) line(r *bufio.Reader) (b body, why refused, id []byte, err error) {
	b.budget = s.o.Budget
	var head, tail []byte
	for {
		part, err := r.ReadSlice('\n')
		if why == refusedNothing {
			if why = s.Add(&b, part); why != refusedNothing {
				head = appendHead(appendHead(nil, b.bytes), part)
				b.release()
				b.bytes = nil
			}
		}
		if why != refusedNothing {
			tail = append(tail, part...)
			tail = append(tail[:0], tail[max(0, len(tail)-lineEnds):]...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if why != refusedNothing {
			return body{}, why, protocol.BrokenRequestID(head, tail), err
		}
		if b.bytes = bytes.TrimRight(b.bytes, "\r\n"); len(b.bytes) > s.limit { // by a byte or two
			id = bytes.Clone(protocol.BrokenRequestID(b.bytes, b.bytes))
			b.release()
			return body{}, refusedSize, id, err
		}
		return b, refusedNothing, nil, err
	}
}

// appendHead appends what still belongs to the beginning of a line.
func appendHead(head, part []byte) []byte {
	return append(head, part[:min(len(part), lineEnds-len(head))]...)
}

func (s *stdioServer) Add(b *body, part []byte) refused {
	size := len(b.bytes) + len(part)
	if size > s.limit+2 { // the line's end does not count
		return refusedSize
	}
	if size > cap(b.bytes) {
		room := size
		if len(b.bytes) > 0 {
			room = min(max(size, 2*cap(b.bytes)), s.limit+2)
		}
		if !b.grow(room) {
			return refusedBudget
		}
	}
	b.bytes = append(b.bytes, part...)
	return refusedNothing
}

// Take gives one line to the Handler.
func (s *stdioServer) Take(line body) {
	x := &stdioExchange{s: s, body: line}
	x.Origin, x.Began, x.port = s.origin(), time.Now(), x
	if answer, _ := x.parse(line.bytes); answer != nil {
		line.release()
		s.say(protocol.Message{Frame: answer})
		return
	}
	if answer := s.admit(x); answer != nil {
		line.release()
		s.say(protocol.Message{Frame: answer})
		return
	}
	s.mu.Lock()
	if s.over {
		s.mu.Unlock()
		line.release()
		return
	}
	s.last++
	x.number = s.last
	s.running[x] = struct{}{}
	s.mu.Unlock()
	s.post(x)
}

// post survives a Handler that panics, as the HTTP server does.
func (s *stdioServer) post(x *stdioExchange) {
	defer func() {
		if cause := recover(); cause != nil {
			s.log.Error("stdio handler panicked", "panic", fmt.Sprint(cause))
			x.refuse(http.StatusInternalServerError, refusalBodies[refusedInternal], 0)
		}
	}()
	s.handler.Post(&x.Exchange)
}

// say queues something of the transport's own.
func (s *stdioServer) say(msg protocol.Message) {
	s.mu.Lock()
	s.put(msg, WeightAnswer, outboxKey{})
	s.mu.Unlock()
}

// put queues a message; false when it is over. The caller has the lock.
func (s *stdioServer) put(msg protocol.Message, weight Weight, key outboxKey) bool {
	if s.over {
		return false
	}
	dropped, lost := s.queue.push(msg, weight, key)
	s.dropped += uint64(dropped)
	if lost {
		go s.finish(errStdoutStuck)
		return false
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
	return true
}

// write is the only goroutine that writes to out. A pipe that knows deadlines has WriteTimeout for each batch.
func (s *stdioServer) write(out io.Writer) {
	timeout := orDefault(s.o.WriteTimeout, defaultWriteTimeout)
	deadline, _ := out.(interface{ SetWriteDeadline(time.Time) error })
	var buffer []byte
	for {
		s.mu.Lock()
		buffer = appendLines(buffer[:0], &s.queue)
		if len(buffer) == 0 {
			s.tellIdle()
		}
		s.mu.Unlock()
		if len(buffer) == 0 {
			select {
			case <-s.wake:
				continue
			case <-s.dead:
				return
			}
		}
		if deadline != nil {
			_ = deadline.SetWriteDeadline(time.Now().Add(timeout)) // fails on files; then there is none
		}
		if _, err := out.Write(buffer); err != nil {
			s.finish(fmt.Errorf("write stdout: %w", err))
			return
		}
		if cap(buffer) > streamKept {
			buffer = nil
		}
	}
}
