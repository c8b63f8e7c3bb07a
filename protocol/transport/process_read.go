package transport

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"

	"goblin-actor/protocol"
)

const processStderrBytes = 4 << 10 // longest line of stderr told; the rest of it is dropped

// readStdout tells what the process says, until the pipe ends or its deadline after the exit. It tells Opened first.
// While the sink has no room nothing is read, and the pipe stalls the process.
func (p *processLink) readStdout(child *processChild) {
	defer p.streams.Done()
	err := p.tell(Opened{PID: child.pid})
	close(p.opened)
	if err != nil {
		return
	}
	r := processReader{link: p, lines: linkLines{r: child.stdout}, rope: linkRope{max: p.o.MaxMessageBytes, budget: p.o.Budget}}
	if err := r.run(); err == io.EOF {
		p.fail(errProcessStdout)
	} else {
		p.fail(fmt.Errorf("read stdout: %w", err))
	}
}

// processReader turns stdout into events.
type processReader struct {
	link  *processLink
	lines linkLines
	rope  linkRope // the pieces of a line that did not come at once
	begun bool     // a line was read
}

func (r *processReader) run() error {
	for {
		piece, ended, err := r.lines.next()
		if err != nil {
			if r.rope.n > 0 { // the last line may lack its end
				_ = r.gathered()
			}
			return err
		}
		if !r.begun {
			r.begun = true
			piece = bytes.TrimPrefix(piece, []byte("\xef\xbb\xbf"))
		}
		if ended && r.rope.n == 0 && len(piece) <= r.rope.max {
			if err := r.whole(piece); err != nil {
				return err
			}
			continue
		}
		r.rope.add(piece)
		if ended {
			if err := r.gathered(); err != nil {
				return err
			}
		}
	}
}

// whole tells a line that stands in the read buffer.
func (r *processReader) whole(piece []byte) error {
	piece = bytes.Trim(piece, linkBlank)
	if len(piece) == 0 {
		return nil
	}
	if !linkLooksJSON(piece) {
		return r.link.tell(linkNoise(piece, errLinkNotJSON))
	}
	return r.message(append(make([]byte, 0, len(piece)), piece...), nil)
}

// gathered tells a line that came in pieces.
func (r *processReader) gathered() error {
	defer r.rope.reset()
	if r.rope.err != nil {
		return r.link.tell(linkNoiseEnds(r.rope.small, r.rope.end, r.rope.err))
	}
	if first := bytes.TrimLeft(r.rope.small, linkBlank); len(first) > 0 && !linkLooksJSON(first) {
		return r.link.tell(linkNoise(first, errLinkNotJSON))
	}
	raw, memory := r.rope.take()
	line := bytes.Trim(raw, linkBlank)
	if len(line) == 0 {
		return nil
	}
	return r.message(line, memory)
}

// message parses a line we own and tells what is in it. memory is what it lies in, or nil.
func (r *processReader) message(line []byte, memory *protocol.Memory) error {
	var told error
	alone := !protocol.IsBatch(line)
	err := linkParse(line, func(f *protocol.Frame) error {
		if alone {
			f.Memory = memory
		}
		told = r.link.tell(Received{Frame: *f})
		return told
	})
	if told != nil {
		return told
	}
	if err != nil {
		return r.link.tell(linkNoise(line, err))
	}
	return nil
}

// readStderr tells what the process writes there, line by line.
func (p *processLink) readStderr(stderr *os.File) {
	defer p.streams.Done()
	<-p.opened
	lines := linkLines{r: stderr}
	var line []byte
	for {
		piece, ended, err := lines.next()
		if err != nil {
			if len(line) > 0 {
				_ = p.tellStderr(line)
			}
			return
		}
		line = append(line, piece[:min(len(piece), processStderrBytes-len(line))]...)
		if !ended {
			continue
		}
		if p.tellStderr(line) != nil {
			return
		}
		line = line[:0]
	}
}

func (p *processLink) tellStderr(line []byte) error {
	text := strings.ToValidUTF8(strings.TrimRight(string(line), "\r"), "\uFFFD")
	p.last.add(text)
	return p.tell(Stderr{Line: text})
}
