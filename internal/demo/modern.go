package demo

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
	"goblin-actor/protocol/rawjson"
)

// codeCapabilityRequired is the error code for a missing client capability. MCP 2026-07-28, basic.
const codeCapabilityRequired = -32021

// maxModern limits the concurrent requests of all modern clients.
const maxModern = 4096

// header returns a function that returns headers of a message, or nil on stdio.
func (f *front) header(x *downstream.Exchange) func(string) string {
	if f.stdio {
		return nil
	}
	return func(name string) string {
		if name == protocol.HeaderVersion {
			return x.Origin.Version
		}
		return x.Origin.Header.Get(name)
	}
}

// isModern reports whether a message belongs to the modern era. Each message has its own era, unless the server
// is forced to one version.
func (f *front) isModern(x *downstream.Exchange) bool {
	switch {
	case x.Batch != nil || downstream.RouteMessages.Ends(x.Origin.Path):
		return false
	case f.Protocol == "":
		return protocol.EraOf(f.header(x), &x.Frame, &x.Params) == protocol.EraModern
	}
	return protocol.IsModern(f.Protocol)
}

// modern processes a message of a 2026-07-28 client. There is no session; each request describes its client.
func (f *front) modern(x *downstream.Exchange) {
	switch {
	case x.Frame.Kind == protocol.KindNotification:
		x.Accept()
		return
	case x.Frame.Method == protocol.MethodInitialize && !x.Params.MetaVersion.Present():
		requested, _ := rawjson.Unquote(x.Params.Version.Of(x.Frame.Raw))
		refuseModern(x, &protocol.Fault{Name: protocol.UnsupportedVersion, Requested: requested})
		return
	}
	if fault := protocol.CheckModern(f.header(x), &x.Frame, &x.Params); fault != nil {
		refuseModern(x, fault)
		return
	}
	if fault := f.checkBindings(x); fault != nil {
		refuseModern(x, fault)
		return
	}
	id := string(x.Frame.IDBytes())
	ctx, ok := f.beginModern(x, id)
	if !ok {
		refuseModern(x, &protocol.Fault{Name: protocol.Overloaded, Message: "too many requests at once, or this id is in use"})
		return
	}
	c := f.modernCall(ctx, x)
	if x.Frame.Method == protocol.MethodSubscriptionsListen {
		l := f.openListener(c)
		if l == nil {
			f.finishModern(id)
			return
		}
		f.running.Go(func() {
			defer f.finishModern(id)
			f.listen(l)
		})
		return
	}
	f.running.Go(func() {
		defer f.finishModern(id)
		result, err := f.dispatchModern(c)
		if errors.Is(context.Cause(ctx), errCancelled) {
			x.Accept()
			return
		}
		f.answerModern(c, result, err)
	})
}

// modernCall returns the call for a request. Its session is built from _meta.
func (f *front) modernCall(ctx context.Context, x *downstream.Exchange) *Call {
	raw := x.Frame.Raw
	c := newSession(ctx, "", protocol.Version20260728, x.Params.MetaCapabilities.Of(raw))
	c.level = protocol.LevelOf(x.Params.MetaLogLevel.Of(raw)) // without logLevel nothing is logged
	return &Call{Context: c.ctx, session: c, x: x, front: f}
}

// checkBindings compares headers that repeat tool arguments with the arguments.
func (f *front) checkBindings(x *downstream.Exchange) *protocol.Fault {
	header := f.header(x)
	if header == nil || x.Frame.Method != protocol.MethodToolsCall {
		return nil
	}
	name, _ := rawjson.Unquote(x.Params.Name.Of(x.Frame.Raw))
	t, _ := f.tool(name)
	return t.bindings.Check(header, x.Params.Arguments.Of(x.Frame.Raw))
}

