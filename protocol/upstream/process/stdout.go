package process

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"

	"goblin-actor/protocol"
	"goblin-actor/protocol/stream"
	"goblin-actor/protocol/upstream"
)

const (
	stderrBytes = 4 << 10   // maximum length of a reported line of stderr; the rest is dropped
	largeLine   = 128 << 10 // a process that prints a line of this size gets a wider pipe for further ones
)

// readStdout reports Opened and then the messages of the process, until the pipe ends or, after the process has exited,
// its read deadline passes. While the sink blocks, it does not read. The pipe then fills, which blocks the process.
func (p *link) readStdout(child *child) {
	defer p.streams.Done()
	err := p.report(upstream.Opened{PID: child.pid})
	close(p.opened)
	if err != nil {
		return
	}
	r := stdoutReader{link: p, pipe: child.stdout, lines: stream.Lines{R: child.stdout}, rope: stream.Rope{Max: p.o.MaxMessageBytes, Budget: p.o.Budget}}
	defer r.end()
	if err := r.run(); err == io.EOF {
		p.fail(errStdoutClosed)
	} else {
		p.fail(fmt.Errorf("read stdout: %w", err))
	}
}

// stdoutReader turns stdout into events.
type stdoutReader struct {
	link  *link
	pipe  *os.File // the pipe that lines reads; nil once widen was tried
	wide  bool     // the pipe was widened
	lines stream.Lines
	rope  stream.Rope // the pieces of a line that was read in parts
	begun bool        // a message was read, or a banner was skipped
}

func (r *stdoutReader) run() error {
	for {
		ended, err := r.next()
		if err != nil {
			if r.rope.N > 0 { // the last line may lack a newline
				_ = r.gathered()
			}
			return err
		}
		if !ended {
			continue
		}
		if err := r.gathered(); err != nil {
			return err
		}
	}
}

func (r *stdoutReader) end() {
	if r.wide {
		narrowed()
	}
}

// next reads a piece of a line into the rope. ended means that the line is complete. A line that was read in one piece
// is reported directly.
func (r *stdoutReader) next() (ended bool, err error) {
	if r.rope.N > 0 {
		if r.rope.N >= largeLine && r.pipe != nil {
			r.wide, r.pipe = widen(r.pipe), nil
		}
		return r.lines.Rest(&r.rope)
	}
	piece, ended, err := r.lines.Next()
	if err != nil {
		return false, err
	}
	if ended && len(piece) <= r.rope.Max {
		return false, r.whole(piece)
	}
	r.rope.Add(piece)
	return ended, nil
}

// whole reports a line that is in the read buffer.
func (r *stdoutReader) whole(piece []byte) error {
	piece = protocol.Trim(piece)
	if len(piece) == 0 {
		return nil
	}
	if !upstream.LooksJSON(piece) {
		if at := r.afterBanner(piece); at > 0 {
			return r.behindBanner(bytes.Clone(piece), at, nil)
		}
		return r.link.report(upstream.NoiseOf(piece, upstream.ErrNotJSON))
	}
	return r.message(append(make([]byte, 0, len(piece)), piece...), nil)
}

// messageStart is the start of nearly every JSON-RPC message.
var messageStart = []byte(`{"jsonrpc"`)

// afterBanner returns the offset of a message in a line that starts with other text, or -1 if there is none. Some
// servers print a banner without a newline before their first message. Later lines of a connection are not searched.
func (r *stdoutReader) afterBanner(line []byte) int {
	if r.begun {
		return -1
	}
	return bytes.Index(line, messageStart)
}

// behindBanner reports the banner as noise, and then the message that starts at the offset. It owns line. memory is
// the memory that contains it, or nil.
func (r *stdoutReader) behindBanner(line []byte, at int, memory *protocol.Memory) error {
	r.begun = true
	if err := r.link.report(upstream.NoiseOf(line[:at], upstream.ErrNotJSON)); err != nil {
		return err
	}
	return r.message(line[at:], memory)
}

// gathered reports a line that was read in pieces.
func (r *stdoutReader) gathered() error {
	defer r.rope.Reset()
	if r.rope.Err != nil {
		return r.link.report(upstream.NoiseOfEnds(r.rope.Small, r.rope.End, r.rope.Err))
	}
	first := protocol.Trim(r.rope.Small)
	stray := len(first) > 0 && !upstream.LooksJSON(first)
	if stray && r.afterBanner(first) < 0 {
		return r.link.report(upstream.NoiseOf(first, upstream.ErrNotJSON))
	}
	raw, memory := r.rope.Take()
	line := protocol.Trim(raw)
	switch {
	case len(line) == 0:
		return nil
	case stray:
		return r.behindBanner(line, r.afterBanner(line), memory)
	}
	return r.message(line, memory)
}

// message parses a line, which it owns, and reports its messages. memory is the memory that contains it, or nil.
func (r *stdoutReader) message(line []byte, memory *protocol.Memory) error {
	var sinkErr error
	alone := !protocol.IsBatch(line)
	err := upstream.Parse(line, func(f *protocol.Frame) error {
		if alone {
			f.Memory = memory
		}
		sinkErr = r.link.report(upstream.Received{Frame: *f})
		return sinkErr
	})
	if sinkErr != nil {
		return sinkErr
	}
	if err != nil {
		return r.link.report(upstream.NoiseOf(line, err))
	}
	r.begun = true
	return nil
}

// readStderr reports the lines that the process writes to stderr.
func (p *link) readStderr(stderr *os.File) {
	defer p.streams.Done()
	<-p.opened
	lines := stream.Lines{R: stderr}
	var line []byte
	for {
		piece, ended, err := lines.Next()
		if err != nil {
			if len(line) > 0 {
				_ = p.reportStderr(line)
			}
			return
		}
		line = append(line, piece[:min(len(piece), stderrBytes-len(line))]...)
		if !ended {
			continue
		}
		if p.reportStderr(line) != nil {
			return
		}
		line = line[:0]
	}
}

func (p *link) reportStderr(line []byte) error {
	text := strings.ToValidUTF8(strings.TrimRight(string(line), "\r"), "\uFFFD")
	p.last.Add(text)
	return p.report(upstream.Stderr{Line: text})
}
