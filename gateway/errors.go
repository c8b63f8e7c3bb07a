package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"goblin-actor/internal/client"
)

// ErrStopped is returned by every method once the gateway is stopping, and for what that left without an answer.
var ErrStopped = errors.New("the gateway has stopped")

// Error is what the gateway, or a server, answered with instead of a result.
//
//	if e, ok := errors.AsType[*gateway.Error](err); ok && e.Retryable {
//		time.Sleep(e.RetryAfter)
//	}
type Error struct {
	// Code names an error of the gateway's own: TOOL_NOT_FOUND, RESOURCE_NOT_FOUND, SERVER_UNAVAILABLE, QUEUE_FULL, TIMEOUT … (docs/protocol.md).
	// "" = it is the server's own; Number and Data say what it is then.
	Code    string
	Message string
	Number  int             // of JSON-RPC
	Server  string          // whose error it is, or who is concerned; "" = unknown
	Tool    string          // "" = none is concerned
	URI     string          // likewise
	Data    json.RawMessage // error.data, as it came

	// Retryable says that the same call may succeed later, and that sending it again does no harm.
	Retryable  bool
	RetryAfter time.Duration // 0 = unknown
}

// Error returns the message and the code.
func (e *Error) Error() string {
	if e.Code != "" {
		return fmt.Sprintf("%s (%s)", e.Message, e.Code)
	}
	return fmt.Sprintf("%s (%d)", e.Message, e.Number)
}

// errorOf makes the errors of the client those of this package.
func errorOf(err error) error {
	if errors.Is(err, client.ErrClosed) || errors.Is(err, client.ErrUnreachable) {
		return ErrStopped
	}
	rpc, ok := errors.AsType[*client.RPCError](err)
	if !ok {
		return err
	}
	e := &Error{Message: rpc.Message, Number: rpc.Code, Data: rpc.Data}
	var data struct {
		Code         string `json:"code"`
		Server       string `json:"server"`
		Tool         string `json:"tool"`
		URI          string `json:"uri"`
		Retryable    bool   `json:"retryable"`
		RetryAfterMs int64  `json:"retryAfterMs"`
	}
	if rpc.Name() != "" && json.Unmarshal(rpc.Data, &data) == nil {
		e.Code, e.Server, e.Tool, e.URI, e.Retryable = data.Code, data.Server, data.Tool, data.URI, data.Retryable
		e.RetryAfter = time.Duration(data.RetryAfterMs) * time.Millisecond
	}
	return e
}
