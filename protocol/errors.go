package protocol

import (
	"errors"
	"strconv"
)

// Why a message is refused. They stand in a *ParseError.
var (
	ErrSyntax    = errors.New("malformed JSON")                // no JSON text, or not valid UTF-8
	ErrDepth     = errors.New("nested too deep")               // more than MaxDepth arrays and objects in each other
	ErrVersion   = errors.New(`jsonrpc is not "2.0"`)          // absent or another version
	ErrDuplicate = errors.New("duplicate or disguised key")    // a key we route on stands there twice, escaped, or in other case
	ErrShape     = errors.New("not a JSON-RPC message")        // wrong members or wrong types
	ErrTooLarge  = errors.New("message or batch is too large") // over 4 GiB, or over MaxBatch messages in an array
)

// ParseError says what is wrong with a message and where.
type ParseError struct {
	Code   int    // -32700 no JSON; -32600 no JSON-RPC; -32602 wrong params
	Msg    string // what was expected
	Offset int    // of the byte in question
	Kind   error  // one of the sentinels; errors.Is finds it
}

func (e *ParseError) Error() string {
	return e.Kind.Error() + " at offset " + strconv.Itoa(e.Offset) + ": " + e.Msg
}

// Reason returns the text of err for people: without the offset and the kind if it is a *ParseError.
func Reason(err error) string {
	if e, ok := errors.AsType[*ParseError](err); ok {
		return e.Msg
	}
	return err.Error()
}

// Unwrap returns the sentinel.
func (e *ParseError) Unwrap() error { return e.Kind }

// fault makes a ParseError; the code follows from the kind.
func fault(kind error, offset int, msg string) error {
	code := codeInvalidRequest
	if kind == ErrSyntax {
		code = codeParse
	}
	return &ParseError{Code: code, Msg: msg, Offset: offset, Kind: kind}
}
