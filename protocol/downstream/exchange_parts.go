package downstream

import "goblin-actor/protocol"

// part is one message of an answer; a batch has several.
type part struct {
	frame   []byte
	newline bool // between tokens
}

func sizeOf(parts []part) int {
	n := 0
	for _, p := range parts {
		n += len(p.frame)
	}
	return n
}

// appendParts appends each as an event.
func appendParts(dst []byte, parts []part) []byte {
	for _, p := range parts {
		dst = protocol.AppendSSE(dst, "message", "", p.frame, p.newline)
	}
	return dst
}

// joinParts makes one array of them.
func joinParts(parts []part) (array []byte, newline bool) {
	array = append(make([]byte, 0, sizeOf(parts)+len(parts)+1), '[')
	for i, p := range parts {
		if i > 0 {
			array = append(array, ',')
		}
		array = append(array, p.frame...)
		newline = newline || p.newline
	}
	return append(array, ']'), newline
}
