package mcpgo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"

	"goblin-actor/internal/decode"
	"goblin-actor/protocol"
)

// questions sends the requests of handlers to the client: elicitation, sampling and roots. The gateway passes them to
// the client whose call the handler serves.
type questions struct {
	send func(context.Context, []byte) error

	mu      sync.Mutex
	last    uint64
	waiting map[string]chan answer // by id
}

// answer is the response to a request of the server.
type answer struct {
	Result json.RawMessage          `json:"result"`
	Error  *mcp.JSONRPCErrorDetails `json:"error"`
}

// ask sends a request and stores the result in to. It blocks until the client has responded or ctx ends. If ctx ends,
// the request is canceled.
func (q *questions) ask(ctx context.Context, method mcp.MCPMethod, params, to any) error {
	reply := make(chan answer, 1)
	q.mu.Lock()
	q.last++
	id := strconv.FormatUint(q.last, 10)
	q.waiting[id] = reply
	q.mu.Unlock()
	defer func() {
		q.mu.Lock()
		delete(q.waiting, id)
		q.mu.Unlock()
	}()
	if err := q.put(ctx, map[string]any{"jsonrpc": mcp.JSONRPC_VERSION, "id": json.RawMessage(id), "method": method, "params": params}); err != nil {
		return fmt.Errorf("send %s: %w", method, err)
	}
	select {
	case a := <-reply:
		if a.Error != nil {
			return fmt.Errorf("%s: the client answered with error %d: %s", method, a.Error.Code, a.Error.Message)
		}
		if err := decode.JSON(a.Result, "the client's answer", to); err != nil {
			return fmt.Errorf("%s: %w", method, err)
		}
		return nil
	case <-ctx.Done():
		_ = q.put(context.WithoutCancel(ctx), map[string]any{"jsonrpc": mcp.JSONRPC_VERSION, "method": protocol.NotificationCancelled.String(), "params": map[string]any{"requestId": json.RawMessage(id)}})
		return context.Cause(ctx)
	}
}

func (q *questions) put(ctx context.Context, m any) error {
	raw, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return q.send(ctx, raw)
}

// answered passes a response to the handler that waits for it.
func (q *questions) answered(f *protocol.Frame) {
	q.mu.Lock()
	reply := q.waiting[string(bytes.TrimSpace(f.IDBytes()))]
	q.mu.Unlock()
	if reply == nil {
		return // the handler no longer waits
	}
	var a answer
	if err := decode.JSON(f.Raw, "the client's response", &a); err != nil {
		a.Error = &mcp.JSONRPCErrorDetails{Code: mcp.PARSE_ERROR, Message: err.Error()}
	}
	select {
	case reply <- a:
	default: // a second response
	}
}

// RequestElicitation asks the user for input.
func (q *questions) RequestElicitation(ctx context.Context, r mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	result := new(mcp.ElicitationResult)
	if err := q.ask(ctx, mcp.MethodElicitationCreate, r.Params, result); err != nil {
		return nil, err
	}
	return result, nil
}

// RequestSampling asks the client's model for a message.
func (q *questions) RequestSampling(ctx context.Context, r mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
	result := new(mcp.CreateMessageResult)
	if err := q.ask(ctx, mcp.MethodSamplingCreateMessage, r.CreateMessageParams, result); err != nil {
		return nil, err
	}
	content, err := mcp.ParseSamplingContent(result.Content)
	if err != nil {
		return nil, fmt.Errorf("%s: parse the client's answer: %w", mcp.MethodSamplingCreateMessage, err)
	}
	result.Content = content
	return result, nil
}

// ListRoots asks the client for its roots.
func (q *questions) ListRoots(ctx context.Context, _ mcp.ListRootsRequest) (*mcp.ListRootsResult, error) {
	result := new(mcp.ListRootsResult)
	if err := q.ask(ctx, mcp.MethodListRoots, struct{}{}, result); err != nil {
		return nil, err
	}
	return result, nil
}
