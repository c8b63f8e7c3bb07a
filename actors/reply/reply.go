package reply

import (
	"goblin-actor/actors/kernel"
	"goblin-actor/internal/status"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/rawjson"
)

// What actors towards clients have done to an exchange.
type (
	// Answer is the final answer.
	Answer struct {
		X *downstream.Exchange
		protocol.Message
	}
	// AnswerPieces is the final answer where it is large, in pieces.
	AnswerPieces struct {
		X       *downstream.Exchange
		Pieces  [][]byte
		Newline bool
		Memory  *protocol.Memory // what they lie in, if nobody else reads it; else nil
	}
	// Notify writes a message ahead of the answer.
	Notify struct {
		X *downstream.Exchange
		protocol.Message
		Weight downstream.Weight
		Key    string // of a message that a newer one replaces while it waits; "" = none replaces it
	}
	// Accept says that a notification or a response has been taken.
	Accept struct{ X *downstream.Exchange }
	// Refuse answers with a fault of ours, and the HTTP status it has in the modern era.
	Refuse struct {
		X     *downstream.Exchange
		Fault *protocol.Fault
	}
	// AnswerFault is the final answer to a client with a session where the fault says only when it is written what it says (Fault.Late).
	AnswerFault struct {
		X     *downstream.Exchange
		Fault *protocol.Fault
	}
	// Watch has the actor told Departed when the client leaves before its answer.
	Watch struct {
		X   *downstream.Exchange
		Seq uint64
	}
)

// Departed tells an actor that the client of an exchange has left.
type Departed struct {
	Seq uint64
	X   *downstream.Exchange
}

// Class is Urgent: its call must not go on for nobody.
func (Departed) Class() kernel.Class { return kernel.Urgent }

// Perform carries out the effects that write to an exchange.
func Perform(m *status.Metrics, act any) {
	switch a := act.(type) {
	case Answer:
		m.Bytes(status.Clients, status.Out, len(a.Frame))
		a.X.Answer(a.Message)
	case AnswerPieces:
		for _, piece := range a.Pieces {
			m.Bytes(status.Clients, status.Out, len(piece))
		}
		a.X.AnswerPieces(a.Pieces, a.Newline, a.Memory)
	case Notify:
		m.Bytes(status.Clients, status.Out, len(a.Frame))
		a.X.Notify(a.Message, a.Weight, a.Key)
	case AnswerFault:
		Perform(m, Answer{a.X, protocol.Message{Frame: a.Fault.AppendTo(nil, a.X.Frame.IDBytes(), protocol.EraLegacy)}})
	case Accept:
		a.X.Accept()
	}
}

// LargeFrame is from how many bytes on a frame is not copied for its edits, but written in pieces.
const LargeFrame = 16 << 10

// AnswerEdited is the answer that a server's frame becomes. memory is the frame's if the exchange is the last to have it, else nil.
func AnswerEdited(x *downstream.Exchange, frame *protocol.Frame, edits []rawjson.Edit, memory *protocol.Memory) kernel.Effect {
	if len(frame.Raw) < LargeFrame {
		return kernel.Act(Answer{x, protocol.Message{Frame: rawjson.AppendEdited(nil, frame.Raw, edits...), Newline: frame.Newline}})
	}
	return kernel.Act(AnswerPieces{x, rawjson.Pieces(frame.Raw, edits...), frame.Newline, memory})
}
