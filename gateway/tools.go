package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"goblin-actor/internal/client"
	"goblin-actor/internal/decode"
	"goblin-actor/internal/inprocess"
	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
)

// Tool is a tool of the catalog.
type Tool struct {
	Name        string // public name, for CallTool
	Description string
	// Server is the server that the tool belongs to. It is "" if the gateway passes its only server's items on unchanged
	// (namespace.mode: never).
	Server string

	// Definition is the tool's definition as clients receive it, including schemas, annotations and _meta. It is nil in a
	// compact list.
	Definition json.RawMessage
}

// ListTools returns the tools of all servers, sorted by name, or in the server's order if the gateway passes its only
// server's items on unchanged (namespace.mode: never). A compact list has only names, descriptions and servers.
func (g *Gateway) ListTools(ctx context.Context, compact bool) ([]Tool, error) {
	items, err := g.client.List(ctx, protocol.Tools)
	if err != nil {
		return nil, errorOf(err)
	}
	tools := make([]Tool, len(items))
	for i := range items {
		tools[i] = toolOf(&items[i])
		if compact {
			tools[i].Definition = nil
		}
	}
	return tools, nil
}

// GetTool returns the tool with the given public name, including its definition. If there is none, the error is an
// *Error with the code TOOL_NOT_FOUND. GetTool costs as much as ListTools.
func (g *Gateway) GetTool(ctx context.Context, name string) (Tool, error) {
	tools, err := g.ListTools(ctx, false)
	if err != nil {
		return Tool{}, err
	}
	i := slices.IndexFunc(tools, func(t Tool) bool { return t.Name == name })
	if i < 0 {
		f := protocol.Fault{Name: protocol.ToolNotFound, Tool: name}
		return Tool{}, &Error{Code: string(f.Name), Message: f.Error(), Number: f.Code(protocol.EraLegacy), Tool: name}
	}
	return tools[i], nil
}

func toolOf(item *protocol.Item) Tool {
	text := func(span rawjson.Span) string {
		s, _ := rawjson.Unquote(span.Of(item.Raw)) // "" if it is absent or not a string
		return s
	}
	t := Tool{Name: text(item.Name), Description: text(item.Description), Definition: item.Raw}
	var meta struct {
		Server string `json:"goblin-actor/server"`
	}
	if item.Meta.Present() && json.Unmarshal(item.Meta.Of(item.Raw), &meta) == nil {
		t.Server = meta.Server
	}
	return t
}

// CallOptions are options of CallTool.
type CallOptions struct {
	// Progress receives the call's progress in order. Up to 64 reports wait while it is running; if more arrive, the
	// oldest are dropped.
	Progress func(Progress)
	// Questions answers the server's requests during this call, instead of Config.Questions. The call then uses a session of
	// its own, so that the functions receive only this call's requests. That costs a fraction of a millisecond.
	Questions *Questions
}

// Progress is one progress report of a call. Done and Total are in a unit that the server chooses.
type Progress struct {
	Done    float64
	Total   float64 // 0 if unknown
	Message string
}

// Result is the result of a tool call.
type Result struct {
	IsError    bool            // the tool ran and failed; Content says why
	Content    []Content       // intended for models and users
	Structured json.RawMessage // structuredContent; nil if there is none
	Raw        json.RawMessage // the whole result as the gateway returns it: as the server sent it, but with public URIs
}

// Content is one part of a result.
type Content struct {
	Type     string `json:"type"` // text, image, audio, resource or resource_link
	Text     string `json:"text"`
	Data     []byte `json:"data"` // content of images and audio
	MIMEType string `json:"mimeType"`

	Raw json.RawMessage `json:"-"` // the whole part, as in Result.Raw
}

// Text returns the concatenated texts of the result's parts.
func (r *Result) Text() string {
	text := ""
	for _, c := range r.Content {
		text += c.Text
	}
	return text
}

// CallTool calls a tool by its public name, or by another name that the gateway accepts from clients ("files:read").
// args must be nil or a value that encoding/json encodes as an object, for example a json.RawMessage or a map. o may be nil.
// If the tool ran and failed, CallTool returns a Result with IsError set, not an error.
func (g *Gateway) CallTool(ctx context.Context, name string, args any, o *CallOptions) (*Result, error) {
	var raw []byte
	if args != nil {
		var err error
		if raw, err = json.Marshal(args); err != nil {
			return nil, fmt.Errorf("gateway: arguments of %q: %w", name, err)
		}
	}
	c := g.client
	var progress func(client.Progress)
	if o != nil && o.Progress != nil {
		progress = func(p client.Progress) { o.Progress(Progress(p)) }
	}
	if o != nil && o.Questions != nil {
		own, closeOwn, err := g.ownSession(ctx, o.Questions)
		if err != nil {
			return nil, errorOf(err)
		}
		defer closeOwn()
		c = own
	}
	answer, err := c.Call(ctx, name, raw, progress)
	if err != nil {
		return nil, errorOf(err)
	}
	return resultOf(name, answer)
}

// ownSession opens a session for one call. The caller must call the returned function to close it.
func (g *Gateway) ownSession(ctx context.Context, q *Questions) (c *inprocess.Client, closeOwn func(), err error) {
	g.mu.Lock() // so that Stop either waits for this call or refuses it
	select {
	case <-g.stopped:
		g.mu.Unlock()
		return nil, nil, ErrStopped
	default:
	}
	g.calls.Add(1)
	g.mu.Unlock()
	if c, err = g.dial(ctx, q); err != nil {
		g.calls.Done()
		return nil, nil, err
	}
	return c, func() { c.Close(); g.calls.Done() }, nil
}

func resultOf(name string, raw json.RawMessage) (*Result, error) {
	var result struct {
		Content    []json.RawMessage `json:"content"`
		IsError    bool              `json:"isError"`
		Structured json.RawMessage   `json:"structuredContent"`
	}
	if err := decode.JSON(raw, "the result", &result); err != nil {
		return nil, fmt.Errorf("call %q: %w", name, err)
	}
	r := &Result{IsError: result.IsError, Structured: result.Structured, Raw: raw, Content: make([]Content, len(result.Content))}
	for i, part := range result.Content {
		// A part that cannot be decoded is available as Raw.
		_ = json.Unmarshal(part, &r.Content[i])
		r.Content[i].Raw = part
	}
	return r, nil
}
