package client

import (
	"bufio"
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"goblin-actor/protocol"
	"goblin-actor/protocol/upstream"
)

// lines is a link over a pair of pipes, with one message per line. MCP 2025-11-25, basic/transports, stdio. It has a
// reading and a writing goroutine, which end with the pipes.
type lines struct {
	r    io.ReadCloser
	w    io.WriteCloser
	sink upstream.Sink

	mu     sync.Mutex
	queue  []upstream.Outgoing
	more   chan struct{} // capacity 1: wakes the writer
	closed bool          // Close was called, reading has ended, or writing has failed
	err    error         // why the link ended; nil after Close
}

func openLines(r io.ReadCloser, w io.WriteCloser, sink upstream.Sink) *lines {
	l := &lines{r: r, w: w, sink: sink, more: make(chan struct{}, 1)}
	read := make(chan struct{})
	go func() {
		defer close(read)
		l.stop(l.read())
	}()
	go func() {
		l.write()
		w.Close()
		r.Close()
		<-read
		l.mu.Lock()
		err := l.err
		l.mu.Unlock()
		_ = l.sink(context.Background(), upstream.Closed{Err: err})
	}()
	return l
}

func (l *lines) Send(o upstream.Outgoing) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue = append(l.queue, o)
	l.wake()
}

func (*lines) Cancel(uint64)     {}
func (*lines) Listen()           {}
func (*lines) SetVersion(string) {}

// Close ends the link after writing the queued messages. If the peer does not read them within grace, they are lost.
func (l *lines) Close(grace time.Duration) {
	l.stop(nil)
	time.AfterFunc(grace, func() {
		l.w.Close()
		l.r.Close()
	})
}

// stop marks the link as closed. The first reason is kept.
func (l *lines) stop(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.closed, l.err = true, err
	}
	l.wake()
}

// wake wakes the writer. The caller must hold mu.
func (l *lines) wake() {
	select {
	case l.more <- struct{}{}:
	default:
	}
}

// write writes queued messages until the end, and reports the rest as not sent.
func (l *lines) write() {
	var line []byte
	failed := false
	for range l.more {
		l.mu.Lock()
		queue, closed := l.queue, l.closed
		l.queue = nil
		l.mu.Unlock()
		for _, o := range queue {
			line = protocol.AppendLine(line[:0], protocol.Message{Frame: o.Frame, Newline: o.Newline})
			var err error
			if failed {
				err = upstream.ErrClosed
			} else if _, err = l.w.Write(line); err != nil {
				failed = true
				l.stop(err)
			}
			if err != nil {
				_ = l.sink(context.Background(), upstream.NotSent{Ticket: o.Ticket, Err: err})
			} else {
				_ = l.sink(context.Background(), upstream.Written{Ticket: o.Ticket})
			}
		}
		if closed || failed {
			return
		}
	}
}

// read passes each line to the sink. It returns why reading ended.
func (l *lines) read() error {
	in := bufio.NewScanner(l.r)
	in.Buffer(make([]byte, 0, 64<<10), maxMessageBytes)
	for in.Scan() {
		if len(in.Bytes()) == 0 {
			continue
		}
		raw := append([]byte(nil), in.Bytes()...)
		var f protocol.Frame
		var e upstream.Event
		if err := f.Parse(raw); err != nil {
			e = upstream.Noise{Line: raw[:min(len(raw), 512)], Err: err}
		} else {
			e = upstream.Received{Frame: f}
		}
		if err := l.sink(context.Background(), e); err != nil {
			return err
		}
	}
	if errors.Is(in.Err(), bufio.ErrTooLong) {
		return errors.New("a message from the gateway is too long")
	}
	if in.Err() != nil {
		return in.Err()
	}
	return io.EOF
}
