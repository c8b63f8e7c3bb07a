package protocol

import "goblin-actor/protocol/rawjson"

// CheckModern checks a modern client's message and returns nil if it is valid. header is as in EraOf; nil (stdio) skips the
// checks of headers. CheckModern allocates only for faults.
//
// The order of checks is that of the official servers, which the conformance suite expects: required keys of _meta, version
// header, version, Mcp-Method, method, Mcp-Name, params, log level. Notifications need neither headers nor _meta. Responses
// are refused.
//
// MethodNotFound with f.Method == MethodOther means that the checks before the method have passed, so the caller may
// forward the message to a server that has the method. Mcp-Param headers are checked separately, by Bindings.Check,
// when the tool is known.
func CheckModern(header func(name string) string, f *Frame, p *Params) *Fault {
	switch f.Kind {
	case KindRequest:
	case KindNotification:
		return nil
	default:
		return &Fault{Name: InvalidRequest, Message: "Invalid request: a client may send only requests and notifications"}
	}
	if fault := checkVersion(header, f, p); fault != nil {
		return fault
	}
	if header != nil {
		if fault := checkHeader(HeaderMethod, header(HeaderMethod), f.Raw, f.RawMethod); fault != nil {
			return fault
		}
	}
	if !modernRequest(f.Method) {
		return NoMethod(f.MethodText())
	}
	if header != nil {
		if source, given := NameHeader(f.Method, p), header(HeaderName) != ""; given && mayCarryName(f.Method) || source.Present() && demandsName(f.Method) {
			if fault := checkHeader(HeaderName, header(HeaderName), f.Raw, source); fault != nil {
				return fault
			}
		}
	}
	return checkShape(f, p)
}

// ParamsFault returns the fault for a request whose params Scan refused with err, and the era of its client. For a modern
// client, errors in headers and _meta come first: they must be reported with HTTP 400, so that intermediaries are not misled
// by headers. MCP 2026-07-28, basic, _meta; basic/transports/streamable-http, server validation
func ParamsFault(header func(name string) string, f *Frame, p *Params, err *ParseError) (fault *Fault, era Era) {
	fault = BadParams(err.Error())
	if EraOf(header, f, p) == EraLegacy {
		return fault, EraLegacy
	}
	if first := CheckModern(header, f, p); first != nil && first.Status(EraModern) != 200 && f.Method != MethodOther {
		return first, EraModern
	}
	if uint32(err.Offset) > p.Meta.Off && uint32(err.Offset) < p.Meta.End {
		fault = badMeta(fault.Message)
	}
	return fault, EraModern
}

// checkVersion checks the required keys of _meta, and the version in the body and in the header.
func checkVersion(header func(name string) string, f *Frame, p *Params) *Fault {
	switch {
	case !p.MetaVersion.Present():
		return badMeta("Invalid params: _meta lacks io.modelcontextprotocol/protocolVersion")
	case !p.MetaCapabilities.Present():
		return badMeta("Invalid params: _meta lacks io.modelcontextprotocol/clientCapabilities")
	}
	if header != nil {
		if fault := checkHeader(HeaderVersion, header(HeaderVersion), f.Raw, p.MetaVersion); fault != nil {
			return fault
		}
	}
	if !rawjson.StringIs(p.MetaVersion.Of(f.Raw), Version20260728) {
		requested, _ := rawjson.Unquote(p.MetaVersion.Of(f.Raw))
		return &Fault{Name: UnsupportedVersion, Requested: requested}
	}
	return nil
}

// badMeta returns the fault for invalid _meta, with HTTP status 400. MCP 2026-07-28, basic, _meta
func badMeta(message string) *Fault {
	return &Fault{Name: InvalidParams, Message: message, status: 400}
}

// modernRequest reports whether a modern client may send requests of the method. MCP 2026-07-28, schema, ClientRequest;
// extension tasks
func modernRequest(m Method) bool {
	row := m.row()
	return m != MethodOther && row.from&client != 0 && row.eras&inModern != 0 && row.owner != OwnerNone
}

// mayCarryName reports whether requests of the method may carry Mcp-Name.
func mayCarryName(m Method) bool {
	switch m.Names() {
	case SubjectTool, SubjectPrompt, SubjectResource, SubjectTask:
		return modernRequest(m)
	}
	return false
}

// demandsName reports whether requests of the method are refused without Mcp-Name. The tasks extension requires clients to
// send it but says nothing about servers. FastMCP 4 does not send it, and the conformance suite expects servers not to
// require it. A value that differs from the body is refused in any case. SEP-2663, routing headers
func demandsName(m Method) bool { return mayCarryName(m) && !m.is(extension) }

// NameHeader returns the span in params that the header Mcp-Name repeats, or an absent span for methods without it.
func NameHeader(m Method, p *Params) rawjson.Span {
	if !mayCarryName(m) {
		return rawjson.Span{}
	}
	return m.Named(p)
}

// checkHeader compares a header's value with the raw JSON string at the span.
func checkHeader(name, value string, raw []byte, body rawjson.Span) *Fault {
	if value == "" {
		return mismatch("Header mismatch: " + name + " is missing")
	}
	text, ok := trimHeader(value), headerText(value)
	if name == HeaderName {
		text, ok = DecodeHeaderValue(value)
	}
	if !ok {
		return mismatch("Header mismatch: the value of " + name + " is malformed")
	}
	if !body.Present() {
		return mismatch("Header mismatch: " + name + " is '" + clip(text) + "', but the body has no such value")
	}
	if rawjson.StringIs(body.Of(raw), text) {
		return nil
	}
	want, _ := rawjson.Unquote(body.Of(raw))
	return mismatch("Header mismatch: " + name + " header value '" + clip(text) + "' does not match body value '" + clip(want) + "'")
}

func mismatch(message string) *Fault { return &Fault{Name: HeaderMismatch, Message: message} }

// checkShape checks the log level, and that params have the member that the method requires.
func checkShape(f *Frame, p *Params) *Fault {
	if f.Method.Names() != SubjectNone && !f.Method.Named(p).Present() {
		return BadParams("Invalid params: params." + f.Method.Names().member() + " is missing")
	}
	if level := p.MetaLogLevel.Of(f.Raw); level != nil && !isLevel(level) {
		return badMeta("Invalid params: io.modelcontextprotocol/logLevel in _meta is not a log level")
	}
	return nil
}