// beginModern registers a request. The request is canceled by a notification on stdio, and by closing the connection over
// HTTP.
func (f *front) beginModern(x *downstream.Exchange, id string) (context.Context, bool) {
	ctx, cancel := context.WithCancelCause(f.ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	_, twice := f.modernCalls[id]
	if f.modernRunning >= maxModern || f.stdio && twice {
		cancel(nil)
		return nil, false
	}
	f.modernRunning++
	if f.stdio {
		f.modernCalls[id] = cancel
	}
	x.OnGone(func() { cancel(errCancelled) })
	return ctx, true
}

func (f *front) finishModern(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.modernRunning--
	if cancel := f.modernCalls[id]; cancel != nil && f.stdio {
		cancel(nil)
		delete(f.modernCalls, id)
	}
}

func (f *front) cancelModern(id string) {
	f.mu.Lock()
	cancel := f.modernCalls[id]
	f.mu.Unlock()
	if cancel != nil {
		cancel(errCancelled)
	}
}

// dispatchModern processes a request and returns the result to render.
func (f *front) dispatchModern(c *Call) (any, error) {
	switch c.x.Frame.Method {
	case protocol.MethodServerDiscover:
		return f.discover(), nil
	case protocol.MethodTasksGet, protocol.MethodTasksUpdate, protocol.MethodTasksCancel:
		return f.taskRequest(c)
	case protocol.MethodToolsCall, protocol.MethodPromptsGet, protocol.MethodResourcesRead:
		if err := c.resume(); err != nil {
			return nil, err
		}
	}
	return f.dispatch(c)
}

// discover returns the result of server/discover. MCP 2026-07-28, server/discover.
func (s *Server) discover() any {
	capabilities := s.capabilities(protocol.Version20260728)
	if s.Tasks {
		capabilities["extensions"] = map[string]any{extensionTasks: struct{}{}}
	}
	return struct {
		SupportedVersions []string `json:"supportedVersions"`
		Capabilities      any      `json:"capabilities"`
		Instructions      string   `json:"instructions,omitempty"`
	}{protocol.ModernVersions, capabilities, s.Instructions}
}

// answerModern renders and sends an answer. Over HTTP, a missing capability has its own status.
func (f *front) answerModern(c *Call, result any, err error) {
	id := c.x.Frame.IDBytes()
	if asks, ok := errors.AsType[*inputRequired](err); ok {
		result, err = c.ask(asks)
	}
	if e, ok := errors.AsType[*Error](err); ok && e.Code == codeResourceNotFound {
		err = &Error{Code: codeInvalidParams, Message: e.Message, Data: e.Data}
	}
	frame := response(id, result, err)
	if e, ok := errors.AsType[*Error](err); ok && e.Code == codeCapabilityRequired {
		c.x.Refuse(http.StatusBadRequest, frame, 0)
		return
	}
	if err == nil {
		frame = f.addCommonFields(c.x.Frame.Method, frame)
	}
	c.x.Answer(protocol.Message{Frame: frame})
}

// addCommonFields adds the common fields of modern results: result type, server info and cache lifetime.
func (f *front) addCommonFields(m protocol.Method, frame []byte) []byte {
	var parsed protocol.Frame
	var info protocol.ResultInfo
	if parsed.Parse(frame) != nil || info.Scan(&parsed) != nil {
		return frame // an error; marshaled results always parse
	}
	edits := protocol.ToModernResult(nil, m, &parsed, &info, f.serverInfo())
	return rawjson.AppendEdited(nil, parsed.Raw, edits...)
}

func (s *Server) serverInfo() []byte {
	info, err := json.Marshal(map[string]string{"name": s.Name, "version": s.Version})
	if err != nil {
		return nil // strings always marshal
	}
	return info
}

// refuseModern answers with a gateway error and its HTTP status.
func refuseModern(x *downstream.Exchange, fault *protocol.Fault) {
	var id []byte
	if x.Frame.Kind == protocol.KindRequest {
		id = x.Frame.IDBytes()
	}
	body := fault.AppendTo(nil, id, protocol.EraModern)
	if status := fault.Status(protocol.EraModern); status != http.StatusOK {
		x.Refuse(status, body, 0)
		return
	}
	x.Answer(protocol.Message{Frame: body})
}
