package downstream

import "goblin-actor/protocol"

// noRoom is the answer to a request whose answer found no room; false when the frame answers nothing.
func noRoom(frame []byte) ([]byte, bool) {
	var f protocol.Frame
	if f.Parse(frame) != nil || f.Kind != protocol.KindResult && f.Kind != protocol.KindError {
		return frame, false
	}
	return noRoomFor(f.IDBytes()), true
}

func noRoomFor(id []byte) []byte {
	fault := protocol.Fault{Name: protocol.Overloaded, Message: "the request was carried out, but there is no room for its answer: " +
		"too much waits that the client has not read (limits.maxBufferedBytes)"}
	return fault.AppendTo(nil, id, protocol.EraLegacy)
}
