package reply

// Size returns the size in bytes of the answer that an effect writes; 0 = unknown, or none. The result ends reports whether
// the effect ends an exchange.
func Size(act any) (size int, ends bool) {
	switch a := act.(type) {
	case Answer:
		return len(a.Frame), true
	case AnswerPieces:
		for _, piece := range a.Pieces {
			size += len(piece)
		}
		return size, true
	case interface{ ReplySize() int }:
		return a.ReplySize(), true
	}
	return 0, false
}

// ReplySize returns 0: the size is known only when the error is written for its era.
func (Refuse) ReplySize() int { return 0 }

// ReplySize returns 0: the size is known only when the error is written.
func (AnswerFault) ReplySize() int { return 0 }

// ReplySize returns 0: nothing is written.
func (Accept) ReplySize() int { return 0 }
