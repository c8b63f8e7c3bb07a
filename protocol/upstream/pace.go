package upstream

import (
	"context"
	"sync"
	"time"

	"goblin-actor/protocol"
)

// Bounds of what a server may say unasked before it has to wait.
const (
	paceMessages = 64                     // told, and then the reader looks at the clock
	paceBytes    = 256 << 10              // likewise
	paceFast     = 64 * time.Millisecond  // a server that took longer for as much is not held back
	paceLeast    = 200 * time.Microsecond // pause of one that was faster
	paceMost     = 10 * time.Millisecond
	paceLate     = 300 * time.Microsecond // a pause that ends so much later says that others wait for a processor, too
)

// pace holds back a server that says more than anybody can use: progress, log lines, changes, or what is no message. Its
// readers pause, and with them its pipe or connection; so all the processors are not busy for it all the time, and who
// has work for them or bytes on a connection is not found late. Pauses grow while they end late.
type pace struct {
	mu       sync.Mutex
	began    time.Time
	messages int
	bytes    int
	pause    time.Duration
}

// Paced returns a sink that makes the readers of one link wait.
func Paced(sink Sink) Sink {
	var p pace
	return func(ctx context.Context, e Event) error {
		err := sink(ctx, e)
		if size := unasked(e); size > 0 && err == nil {
			p.Wait(size)
		}
		return err
	}
}

// unasked returns the size of what a server says of its own accord, 0 = it is something else.
func unasked(e Event) int {
	switch e := e.(type) {
	case Received:
		if e.Frame.Kind == protocol.KindNotification {
			return len(e.Frame.Raw)
		}
	case Noise:
		return max(1, len(e.Line))
	case Stderr:
		return max(1, len(e.Line))
	}
	return 0
}

func (p *pace) Wait(size int) {
	pause := p.due(time.Now(), size)
	if pause == 0 {
		return
	}
	began := time.Now()
	time.Sleep(pause)
	p.woke(time.Since(began) - pause)
}

// due counts a message and returns how long its reader has to pause.
func (p *pace) due(now time.Time, size int) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.messages == 0 {
		p.began = now
	}
	p.messages++
	p.bytes += size
	if p.messages < paceMessages && p.bytes < paceBytes {
		return 0
	}
	p.messages, p.bytes = 0, 0
	if now.Sub(p.began) > paceFast {
		p.pause = 0
		return 0
	}
	p.pause = max(p.pause, paceLeast)
	return p.pause
}

// woke notes how late a pause ended.
func (p *pace) woke(late time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if late > paceLate {
		p.pause = min(2*p.pause, paceMost)
		return
	}
	p.pause /= 2
}
