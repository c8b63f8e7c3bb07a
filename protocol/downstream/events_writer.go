package downstream

import (
	"sync"

	"goblin-actor/protocol"
)

const (
	// streamBatch is how many bytes of waiting messages are put into one write.
	streamBatch = 32 << 10
	// streamKept is the largest scratch buffer that is kept for the next writer.
	streamKept = 256 << 10
)

// streamComment keeps a stream alive: a comment event, which every reader skips (WHATWG HTML, 9.2.6).
const streamComment = ":\n\n"

// streamScratch holds buffers in which waiting messages are put together for one write.
var streamScratch = sync.Pool{New: func() any { b := make([]byte, 0, 4<<10); return &b }}

func freeScratch(b *[]byte) {
	if cap(*b) <= streamKept {
		*b = (*b)[:0]
		streamScratch.Put(b)
	}
}

// appendEvents moves waiting messages into dst as SSE events until it is a batch or none waits. The caller has the queue's lock.
func appendEvents(dst []byte, q *outboxQueue) []byte {
	for len(dst) < streamBatch {
		item := q.pop()
		if item == nil {
			break
		}
		dst = protocol.AppendSSE(dst, "message", "", item.Message)
	}
	return dst
}

// appendLines does the same for stdio: one message a line.
func appendLines(dst []byte, q *outboxQueue) []byte {
	for len(dst) < streamBatch {
		item := q.pop()
		if item == nil {
			break
		}
		dst = protocol.AppendLine(dst, item.Message)
	}
	return dst
}
