package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"goblin-actor/internal/client"
)

// ErrStopped is returned by every method after the gateway has begun to stop, and by calls that stopping has
// interrupted.
var ErrStopped = errors.New("the gateway has stopped")

// Error is an error response of the gateway or of a server.
//
//	if e, ok := errors.AsType[*gateway.Error](err); ok && e.Retryable {
//		time.Sleep(e.RetryAfter)
//	}
type Error struct {
	// Code identifies an error of the gateway, such as TOOL_NOT_FOUND, RESOURCE_NOT_FOUND, SERVER_UNAVAILABLE,
	// QUEUE_FULL or TIMEOUT (docs/protocol.md). It is "" for an error of a server; Number and Data describe that.
	Code    string
	Message string
	Number  int             // JSON-RPC error code
	Server  string          // server that failed or is concerned; "" if unknown
	Tool    string          // "" if no tool is concerned
	URI     string          // "" if no resource is concerned
	Data    json.RawMessage // error.data as received

	// Retryable reports that the same call may succeed later, and that sending it again is safe.
	Retryable  bool
	RetryAfter time.Duration // 0 if unknown
}

// Error returns the message and the code.
func (e *Error) Error() string {
	if e.Code != "" {
		return fmt.Sprintf("%s (%s)", e.Message, e.Code)
	}
	return fmt.Sprintf("%s (%d)", e.Message, e.Number)
}

// errorOf converts the client's errors to those of this package.
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
