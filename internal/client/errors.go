package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"goblin-actor/protocol/upstream"
)

var (
	// ErrUnreachable is wrapped by the error of a request if there is no server, so that nothing was sent, or if the server
	// answered initialize with an HTTP error other than 401 and no JSON-RPC message, for example because it is not an MCP endpoint.
	ErrUnreachable = errors.New("not reachable")
	// ErrSessionLost is returned if the gateway no longer knows the session, for example after a restart. The request
	// was not executed.
	ErrSessionLost = errors.New("the gateway no longer knows this session")
	// ErrClosed is returned, or wrapped, for requests after Close, and for requests without a response when the connection ends.
	ErrClosed = errors.New("connection closed")
)

// refusedError is the error for a server that answers initialize with an HTTP error other than 401, without a JSON-RPC
// message. It wraps the *upstream.StatusError and ErrUnreachable.
type refusedError struct {
	where  string // the server's URL, without secrets
	status *upstream.StatusError
}

func (e *refusedError) Error() string {
	if e.status.Code == http.StatusNotFound || e.status.Code == http.StatusMethodNotAllowed {
		return fmt.Sprintf("%s is not an MCP endpoint: %v", e.where, e.status)
	}
	return fmt.Sprintf("%s answered %v; no session was opened", e.where, e.status)
}

func (e *refusedError) Unwrap() []error { return []error{e.status, ErrUnreachable} }

// RPCError is a JSON-RPC error response.
type RPCError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func (e *RPCError) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

// Name returns data.code if it is a string, such as "TOOL_NOT_FOUND", and "" otherwise.
func (e *RPCError) Name() string {
	var data struct {
		Code string `json:"code"`
	}
	if json.Unmarshal(e.Data, &data) != nil {
		return ""
	}
	return data.Code
}
