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

// stdioGrace is how long running calls may continue after the client has closed stdin.
const stdioGrace = 5 * time.Second

// errStdoutStuck is returned by ServeStdio if the client stops reading and too many messages wait for it.
var errStdoutStuck = errors.New("the client does not read stdout")

// stdioServer serves one client on stdin and stdout (MCP 2025-11-25, basic/transports, stdio). All messages to the client
// pass through one queue and one writer, which preserves their order.
type stdioServer struct {
	handler Handler
	o       Options
	log     *slog.Logger
	limit   int // maximum bytes of a line

	mu      sync.Mutex
	queue   outboxQueue
	last    uint64                      // number of the newest exchange
	running map[*stdioExchange]struct{} // not answered yet
	closing bool                        // the input has ended
	over    bool                        // the server has ended
	failure error                       // the error that ended the server, or nil
	gone    []func()                    // callbacks of the stream's OnGone
	dropped uint64                      // number of dropped log and progress messages

	wake chan struct{} // wakes the writer
	idle chan struct{} // signals that the last exchange was answered while closing
	dead chan struct{} // closed when over
}

// ServeStdio serves one client over in and out, one message per line, until in ends. It then waits up to five seconds
// for running calls and returns nil. If ctx ends, it returns ctx.Err(). If reading from in or writing to out fails, it
// returns that error.
//
// ServeStdio opens the stream before it reads a line; accepting the stream has no effect. It answers a line that is not a
// JSON-RPC message with an error, whose id is null if the line's id cannot be read. It does not close in and out. A
// blocked Read or Write, for example of a terminal, is abandoned.
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
		s.awaitAnswers(ctx)
	case <-ctx.Done():
		err = ctx.Err()
	case <-s.dead:
	}
	s.finish(nil)
	select {
	case <-written:
	case <-time.After(time.Second): // Write blocks
	}
	return errors.Join(err, s.failure)
}

// stdioRemote is the Origin.Remote on stdio.
const stdioRemote = "stdio"

func (*stdioServer) origin() Origin { return Origin{Stdio: true, Remote: stdioRemote} }

// awaitAnswers waits until all requests are answered and the answers are written, but at most stdioGrace. It ends a
// subscriptions/listen request, which gets no answer, as if the client had left.
func (s *stdioServer) awaitAnswers(ctx context.Context) {
	s.mu.Lock()
	s.closing = true
	var gone []func()
	for x := range s.running {
		if x.Frame.Method == protocol.MethodSubscriptionsListen && x.Frame.Kind == protocol.KindRequest {
			gone = append(gone, x.leave()...)
			delete(s.running, x)
		}
	}
	s.signalIdle()
	s.mu.Unlock()
	for _, f := range gone {
		f()
	}
	timeout := time.NewTimer(stdioGrace)
	defer timeout.Stop()
	select {
	case <-s.idle:
	case <-timeout.C:
	case <-ctx.Done():
	case <-s.dead:
	}
}

// signalIdle wakes awaitAnswers if all requests are answered and the answers are written. The caller must hold mu.
func (s *stdioServer) signalIdle() {
	if s.closing && len(s.running) == 0 && s.queue.empty() {
		select {
		case s.idle <- struct{}{}:
		default:
		}
	}
}

// finish ends the server, once, and calls the callbacks of OnGone.
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
		s.log.Info("log and progress messages dropped: the client read too slowly", "dropped_logs", dropped)
	}
	for _, f := range gone {
		f()
	}
}

// read handles lines until in ends.
func (s *stdioServer) read(in io.Reader) error {
	r := bufio.NewReaderSize(in, bodyFirst)
	for {
		line, why, id, err := s.line(r)
		switch {
		case why != refusedNothing:
			s.send(protocol.Message{Frame: refusalFaults[why].AppendTo(nil, orNull(id, protocol.EraLegacy), protocol.EraLegacy)})
		case len(bytes.TrimSpace(line.bytes)) > 0:
			s.handleLine(line)
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

// lineEnds is how many bytes at each end of a refused line are searched for its id.
const lineEnds = 4 << 10

// line reads one line into new memory, which grows with the bytes received. It discards a line that is too long or does not
// fit in the budget. If that line is a request, it returns the id, so that the client gets a response.
func (s *stdioServer) line(r *bufio.Reader) (b body, why refused, id []byte, err error) {
	b.budget = s.o.Budget
	var head, tail []byte
	for {
		part, err := r.ReadSlice('\n')
		if why == refusedNothing {
			if why = s.add(&b, part); why != refusedNothing {
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
		if b.bytes = bytes.TrimRight(b.bytes, "\r\n"); len(b.bytes) > s.limit { // add allows two more bytes
			id = bytes.Clone(protocol.BrokenRequestID(b.bytes, b.bytes))
			b.release()
			return body{}, refusedSize, id, err
		}
		return b, refusedNothing, nil, err
	}
}

// appendHead appends part to head, up to lineEnds bytes.
func appendHead(head, part []byte) []byte {
	return append(head, part[:min(len(part), lineEnds-len(head))]...)
}

func (s *stdioServer) add(b *body, part []byte) refused {
	size := len(b.bytes) + len(part)
	if size > s.limit+2 { // the line ending does not count
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

// handleLine passes one line to the Handler, or answers it if it is invalid or not admitted.
func (s *stdioServer) handleLine(line body) {
	x := &stdioExchange{s: s, body: line}
	x.Origin, x.Began, x.port = s.origin(), time.Now(), x
	if answer, _ := x.parse(line.bytes); answer != nil {
		line.release()
		s.send(protocol.Message{Frame: answer})
		return
	}
	if answer := s.admit(x); answer != nil {
		line.release()
		s.send(protocol.Message{Frame: answer})
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

// post calls the Handler and recovers from its panics, as the HTTP server does.
func (s *stdioServer) post(x *stdioExchange) {
	defer func() {
		if cause := recover(); cause != nil {
			s.log.Error("stdio handler panicked", "panic", fmt.Sprint(cause))
			x.refuse(http.StatusInternalServerError, refusalBodies[refusedInternal], 0)
		}
	}()
	s.handler.Post(&x.Exchange)
}

// send queues a message of the transport itself.
func (s *stdioServer) send(msg protocol.Message) {
	s.mu.Lock()
	s.put(msg, WeightAnswer, outboxKey{})
	s.mu.Unlock()
}

// put queues a message. The caller must hold mu.
func (s *stdioServer) put(msg protocol.Message, weight Weight, key outboxKey) Queued {
	if s.over {
		return Queued{Over: true}
	}
	done, late := s.queue.push(msg, weight, key)
	s.dropped += uint64(done.Dropped)
	if late {
		go s.finish(errStdoutStuck)
		done.Over = true
		return done
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
	return done
}

// write writes queued messages to out until the server ends. If out supports deadlines, each write may take WriteTimeout.
func (s *stdioServer) write(out io.Writer) {
	timeout := orDefault(s.o.WriteTimeout, defaultWriteTimeout)
	deadline, _ := out.(interface{ SetWriteDeadline(time.Time) error })
	var buffer []byte
	for {
		s.mu.Lock()
		buffer = appendLines(buffer[:0], &s.queue)
		if len(buffer) == 0 {
			s.signalIdle()
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
			_ = deadline.SetWriteDeadline(time.Now().Add(timeout)) // fails for files, which need none
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
