package protocol

import "goblin-actor/protocol/rawjson"

// MaxDepth is how deep arrays and objects may nest in one message; what is deeper is refused with ErrDepth.
const MaxDepth = 512

// Kind says which of the four JSON-RPC messages a frame is.
type Kind uint8

// The messages of JSON-RPC 2.0, told apart by the members they have.
const (
	KindInvalid      Kind = iota
	KindRequest           // has method and id
	KindNotification      // has method, no id
	KindResult            // has id and result
	KindError             // has error (id may be null or absent)
)

// Frame is one JSON-RPC 2.0 message: the bytes as they came and where its members stand in them.
// A Frame that Parse accepted is valid JSON and valid UTF-8. Nobody writes to Raw afterwards; it may be shared.
type Frame struct {
	Raw                               []byte
	ID, Method, Params, Result, Error rawjson.Span // raw values: ID and Method with their quotes
	Kind                              Kind
	M                                 Method // the method as a number; MethodOther keeps its text in Method
	Newline                           bool   // a raw \n or \r stands between tokens: must be flattened for stdio and SSE

	// Memory is what Raw lies in if it may be used again once the frame has been written; usually nil. See Memory.
	Memory *Memory

	// Noted in passing, so that nobody searches a large frame for what is hardly ever there (notes.go).
	Resource bool // a string value may say resource or resource_link, plainly or in escapes; false: none does
	Failure  bool // a member isError, its key without escapes, is true; on whatever level
}
