package backend

import (
	"bytes"
	"cmp"
	"log/slog"
	"slices"
	"strconv"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
	"goblin-actor/protocol/upstream"
)

// canSets holds the capabilities declared to a modern server, for every capability set.
var canSets = func() (sets [message.CanAll + 1][]byte) {
	for can := range sets {
		sets[can] = message.CapabilitySet(can).ModernCapabilities()
	}
	return sets
}()

// modernCapabilities returns the raw JSON object that declares the set to a modern server. It is read-only.
func modernCapabilities(can message.CapabilitySet) []byte { return canSets[can&message.CanAll] }

// modernMeta returns the _meta that describes a request's caller: a modern client's own values, or those that a legacy
// client declared in initialize.
func (s *state) modernMeta(r *message.Request, token []byte) protocol.ModernMeta {
	c := r.Caller
	if r.Modern {
		return protocol.ModernMeta{ClientInfo: c.ClientInfo, Capabilities: c.Capabilities, LogLevel: c.LogLevel, Token: token}
	}
	meta := protocol.ModernMeta{ClientInfo: c.ClientInfo, Capabilities: c.Extras.With(modernCapabilities(c.Can), false), LogLevel: s.levelOf(r), Token: token}
	if meta.ClientInfo == nil {
		meta.ClientInfo = []byte(clientInfo)
	}
	return meta
}

// defaultLevel is the log level requested for legacy clients that have not set one.
const defaultLevel = protocol.LevelInfo

// levelOf returns the log level that a request sends to a modern server; "" = no log messages.
func (s *state) levelOf(r *message.Request) protocol.Level {
	switch {
	case r.Caller.LogLevel != "" || r.Modern:
		return r.Caller.LogLevel
	case s.level != "":
		return s.level
	}
	return defaultLevel
}

// upstream returns the client's frame in the server's era, with the gateway's id, the item's name or URI as the server
// defines it, and a progress token if the client requested progress. Progress of tools is always requested, because it
// keeps long calls alive (the idle timeout). Bytes that need no translation stay as they are.
func (s *state) upstream(r *message.Request, id uint32, q *round) []byte {
	raw := r.Frame.Raw
	number := strconv.AppendUint(nil, uint64(id), 10)
	token := number
	if !r.Params.ProgressToken.Present() && r.Frame.Method != protocol.MethodToolsCall {
		token = nil
	}
	var room [28]rawjson.Edit
	edits := append(room[:0], rawjson.Edit{Span: r.Frame.ID, With: number})
	if r.Target.Present() {
		edits = append(edits, rawjson.Edit{Span: r.Target, With: r.Original})
	}
	switch {
	case s.conn.era == protocol.EraModern && q != nil:
		meta := s.modernMeta(r, token)
		if q.tasks {
			meta.Capabilities = r.Caller.Extras.With(modernCapabilities(r.Caller.Can), true)
		}
		return protocol.AppendRetry(nil, &r.Frame, &r.Params, meta, q.responses, q.state, edits...)
	case s.conn.era == protocol.EraModern:
		meta := s.modernMeta(r, token)
		if r.Modern { // the client's answers to the server's input_required result
			meta.InputResponses, meta.RequestState = r.Params.InputResponses.Of(raw), r.Params.RequestState.Of(raw)
		}
		edits = protocol.ToModernRequest(edits, &r.Frame, &r.Params, &meta)
	case r.Modern:
		edits = toLegacy(edits, r, token, number)
	default:
		edits = addToken(edits, r, token)
	}
	return rawjson.AppendEdited(nil, raw, edits...)
}

// toLegacy translates a modern client's request into a legacy one. A requestState that the legacy server issued is
// kept: go-sdk sends input_required results to legacy clients, too.
func toLegacy(edits []rawjson.Edit, r *message.Request, token, number []byte) []rawjson.Edit {
	params := r.Params
	if params.RequestState.Present() {
		params.InputResponses, params.RequestState, params.Odd = rawjson.Span{}, rawjson.Span{}, false
		token = number // a token keeps _meta in place, so params need not be walked
	}
	return protocol.ToLegacyRequest(edits, &r.Frame, &params, token)
}

// markInputRequired returns the edit that adds the missing resultType to an input_required result. go-sdk omits it for
// legacy clients from the second round on. Only such results have inputRequests and no content.
func markInputRequired(m protocol.Method, f *protocol.Frame) []rawjson.Edit {
	if !bytes.Contains(f.Raw, []byte(`"inputRequests"`)) {
		return nil
	}
	var r protocol.ResultInfo
	if r.Scan(f) != nil || r.ResultType.Present() || !r.InputRequests.Present() || f.Raw[r.InputRequests.Off] != '{' {
		return nil
	}
	if content := bytes.TrimSpace(r.Content.Of(f.Raw)); len(content) > 0 && string(content) != "[]" || r.Messages.Present() || r.Contents.Present() {
		return nil
	}
	if m.MayRequireInput() {
		return []rawjson.Edit{rawjson.InsertMember(f.Raw, f.Result, []byte(`"resultType":"input_required"`))}
	}
	return nil
}

