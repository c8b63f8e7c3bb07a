package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream"
	"goblin-actor/protocol/upstream/remote"
)

const (
	bridgeMaxOut  = 16 << 20        // bytes buffered for the client; beyond that, the bridge stops reading from the gateway
	bridgeGrace   = 3 * time.Second // time limit for the last messages to the client and for closing the links
	bridgeMaxLine = 256 << 20       // maximum size of a message in either direction, in bytes
)

// Bridge connects a client on in and out, with one message per line, to the running gateway at address (see
// EndpointOf). If the gateway restarts, Bridge repeats the client's initialize, restores the log level and
// subscriptions, and notifies the client that every list may have changed. Requests that the old gateway may have
// executed are answered with BACKEND_DISCONNECTED; others wait up to 20 s for the restarted gateway. key is the API
// key, or "". Messages pass unchanged in both directions, except that the client's batches are split, and that a request of
// the gateway gets a new id if the client still has one with the same id.
//
// The client's first request selects the protocol, with or without sessions. If it is server/discover, a later
// initialize may select the protocol again. A client of MCP 2026-07-28 has no session. Its subscriptions/listen streams
// are reopened after a restart.
//
// Bridge blocks until the client's input ends (running calls then have five seconds), ctx ends, writing to out fails,
// or a restarted gateway negotiates a different protocol version. It returns nil in the first case, otherwise the reason. It
// closes neither `in` nor out, and does not wait for a blocked Read.
func Bridge(ctx context.Context, address, project, key string, in io.Reader, out io.Writer, log *slog.Logger) error {
	u, err := EndpointOf(address, project)
	if err != nil {
		return err
	}
	return newBridge(log, func(sink upstream.Sink) upstream.Link {
		return remote.OpenHTTP(remote.Options{URL: u.String(), Headers: keyHeader(key), MaxMessageBytes: bridgeMaxLine}, sink)
	}).run(ctx, in, out)
}

// bridgeLogic decides what a bridge does: bridgeState for clients that use initialize, modernState for others.
type bridgeLogic interface {
	at(now time.Time)            // sets the time of the next step
	client(f protocol.Frame)     // handles a message of the client
	link(uint64, upstream.Event) // handles an event of the link with that number
	tick()                       // handles timers that are due
	end()                        // handles the end of the client's input
	tell(frame []byte)           // sends a message to the client
	next() time.Time             // when tick is due; zero for never
	full() bool                  // reports whether to stop reading from the client
	effects() []any              // returns the effects of the steps since the last call
	standing() (phase bridgePhase, version, why string)
}

// bridge executes the decisions of its logic. One goroutine owns the state and calls the links, one reads lines, and
// one writes them. They, and the goroutines of the links, communicate over channels.
type bridge struct {
	log   *slog.Logger
	open  func(upstream.Sink) upstream.Link
	state bridgeLogic
	links map[uint64]upstream.Link
	gens  uint64 // number of links opened by earlier logics

	lines  chan bridgeLine  // from the client
	events chan bridgeEvent // from links
	write  chan []byte      // to the client
	done   chan struct{}    // closed when the channels are no longer received from
	stuck  chan error       // capacity 1: why writing to the client failed
	ending sync.WaitGroup   // links that have not sent Closed

	waiting [][]byte // frames to write
	size    int      // total bytes in waiting
}

// bridgeLine is one line of the client: a message, a parse error, or the end of the input.
type bridgeLine struct {
	frame protocol.Frame
	err   error
	end   bool
}

type bridgeEvent struct {
	gen   uint64
	event upstream.Event
}

func newBridge(log *slog.Logger, open func(upstream.Sink) upstream.Link) *bridge {
	return &bridge{
		log: log, open: open, state: newBridgeState(), links: map[uint64]upstream.Link{},
		lines: make(chan bridgeLine), events: make(chan bridgeEvent), write: make(chan []byte),
		done: make(chan struct{}), stuck: make(chan error, 1),
	}
}

func (b *bridge) run(ctx context.Context, in io.Reader, out io.Writer) error {
	written := make(chan struct{})
	go b.read(in)
	go func() {
		defer close(written)
		b.writeLines(out)
	}()
	over, err := false, error(nil)
	for !over {
		over, err = b.step(ctx)
	}
	for _, l := range b.links {
		l.Close(bridgeGrace)
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), bridgeGrace)
	defer cancel()
	b.flush(last, written)
	close(b.done)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		b.ending.Wait()
	}()
	select {
	case <-ended:
	case <-last.Done():
	}
	return err
}

// step waits for one event and executes its effects.
func (b *bridge) step(ctx context.Context) (over bool, err error) {
	s := b.state
	var wake <-chan time.Time
	if at := s.next(); !at.IsZero() {
		timer := time.NewTimer(time.Until(at))
		defer timer.Stop()
		wake = timer.C
	}
	lines, events, write, first := b.lines, b.events, b.write, []byte(nil)
	if s.full() {
		lines = nil
	}
	if b.size > bridgeMaxOut {
		events = nil
	}
	if len(b.waiting) > 0 {
		first = b.waiting[0]
	} else {
		write = nil
	}
	was, _, _ := s.standing()
	select {
	case line := <-lines:
		b.choose(&line.frame)
		b.state.at(time.Now())
		b.line(line)
	case e := <-events:
		s.at(time.Now())
		s.link(e.gen, e.event)
	case write <- first:
		b.waiting, b.size = b.waiting[1:], b.size-len(first)
		return false, nil
	case <-wake:
		s.at(time.Now())
		s.tick()
	case err := <-b.stuck:
		return true, fmt.Errorf("write to the client: %w", err)
	case <-ctx.Done():
		return true, context.Cause(ctx)
	}
	b.logPhase(was)
	return b.execute()
}

