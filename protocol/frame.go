package protocol

import "goblin-actor/protocol/rawjson"

// MaxDepth is the maximum nesting of arrays and objects in a message. Parse refuses deeper messages with ErrDepth.
const MaxDepth = 512

// Kind is the type of a JSON-RPC message.
type Kind uint8

// The message types of JSON-RPC 2.0. The members of a message determine its type.
const (
	KindInvalid      Kind = iota
	KindRequest           // has method and id
	KindNotification      // has method, no id
	KindResult            // has id and result
	KindError             // has error (id may be null or absent)
)

// Frame is a JSON-RPC 2.0 message: its bytes, and the spans of its members in them.
// A Frame that Parse accepted is valid JSON in valid UTF-8. Raw must not be modified afterwards; it may be shared.
type Frame struct {
	Raw                                  []byte
	ID, RawMethod, Params, Result, Error rawjson.Span // raw values: ID and RawMethod with their quotes
	Kind                                 Kind
	Method                               Method // the parsed method; for MethodOther the name is only in RawMethod
	Newline                              bool   // Raw has a \n or \r between tokens, which must become a space on stdio and SSE

	// Memory holds Raw if the memory can be reused after the frame is written. It is usually nil.
	Memory *Memory

	// The scan records these, so that a large frame need not be searched again (notes.go).
	Resource bool // a string value may be "resource" or "resource_link", possibly escaped; if false, none is
	Failure  bool // a member isError, spelled without escapes, is true at any level
}