// addToken adds the progress token, if any, to a legacy client's request.
func addToken(edits []rawjson.Edit, r *message.Request, token []byte) []rawjson.Edit {
	switch {
	case token == nil:
	case r.Params.ProgressToken.Present():
		edits = append(edits, rawjson.Edit{Span: r.Params.ProgressToken, With: token})
	case r.Params.Meta.Present():
		edits = append(edits, rawjson.InsertMember(r.Frame.Raw, r.Params.Meta, append([]byte(`"progressToken":`), token...)))
	default:
		member := append([]byte(`"_meta":{"progressToken":`), token...)
		edits = append(edits, rawjson.InsertMember(r.Frame.Raw, r.Frame.Params, append(member, '}')))
	}
	return edits
}

// outgoing returns a call in the form that the link sends.
func (s *state) outgoing(id uint32, p *pending) upstream.Outgoing {
	r := withTrace(p.request)
	o := upstream.Outgoing{
		Ticket: uint64(id), Frame: s.upstream(r, id, p.round), Newline: r.Frame.Newline, Request: true, Method: r.Frame.MethodText(),
	}
	if s.conn.era == protocol.EraModern {
		if name := protocol.NameHeader(r.Frame.Method, &r.Params); name.Present() {
			o.Name = cmp.Or(r.Named, r.Item)
			if o.Name == "" { // a method that names no item of the catalog (tasks)
				o.Name, _ = rawjson.Unquote(name.Of(r.Frame.Raw))
			}
		}
	}
	if r.Frame.Method == protocol.MethodToolsCall {
		o.Headers = s.conn.bindings[r.Item].Headers(r.Params.Arguments.Of(r.Frame.Raw))
	}
	if r.Trace != nil {
		o.Headers = append(o.Headers, traceHeaders(r.Trace)...)
	}
	if s.server.Hop != "" {
		o.Headers = appendBehalf(o.Headers, r.Caller, &s.server)
	}
	return o
}

// answeredModern handles a modern server's response to a call.
func (s *state) answeredModern(now time.Time, p *pending, f *protocol.Frame, out []kernel.Effect) []kernel.Effect {
	if f.Kind == protocol.KindError {
		return s.refusedModern(now, p, f, out)
	}
	var r protocol.ResultInfo
	if r.Scan(f) != nil {
		return s.badAnswer(now, p, "the server sent an invalid result", out)
	}
	m := p.request.Frame.Method
	kind := r.KindOf(m, f)
	switch {
	case kind == protocol.ResultInputRequired && !p.request.Modern:
		return s.inputRequired(now, p, f, &r, out)
	case kind == protocol.ResultUnknown:
		return s.badAnswer(now, p, "the server's result has an unknown resultType, or one that is not allowed for "+p.request.Frame.MethodText(), out)
	case p.request.Modern:
		return s.done(now, p, *f, out)
	case kind == protocol.ResultTask:
		return s.followModern(now, p, f, out)
	}
	var room [8]rawjson.Edit
	return s.doneEdited(now, p, f, protocol.ToLegacyResult(room[:0], m, f, &r), out)
}

// refusedModern handles a modern server's error.
func (s *state) refusedModern(now time.Time, p *pending, f *protocol.Frame, out []kernel.Effect) []kernel.Effect {
	r := p.request
	switch code, _ := protocol.ErrorNumber(f); code {
	case codeHeaderMismatch:
		if r.Frame.Method == protocol.MethodToolsCall && s.link.headers && !p.headersRetried && s.life.phase == message.Ready {
			return s.retryWithNewHeaders(p, out)
		}
		return s.badAnswer(now, p, "the server refused the headers of the request: "+errorText(f), out)
	case codeUnsupportedVersion:
		out = s.recheck(out)
		return s.badAnswer(now, p, "the server refused the protocol version of the request: "+errorText(f), out)
	}
	switch {
	case r.Modern:
		return s.refusedForModern(now, p, f, out)
	case protocol.URLElicitations(f, func(rawjson.Span) bool { return true }):
		return s.done(now, p, *f, out) // a server of both eras used the legacy code, which the client knows
	case wantsTasks(f) && r.Frame.Method == protocol.MethodToolsCall && (p.round == nil || !p.round.tasks) && s.life.phase == message.Ready:
		if p.round == nil {
			p.round = &round{call: p.call, request: r, due: true}
		}
		p.round.tasks = true
		return s.writeCall(p, out)
	}
	var room [8]rawjson.Edit
	return s.doneEdited(now, p, f, protocol.TranslateError(room[:0], r.Frame.Method, f, r.Params.URI.Of(r.Frame.Raw), protocol.EraLegacy), out)
}

