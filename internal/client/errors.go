package client

import (
	"encoding/json"
	"errors"
	"fmt"
)

var (
	// ErrUnreachable is returned when nothing was sent: nobody listens there, or it is no MCP endpoint.
	ErrUnreachable = errors.New("not reachable")
	// ErrSessionLost is returned when the gateway no longer knows our session: it was restarted. The request was not executed.
	ErrSessionLost = errors.New("the gateway has forgotten this session: it was restarted")
	// ErrClosed is returned for requests after Close, and for those the end of the connection left without an answer.
	ErrClosed = errors.New("connection closed")
)

// RPCError is a JSON-RPC error the other side answered with.
type RPCError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func (e *RPCError) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

// Name returns data.code when it is a word, like "TOOL_NOT_FOUND"; else "".
func (e *RPCError) Name() string {
	var data struct {
		Code string `json:"code"`
	}
	if json.Unmarshal(e.Data, &data) != nil {
		return ""
	}
	return data.Code
}
