package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"goblin-actor/internal/client"
)

// ErrStopped is returned by calls that begin after the gateway has begun to stop. A call that stopping interrupts returns
// ErrStopped or an *Error with the code SHUTTING_DOWN.
var ErrStopped = errors.New("the gateway has stopped")

// Error is an error response of the gateway or of a server.
//
//	if e, ok := errors.AsType[*gateway.Error](err); ok && e.Retryable {
//		time.Sleep(e.RetryAfter)
//	}
type Error struct {
	// Code identifies an error of the gateway, such as TOOL_NOT_FOUND, RESOURCE_NOT_FOUND, SERVER_UNAVAILABLE,
	// QUEUE_FULL or TIMEOUT (docs/operations.md explains many). It is "" for an error of a server, which Number and Data describe.
	Code    string
	Message string
	Number  int             // JSON-RPC error code
	Server  string          // server that failed or that the call was for; "" if unknown
	Tool    string          // tool that the call was for; "" if none
	URI     string          // resource that the request was for; "" if none
	Data    json.RawMessage // error.data as received

	// Retryable says that the same call may succeed later, and that repeating it is safe.
	Retryable  bool
	RetryAfter time.Duration // how long to wait before the retry; 0 if unknown
}

// Error returns the message, followed in parentheses by Code, or by Number if Code is "".
func (e *Error) Error() string {
	if e.Code != "" {
		return fmt.Sprintf("%s (%s)", e.Message, e.Code)
	}
	return fmt.Sprintf("%s (%d)", e.Message, e.Number)
}

// errorOf converts errors of the client to those of this package. Other errors are returned unchanged.
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
