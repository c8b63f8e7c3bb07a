package downstream

import "goblin-actor/protocol"

// noRoom returns the error that replaces an answer that does not fit in the budget. If the frame is not an answer, noRoom
// returns the frame and false.
func noRoom(frame []byte) ([]byte, bool) {
	var f protocol.Frame
	if f.Parse(frame) != nil || f.Kind != protocol.KindResult && f.Kind != protocol.KindError {
		return frame, false
	}
	return noRoomFor(f.IDBytes()), true
}

func noRoomFor(id []byte) []byte {
	fault := protocol.Fault{Name: protocol.Overloaded, Message: "the request was executed, but its result was dropped: " +
		"too many unread bytes are buffered for clients (limits.maxBufferedBytes)"}
	return fault.AppendTo(nil, id, protocol.EraLegacy)
}
