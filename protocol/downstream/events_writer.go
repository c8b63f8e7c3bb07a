package downstream

import (
	"sync"

	"goblin-actor/protocol"
)

const (
	// streamBatch is the number of bytes after which a write of waiting messages takes no further message.
	streamBatch = 32 << 10
	// streamKept is the largest scratch buffer that is reused.
	streamKept = 256 << 10
)

// streamComment is an SSE comment that keeps a stream alive. Readers skip it (WHATWG HTML, 9.2.6).
const streamComment = ":\n\n"

// streamScratch holds buffers that collect waiting messages for one write.
var streamScratch = sync.Pool{New: func() any { b := make([]byte, 0, 4<<10); return &b }}

func freeScratch(b *[]byte) {
	if cap(*b) <= streamKept {
		*b = (*b)[:0]
		streamScratch.Put(b)
	}
}

// appendEvents appends waiting messages as SSE events, until len(dst) >= most. The caller must hold the queue's lock.
func appendEvents(dst []byte, q *outboxQueue, most int) []byte {
	for len(dst) < most {
		item := q.pop()
		if item == nil {
			break
		}
		dst = protocol.AppendSSE(dst, "message", "", item.Message)
	}
	return dst
}

// appendLines appends waiting messages as lines for stdio, until dst has streamBatch bytes. The caller must hold the
// queue's lock.
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
