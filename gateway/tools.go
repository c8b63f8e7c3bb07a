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
	Name        string // to call it by
	Description string
	Server      string // whose it is; "" = the one server of a gateway that hands its items on untouched (namespace.mode: never)

	// Definition is the whole tool as clients are given it: schemas, annotations, _meta and what else there is. nil in a compact list.
	Definition json.RawMessage
}

// ListTools returns the tools of all servers, sorted by name; compact: name, description and server only.
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

// GetTool returns one tool with its whole definition. The name is the one it is listed by. The error is an *Error, TOOL_NOT_FOUND, when
// there is none. It costs as much as ListTools.
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
		s, _ := rawjson.Unquote(span.Of(item.Raw)) // "" for what is absent or no string
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

// CallOptions are what a call may have besides its arguments.
type CallOptions struct {
	// Progress is told how far the call is, in order; when it is slow, the newest steps.
	Progress func(Progress)
	// Questions answers what the server asks in the middle of this call, instead of Config.Questions. Such a call is made by a client of its
	// own, so that nobody else's questions come here; that costs a fraction of a millisecond.
	Questions *Questions
}

// Progress is how far a call is.
type Progress struct {
	Done    float64
	Total   float64 // 0 = unknown
	Message string
}

// Result is what a tool returned.
type Result struct {
	IsError    bool            // it ran and failed; Content says why
	Content    []Content       // for models and people
	Structured json.RawMessage // structuredContent; nil = none
	Raw        json.RawMessage // the whole result, as it came
}

// Content is a piece of a result.
type Content struct {
	Type     string `json:"type"` // text, image, audio, resource, resource_link …
	Text     string `json:"text"`
	Data     []byte `json:"data"` // of images and audio
	MIMEType string `json:"mimeType"`

	Raw json.RawMessage `json:"-"` // all of it
}

// Text returns the texts of the result, one after the other.
func (r *Result) Text() string {
	text := ""
	for _, c := range r.Content {
		text += c.Text
	}
	return text
}

// CallTool calls a tool by its name, or by another that clients may use for it ("files:read"). args is what encoding/json makes an object
// of, a json.RawMessage for example, or nil. A tool that ran and failed is a Result with IsError, not an error.
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
		own, hangUp, err := g.own(ctx, o.Questions)
		if err != nil {
			return nil, errorOf(err)
		}
		defer hangUp()
		c = own
	}
	answer, err := c.Call(ctx, name, raw, progress)
	if err != nil {
		return nil, errorOf(err)
	}
	return resultOf(name, answer)
}

// own opens a session for one call. hangUp ends it.
func (g *Gateway) own(ctx context.Context, q *Questions) (c *inprocess.Client, hangUp func(), err error) {
	g.mu.Lock() // so that the end waits for it
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
		// What is no content as we know it is there as Raw.
		_ = json.Unmarshal(part, &r.Content[i])
		r.Content[i].Raw = part
	}
	return r, nil
}
