package downstream

import "goblin-actor/protocol"

// sizeOf returns the number of bytes in all parts.
func sizeOf(parts []protocol.Message) int {
	n := 0
	for _, p := range parts {
		n += len(p.Frame)
	}
	return n
}

// appendParts appends each part as an SSE event.
func appendParts(dst []byte, parts []protocol.Message) []byte {
	for _, p := range parts {
		dst = protocol.AppendSSE(dst, "message", "", p)
	}
	return dst
}

// joinParts returns a JSON array of the parts.
func joinParts(parts []protocol.Message) protocol.Message {
	newline := false
	array := append(make([]byte, 0, sizeOf(parts)+len(parts)+1), '[')
	for i, p := range parts {
		if i > 0 {
			array = append(array, ',')
		}
		array = append(array, p.Frame...)
		newline = newline || p.Newline
	}
	return protocol.Message{Frame: append(array, ']'), Newline: newline}
}
