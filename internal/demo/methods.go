package demo

import (
	"encoding/json"
	"errors"
	"strings"

	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
)

// dispatch processes a request of an initialized session and returns the result to render.
func (f *front) dispatch(c *Call) (any, error) {
	switch c.x.Frame.Method {
	case protocol.MethodPing:
		return struct{}{}, nil
	case protocol.MethodToolsList, protocol.MethodPromptsList, protocol.MethodResourcesList, protocol.MethodTemplatesList:
		return f.list(c)
	case protocol.MethodToolsCall:
		return f.callTool(c)
	case protocol.MethodPromptsGet:
		return f.getPrompt(c)
	case protocol.MethodResourcesRead:
		return f.read(c)
	case protocol.MethodResourcesSubscribe:
		return f.subscribe(c)
	case protocol.MethodResourcesUnsubscribe:
		return unsubscribe(c)
	case protocol.MethodLoggingSetLevel:
		return setLevel(c)
	case protocol.MethodCompletionComplete:
		return f.complete(c)
	}
	return nil, &Error{Code: codeMethodNotFound, Message: "method not found"}
}

// hello returns the result of initialize. MCP 2025-11-25, basic/lifecycle.
func (s *Server) hello(version string) any {
	return struct {
		ProtocolVersion string            `json:"protocolVersion"`
		Capabilities    any               `json:"capabilities"`
		ServerInfo      map[string]string `json:"serverInfo"`
		Instructions    string            `json:"instructions,omitempty"`
	}{version, s.capabilities(version), map[string]string{"name": s.Name, "version": s.Version}, s.Instructions}
}

// capabilities returns the server's capabilities for a version.
func (s *Server) capabilities(version string) map[string]any {
	type flags map[string]bool
	s.mu.Lock()
	defer s.mu.Unlock()
	capabilities := map[string]any{
		"logging": flags{}, "tools": flags{"listChanged": true}, "resources": flags{"subscribe": true, "listChanged": true},
	}
	if len(s.prompts) > 0 {
		capabilities["prompts"] = flags{"listChanged": true}
	}
	if version >= protocol.Version20250326 {
		capabilities["completions"] = flags{}
	}
	return capabilities
}

func (f *front) callTool(c *Call) (any, error) {
	name, err := c.text("name", c.x.Params.Name)
	if err != nil {
		return nil, err
	}
	t, ok := f.tool(name)
	if !ok || !c.session.knows(t.Since) {
		return nil, &Error{Code: codeInvalidParams, Message: "Unknown tool: " + name}
	}
	c.Name, c.Arguments = name, c.x.Params.Arguments.Of(c.x.Frame.Raw)
	c.stateful = t.Stateful
	result, err := t.Handle(c)
	if e, ok := errors.AsType[*Error](err); ok {
		return nil, e
	}
	if asks, ok := errors.AsType[*inputRequired](err); ok {
		return nil, asks
	}
	if err != nil {
		result = Failed("%v", err)
	}
	if r, ok := result.(ToolResult); ok && !c.session.knows(protocol.Version20250618) {
		r.Structured = nil
		result = r
	}
	return result, nil
}

func (f *front) getPrompt(c *Call) (any, error) {
	name, err := c.text("name", c.x.Params.Name)
	if err != nil {
		return nil, err
	}
	p, ok := f.prompt(name)
	if !ok {
		return nil, &Error{Code: codeInvalidParams, Message: "Unknown prompt: " + name}
	}
	c.Name, c.Arguments = name, c.x.Params.Arguments.Of(c.x.Frame.Raw)
	var given map[string]string
	if len(c.Arguments) > 0 && json.Unmarshal(c.Arguments, &given) != nil {
		return nil, &Error{Code: codeInvalidParams, Message: "arguments: expected an object of strings"}
	}
	for _, a := range p.Arguments {
		if _, ok := given[a.Name]; a.Required && !ok {
			return nil, &Error{Code: codeInvalidParams, Message: "missing argument: " + a.Name}
		}
	}
	return p.Handle(c)
}

func (f *front) read(c *Call) (any, error) {
	uri, err := c.text("uri", c.x.Params.URI)
	if err != nil {
		return nil, err
	}
	handle, ok := f.resource(uri)
	if !ok {
		return nil, notFound(uri)
	}
	c.Name = uri
	return handle(c)
}

func (f *front) subscribe(c *Call) (any, error) {
	uri, err := c.text("uri", c.x.Params.URI)
	if err != nil {
		return nil, err
	}
	if _, ok := f.resource(uri); !ok {
		return nil, notFound(uri)
	}
	s := c.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.subscribed) >= maxSubscriptions && !s.subscribed[uri] {
		return nil, &Error{Code: codeInvalidParams, Message: "too many subscriptions"}
	}
	s.subscribed[uri] = true
	return struct{}{}, nil
}

func unsubscribe(c *Call) (any, error) {
	uri, err := c.text("uri", c.x.Params.URI)
	if err != nil {
		return nil, err
	}
	s := c.session
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.subscribed, uri)
	return struct{}{}, nil
}

func setLevel(c *Call) (any, error) {
	level, err := c.text("level", c.x.Params.Level)
	if err != nil {
		return nil, err
	}
	known := protocol.LevelOf(rawjson.Quote(level))
	if known == protocol.LevelNone {
		return nil, &Error{Code: codeInvalidParams, Message: "level: expected one of " + strings.Join(protocol.LevelNames(), ", ")}
	}
	c.session.mu.Lock()
	defer c.session.mu.Unlock()
	c.session.level = known
	return struct{}{}, nil
}

// complete suggests values for an argument of a prompt or template. MCP 2025-11-25, server/utilities/completion.
func (f *front) complete(c *Call) (any, error) {
	var params struct {
		Argument struct{ Name, Value string }
	}
	raw := c.x.Frame.Raw
	if json.Unmarshal(c.x.Frame.Params.Of(raw), &params) != nil {
		return nil, &Error{Code: codeInvalidParams, Message: "argument: expected {name, value}"}
	}
	var completer Completer
	if name, ok := rawjson.Unquote(c.x.Params.RefName.Of(raw)); ok {
		p, known := f.prompt(name)
		if !known {
			return nil, &Error{Code: codeInvalidParams, Message: "Unknown prompt: " + name}
		}
		completer = p.Complete
	} else if uri, ok := rawjson.Unquote(c.x.Params.RefURI.Of(raw)); ok {
		completer = f.templates[uri].Complete
	} else {
		return nil, &Error{Code: codeInvalidParams, Message: "ref: expected the name of a prompt or the uri of a resource template"}
	}
	values := []string{}
	if completer != nil {
		values = append(values, completer(params.Argument.Name, params.Argument.Value)...)
	}
	shown := values[:min(len(values), 100)]
	return map[string]any{"completion": map[string]any{
		"values": shown, "total": len(values), "hasMore": len(shown) < len(values),
	}}, nil
}

// text returns a required string parameter.
func (c *Call) text(member string, span rawjson.Span) (string, error) {
	s, ok := rawjson.Unquote(span.Of(c.x.Frame.Raw))
	if !ok {
		return "", &Error{Code: codeInvalidParams, Message: member + ": expected a string"}
	}
	return s, nil
}

func notFound(uri string) error {
	return &Error{
		Code: codeResourceNotFound, Message: "Resource not found: " + uri,
		Data: append(append([]byte(`{"uri":`), rawjson.Quote(uri)...), '}'),
	}
}