// refusedForModern handles a server's error in response to a modern client's call. Codes that mean something else to the
// client, or must not reach it, are translated in both eras of the server (MCP 2026-07-28, basic, error codes).
func (s *state) refusedForModern(now time.Time, p *pending, f *protocol.Frame, out []kernel.Effect) []kernel.Effect {
	if p.request.Frame.Method.MayRequireInput() && protocol.URLElicitations(f, func(rawjson.Span) bool { return true }) {
		return s.done(now, p, *f, out) // the holder can ask the client
	}
	if code, _ := protocol.ErrorNumber(f); code == codeCapabilityRequired {
		required := rawjson.Member(f.Raw, rawjson.Member(f.Raw, f.Error, "data"), "requiredCapabilities")
		if required.Present() && f.Raw[required.Off] == '{' { // a server of both eras used the modern code
			return s.done(now, p, *f, out)
		}
	}
	r := p.request
	var room [8]rawjson.Edit
	return s.doneEdited(now, p, f, protocol.TranslateError(room[:0], r.Frame.Method, f, r.Params.URI.Of(r.Frame.Raw), protocol.EraModern), out)
}

// doneEdited completes a call with the edited response.
func (s *state) doneEdited(now time.Time, p *pending, f *protocol.Frame, edits []rawjson.Edit, out []kernel.Effect) []kernel.Effect {
	if len(edits) == 0 {
		return s.done(now, p, *f, out)
	}
	var edited protocol.Frame
	if err := edited.Parse(rawjson.AppendEdited(nil, f.Raw, edits...)); err != nil {
		return s.badAnswer(now, p, "the server's response could not be translated", append(out, kernel.Log(slog.LevelError, "translated response is malformed", p.sampled().LogArgs("err", err)...)))
	}
	return s.done(now, p, edited, out)
}

// done completes a call with a response. The caller must already have removed the call from every table.
func (s *state) done(now time.Time, p *pending, f protocol.Frame, out []kernel.Effect) []kernel.Effect {
	if p.round != nil {
		out = p.round.completed(out)
	}
	s.learnTaskEnd(p, &f)
	out = append(out, s.endedCall(p.call), kernel.Tell(p.call.Holder, message.Done{Seq: p.call.Seq, Frame: f, At: now}))
	return s.stopWhenDrained(now, out)
}

// badAnswer fails a call because of an invalid response. The caller must already have removed the call from every
// table.
func (s *state) badAnswer(now time.Time, p *pending, text string, out []kernel.Effect) []kernel.Effect {
	out = append(out, kernel.Log(slog.LevelWarn, "call failed because of the server's invalid response", p.sampled().LogArgs("method", p.request.Frame.MethodText(), "reason", text)...))
	return s.failed(now, p, protocol.InternalFault, text, out)
}

// failed fails a call with a gateway error. The caller must already have removed the call from every table.
func (s *state) failed(now time.Time, p *pending, name protocol.FaultName, text string, out []kernel.Effect) []kernel.Effect {
	out = append(out, s.endedCall(p.call), kernel.Tell(p.call.Holder, message.Failed{Seq: p.call.Seq, Fault: s.fault(p, name, text)}))
	return s.stopWhenDrained(now, out)
}

// endedCall frees a call's slot. It notifies the pool before the client gets the response, because the client may then send
// another call.
func (s *state) endedCall(call message.CallRef) kernel.Effect {
	return kernel.Tell(s.pool, message.CallEnded{Backend: s.self, Call: call})
}

// retryWithNewHeaders lists the tools again and then sends the call again. The server refused it without executing it,
// because its headers do not match the tool's annotations. MCP 2026-07-28, basic/transports/streamable-http, client
// behavior.
func (s *state) retryWithNewHeaders(p *pending, out []kernel.Effect) []kernel.Effect {
	p.headersRetried = true
	s.conn.headerRetries = append(s.conn.headerRetries, p)
	if l := &s.conn.lists[protocol.Tools]; !l.running {
		return s.fetch(protocol.Tools, out)
	}
	s.conn.lists[protocol.Tools].refetch = true
	return out
}

// resumeHeaderRetries sends the calls that waited for the tools, or fails them if listing failed.
func (s *state) resumeHeaderRetries(now time.Time, failure string, out []kernel.Effect) []kernel.Effect {
	waiting := s.conn.headerRetries
	s.conn.headerRetries = nil
	for _, p := range waiting {
		if failure != "" {
			out = s.badAnswer(now, p, "the server refused the headers of the request, and its tools could not be listed again: "+failure, out)
			continue
		}
		out = s.writeCall(p, out)
	}
	return out
}

// compile parses the header annotations of a list of tools. A tool with invalid annotations is left out.
func (s *state) compile(items [][]byte, out []kernel.Effect) ([][]byte, []kernel.Effect) {
	if s.conn.era != protocol.EraModern || !s.link.headers {
		return items, out
	}
	s.conn.bindings = map[string]*protocol.Bindings{}
	items = slices.DeleteFunc(items, func(raw []byte) bool {
		name := ""
		if item, err := protocol.ParseItem(raw); err == nil {
			name, _ = rawjson.Unquote(item.Name.Of(raw))
		}
		b, err := protocol.CompileBindings(raw)
		if err != nil {
			out = append(out, kernel.Log(slog.LevelWarn, "tool is left out: its x-mcp-header annotations are invalid", "tool", name, "err", err))
			return true
		}
		if b != nil {
			s.conn.bindings[name] = b
		}
		return false
	})
	return items, out
}
