package session

import (
	"goblin-actor/actors/kernel"
	"goblin-actor/internal/status"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// What actors towards clients have done to an exchange.
type (
	// answer is the final answer.
	answer struct {
		x       *downstream.Exchange
		frame   []byte
		newline bool
	}
	// answerPieces is the same for a large answer, in pieces.
	answerPieces struct {
		x       *downstream.Exchange
		pieces  [][]byte
		newline bool
		memory  *protocol.Memory // what they lie in, if nobody else reads it; else nil
	}
	// forward is a message ahead of the answer.
	forward struct {
		x       *downstream.Exchange
		frame   []byte
		newline bool
		weight  downstream.Weight
		key     string
	}
	// accept says that a notification or a response has been taken.
	accept struct{ x *downstream.Exchange }
	// deny answers with a fault of ours, and the HTTP status it has in the modern era.
	deny struct {
		x     *downstream.Exchange
		fault *protocol.Fault
	}
	// watch has the actor told departed when the client leaves before its answer.
	watch struct {
		x   *downstream.Exchange
		seq uint64
	}
)

// departed tells an actor that the client of an exchange has left.
type departed struct {
	seq uint64
	x   *downstream.Exchange
}

// Class: its call must not go on for nobody.
func (departed) Class() kernel.Class { return kernel.Urgent }

// reply carries out the effects that write to an exchange; session and desk have the same.
func reply(m *status.Metrics, act any) {
	switch a := act.(type) {
	case answer:
		m.Bytes(status.Clients, status.Out, len(a.frame))
		a.x.Answer(a.frame, a.newline)
	case answerPieces:
		for _, piece := range a.pieces {
			m.Bytes(status.Clients, status.Out, len(piece))
		}
		a.x.AnswerPieces(a.pieces, a.newline, a.memory)
	case forward:
		m.Bytes(status.Clients, status.Out, len(a.frame))
		a.x.Notify(a.frame, a.newline, a.weight, a.key)
	case accept:
		a.x.Accept()
	}
}

// largeFrame is from how many bytes on a frame is not copied for its edits, but written in pieces.
const largeFrame = 16 << 10

// edited is the answer that a server's frame becomes. memory is the frame's if the exchange is the last to have it, else nil.
func edited(x *downstream.Exchange, frame *protocol.Frame, edits []protocol.Edit, memory *protocol.Memory) kernel.Effect {
	if len(frame.Raw) < largeFrame {
		return kernel.Act(answer{x, protocol.AppendEdited(nil, frame.Raw, edits...), frame.Newline})
	}
	return kernel.Act(answerPieces{x, protocol.Pieces(frame.Raw, edits...), frame.Newline, memory})
}
