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

// lines is a link over a pair of pipes: one message a line. MCP 2025-11-25, basic/transports, stdio.
// Two goroutines, one that reads and one that writes, end with the pipes.
type lines struct {
	r    io.ReadCloser
	w    io.WriteCloser
	sink upstream.Sink

	mu     sync.Mutex
	queue  []upstream.Outgoing
	more   chan struct{} // capacity 1: there is something to write, or the end
	closed bool          // Close was called or reading has ended: nothing more is written
	err    error         // why, when nobody asked for it
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

// Close ends the link after what was sent has been written; a peer that reads nothing for grace loses the rest.
func (l *lines) Close(grace time.Duration) {
	l.stop(nil)
	time.AfterFunc(grace, func() {
		l.w.Close()
		l.r.Close()
	})
}

// stop marks the end; the first reason counts.
func (l *lines) stop(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.closed, l.err = true, err
	}
	l.wake()
}

// wake makes the writer look; the caller holds mu.
func (l *lines) wake() {
	select {
	case l.more <- struct{}{}:
	default:
	}
}

// write writes what was sent until the end, then tells of the rest that it was not sent.
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

// read tells of every line until the end of the pipe, which nobody asked for if it comes first.
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
		return errors.New("the gateway wrote a line that is too long")
	}
	if in.Err() != nil {
		return in.Err()
	}
	return io.EOF
}
