package protocol

import (
	"errors"
	"strconv"
)

// The reasons for refusing a message, as ParseError.Kind.
var (
	ErrSyntax    = errors.New("malformed JSON")                // not valid JSON or not valid UTF-8
	ErrDepth     = errors.New("nested too deeply")             // more than MaxDepth nested arrays and objects
	ErrVersion   = errors.New(`jsonrpc is not "2.0"`)          // missing or another version
	ErrDuplicate = errors.New("ambiguous key")                 // a key that the gateway routes on occurs twice, escaped, or in another case
	ErrShape     = errors.New("not a JSON-RPC message")        // missing members or wrong types
	ErrTooLarge  = errors.New("message or batch is too large") // 4 GiB or more, or more than MaxBatch messages in a batch
)

// ParseError describes why and where a message is invalid.
type ParseError struct {
	Code   int    // JSON-RPC code: -32700 invalid JSON, -32600 invalid message, -32602 invalid params
	Msg    string // what was expected
	Offset int    // byte offset at which the error was found
	Kind   error  // one of the errors above; Unwrap returns it
}

// Error returns the kind, the offset and the message.
func (e *ParseError) Error() string {
	return e.Kind.Error() + " at offset " + strconv.Itoa(e.Offset) + ": " + e.Msg
}

// Reason returns the text of err for users: only Msg if err is a *ParseError, otherwise err.Error().
func Reason(err error) string {
	if e, ok := errors.AsType[*ParseError](err); ok {
		return e.Msg
	}
	return err.Error()
}

// Unwrap returns Kind.
func (e *ParseError) Unwrap() error { return e.Kind }

// fault returns a ParseError. Its code follows from the kind.
func fault(kind error, offset int, msg string) error {
	code := codeInvalidRequest
	if kind == ErrSyntax {
		code = codeParse
	}
	return &ParseError{Code: code, Msg: msg, Offset: offset, Kind: kind}
}
