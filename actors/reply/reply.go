package reply

import (
	"goblin-actor/actors/kernel"
	"goblin-actor/internal/status"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/rawjson"
)

// Effects on an exchange.
type (
	// Answer writes the answer.
	Answer struct {
		X *downstream.Exchange
		protocol.Message
	}
	// AnswerPieces writes a large answer in pieces.
	AnswerPieces struct {
		X       *downstream.Exchange
		Pieces  [][]byte
		Newline bool
		Memory  *protocol.Memory // holds the pieces if they have no other reader; else nil
	}
	// Notify writes a message before the answer.
	Notify struct {
		X *downstream.Exchange
		protocol.Message
		Weight downstream.Weight
		Key    string // a newer message with this key replaces the message while it waits; "" = none does
	}
	// Accept accepts a notification or a response.
	Accept struct{ X *downstream.Exchange }
	// Refuse answers a modern request with a gateway error and its HTTP status.
	Refuse struct {
		X     *downstream.Exchange
		Fault *protocol.Fault
	}
	// AnswerFault answers a legacy request with a gateway error whose text is created when it is written (Fault.Late).
	AnswerFault struct {
		X     *downstream.Exchange
		Fault *protocol.Fault
	}
	// Watch causes Departed to be sent to the actor if the client leaves before the answer.
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

// Class returns Urgent, because the call must not continue without a client.
func (Departed) Class() kernel.Class { return kernel.Urgent }

// Perform executes effects that write to an exchange. Refuse and Watch are left to the actor. It returns how many log and progress
// messages were dropped because the client reads too slowly.
func Perform(m *status.Metrics, act any) (dropped int) {
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
		return a.X.Notify(a.Message, a.Weight, a.Key).Dropped
	case AnswerFault:
		a.X.Report.Code = a.Fault.Code(protocol.EraLegacy)
		Perform(m, Answer{a.X, protocol.Message{Frame: a.Fault.AppendTo(nil, a.X.Frame.IDBytes(), protocol.EraLegacy)}})
	case Accept:
		a.X.Accept()
	}
	return 0
}

// LargeFrame is the size in bytes from which an edited frame is written in pieces instead of being copied.
const LargeFrame = 16 << 10

// AnswerEdited returns the effect that answers with an edited frame of a server. The parameter memory is the frame's memory
// if this exchange is the last to read it, else nil.
func AnswerEdited(x *downstream.Exchange, frame *protocol.Frame, edits []rawjson.Edit, memory *protocol.Memory) kernel.Effect {
	Report(x, frame)
	if len(frame.Raw) < LargeFrame {
		return kernel.Act(Answer{x, protocol.Message{Frame: rawjson.AppendEdited(nil, frame.Raw, edits...), Newline: frame.Newline}})
	}
	return kernel.Act(AnswerPieces{x, rawjson.Pieces(frame.Raw, edits...), frame.Newline, memory})
}

// Report notes in the exchange how the server has answered, for the observer of the exchange.
func Report(x *downstream.Exchange, frame *protocol.Frame) {
	if frame.Kind == protocol.KindError {
		x.Report.Code, _ = protocol.ErrorNumber(frame)
		return
	}
	x.Report.ToolErr = frame.Failure && x.Frame.Method == protocol.MethodToolsCall && string(rawjson.Member(frame.Raw, frame.Result, "isError").Of(frame.Raw)) == "true"
}