// choose selects the logic for f, if it is a request. Until initialize is sent, a request of MCP 2026-07-28 selects
// modernState. While no message is outstanding, initialize selects bridgeState again, for a client whose
// server/discover failed.
func (b *bridge) choose(f *protocol.Frame) {
	if f.Raw == nil || f.Kind != protocol.KindRequest {
		return
	}
	var p protocol.Params
	modern := p.Scan(f) == nil && protocol.EraOf(nil, f, &p) == protocol.EraModern
	switch s := b.state.(type) {
	case *bridgeState:
		if modern && s.phase == bridgeNew && len(s.links) == 0 {
			b.state = newModernState(b.gens)
		}
	case *modernState:
		if !modern && f.Method == protocol.MethodInitialize && s.idle() {
			b.gens = s.gen
			s.close()
			_, _ = b.execute()
			b.state = newBridgeState()
			b.state.(*bridgeState).gen = b.gens
		}
	}
}

// logPhase logs that the gateway is connected, or that the connection is lost.
func (b *bridge) logPhase(was bridgePhase) {
	switch is, version, why := b.state.standing(); {
	case is == was:
	case is == bridgeReady:
		b.log.Info("connected to the gateway", "protocol", version)
	case is == bridgeDown && was == bridgeReady:
		b.log.Warn("connection to the gateway lost, reconnecting", "err", why)
	}
}

func (b *bridge) line(l bridgeLine) {
	switch {
	case l.end:
		b.state.end()
	case l.err != nil:
		b.state.tell(protocol.AppendError(nil, []byte("null"), protocol.ErrorCode(l.err), l.err.Error(), nil))
	default:
		b.state.client(l.frame)
	}
}

// execute executes the effects of the logic.
func (b *bridge) execute() (over bool, err error) {
	for _, e := range b.state.effects() {
		switch e := e.(type) {
		case bridgeTell:
			b.waiting, b.size = append(b.waiting, e.frame), b.size+len(e.frame)
		case bridgeOpenUp:
			b.openLink(e.gen)
		case bridgeSend:
			b.links[e.gen].Send(e.o)
		case bridgeSpeak:
			b.links[e.gen].SetVersion(e.version)
		case bridgeListen:
			b.links[e.gen].Listen()
		case bridgeCancel:
			b.links[e.gen].Cancel(e.ticket)
		case bridgeDrop:
			b.links[e.gen].Close(bridgeGrace)
			delete(b.links, e.gen)
		case bridgeEnd:
			return true, e.err
		}
	}
	return false, nil
}

// openLink opens a link whose events have number gen.
func (b *bridge) openLink(gen uint64) {
	b.ending.Add(1)
	b.links[gen] = b.open(func(ctx context.Context, e upstream.Event) error {
		if _, closed := e.(upstream.Closed); closed {
			defer b.ending.Done()
		}
		select {
		case b.events <- bridgeEvent{gen, e}:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-b.done:
			return errBridgeOver
		}
	})
}

// errBridgeOver is returned to links after the bridge has ended.
var errBridgeOver = errors.New("the bridge has ended")

// read reads the client's lines, and splits batches (MCP 2025-03-26). A read error or a line longer than bridgeMaxLine
// counts as the end of the input.
func (b *bridge) read(in io.Reader) {
	scanner := bufio.NewScanner(in)
	scanner.Buffer(make([]byte, 0, 64<<10), bridgeMaxLine)
	for scanner.Scan() {
		raw := append([]byte(nil), scanner.Bytes()...)
		var f protocol.Frame
		var err error
		switch {
		case len(raw) == 0:
			continue
		case protocol.IsBatch(raw):
			err = protocol.ParseBatch(raw, func(f *protocol.Frame) error {
				b.hand(bridgeLine{frame: *f})
				return nil
			})
		default:
			if err = f.Parse(raw); err == nil {
				b.hand(bridgeLine{frame: f})
			}
		}
		if err != nil {
			b.hand(bridgeLine{err: err})
		}
	}
	if err := scanner.Err(); err != nil {
		b.log.Warn("cannot read from the client", "err", err)
	}
	b.hand(bridgeLine{end: true})
}

func (b *bridge) hand(l bridgeLine) {
	select {
	case b.lines <- l:
	case <-b.done:
	}
}

// writeLines writes frames to the client until b.write is closed or writing fails. It reports a failure on b.stuck.
func (b *bridge) writeLines(out io.Writer) {
	var line []byte
	for frame := range b.write {
		line = protocol.AppendLine(line[:0], protocol.Message{Frame: frame, Newline: true})
		if _, err := out.Write(line); err != nil {
			b.stuck <- err
			return
		}
		if cap(line) > 1<<20 {
			line = nil
		}
	}
}

// flush writes the waiting frames to the client until ctx ends.
func (b *bridge) flush(ctx context.Context, written <-chan struct{}) {
	for _, frame := range b.waiting {
		select {
		case b.write <- frame:
		case <-written: // the writer has stopped
		case <-ctx.Done():
		}
	}
	close(b.write)
	select {
	case <-written:
	case <-ctx.Done():
	}
}
