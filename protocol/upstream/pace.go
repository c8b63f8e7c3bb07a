package upstream

import (
	"context"
	"sync"
	"time"

	"goblin-actor/protocol"
)

// Limits for unsolicited messages of a server. Beyond them, the goroutines that read from the server pause.
const (
	paceMessages = 64                     // messages between two checks of the clock
	paceBytes    = 256 << 10              // bytes between two checks of the clock
	paceFast     = 64 * time.Millisecond  // a server that takes longer for paceMessages or paceBytes is not slowed down
	paceLeast    = 200 * time.Microsecond // shortest pause
	paceMost     = 10 * time.Millisecond  // longest pause
	paceLate     = 300 * time.Microsecond // a pause that ends this late shows that the processors are busy
)

// pace slows down a server that floods the gateway with unsolicited messages: progress, log lines, changes, or lines
// that are not messages. Its readers pause, which stalls its pipe or connection, so that it cannot occupy all
// processors and delay other work. Pauses grow while they end late.
type pace struct {
	mu       sync.Mutex
	began    time.Time
	messages int
	bytes    int
	pause    time.Duration
}

// Paced returns a sink for one link. It passes each event to sink and then makes the reader pause if the server floods
// the gateway.
func Paced(sink Sink) Sink {
	var p pace
	return func(ctx context.Context, e Event) error {
		err := sink(ctx, e)
		if size := unsolicited(e); size > 0 && err == nil {
			p.Wait(size)
		}
		return err
	}
}

// unsolicited returns the size of a message that the server sent on its own, or 0 for other events.
func unsolicited(e Event) int {
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

// due counts a message and returns how long its reader must pause.
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

// woke adapts the next pause to how late the last one ended.
func (p *pace) woke(late time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if late > paceLate {
		p.pause = min(2*p.pause, paceMost)
		return
	}
	p.pause /= 2
}
