package protocol

import "goblin-actor/protocol/rawjson"

// CheckModern says what is wrong with a modern client's message, nil when nothing is. header as in EraOf; nil, on stdio,
// leaves out what headers must say. It allocates for faults only.
//
// The checks come in the order in which the official servers make them (the suite knows it): required keys of _meta, version
// header, version, Mcp-Method, method, Mcp-Name, params, log level. Notifications need neither headers nor _meta; answers
// are refused.
//
// Two faults leave something to the caller. MethodNotFound with f.M == MethodOther: nothing else is wrong, so whoever knows
// a server that has the method may send it there. And Mcp-Param headers are checked by Bindings, when the tool is known.
func CheckModern(header func(name string) string, f *Frame, p *Params) *Fault {
	switch f.Kind {
	case KindRequest:
	case KindNotification:
		return nil
	default:
		return &Fault{Name: InvalidRequest, Message: "Invalid request: a client sends requests and notifications only"}
	}
	if fault := checkVersion(header, f, p); fault != nil {
		return fault
	}
	if header != nil {
		if fault := checkHeader(HeaderMethod, header(HeaderMethod), f.Raw, f.Method); fault != nil {
			return fault
		}
	}
	if !modernRequest(f.M) {
		return NoMethod(f.MethodText())
	}
	if header != nil {
		if source, given := NameHeader(f.M, p), header(HeaderName) != ""; given && mayCarryName(f.M) || source.Present() && demandsName(f.M) {
			if fault := checkHeader(HeaderName, header(HeaderName), f.Raw, source); fault != nil {
				return fault
			}
		}
	}
	return checkShape(f, p)
}

// CheckMisfit says what to answer to a request whose params Scan has refused with err, and the era of its client. Of a
// modern one, what is wrong with headers and _meta comes first: that must be said (HTTP 400), whatever else is wrong, so that
// nobody between us is fooled by headers. // MCP 2026-07-28, basic, _meta; basic/transports/streamable-http, server validation
func CheckMisfit(header func(name string) string, f *Frame, p *Params, err *ParseError) (fault *Fault, era Era) {
	fault = BadParams(err.Error())
	if EraOf(header, f, p) == EraLegacy {
		return fault, EraLegacy
	}
	if first := CheckModern(header, f, p); first != nil && first.Status(EraModern) != 200 && f.M != MethodOther {
		return first, EraModern
	}
	if uint32(err.Offset) > p.Meta.Off && uint32(err.Offset) < p.Meta.End {
		fault = badMeta(fault.Message)
	}
	return fault, EraModern
}

// checkVersion checks _meta's required keys and the version in body and header.
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

// badMeta is a fault in _meta: HTTP 400. // MCP 2026-07-28, basic, _meta
func badMeta(message string) *Fault {
	return &Fault{Name: InvalidParams, Message: message, status: 400}
}

// modernRequest reports whether a modern client may send such a request. // MCP 2026-07-28, schema, ClientRequest; extension tasks
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

// demandsName reports whether requests of the method are refused without Mcp-Name. The extension for tasks tells clients to send
// it, for whoever routes by it, but says nothing of servers, and FastMCP 4 does not send it; the conformance suite wants it
// not demanded. One that says something else than the body is refused all the same. // SEP-2663, routing headers
func demandsName(m Method) bool { return mayCarryName(m) && !m.is(extension) }

// NameHeader returns the value of params that the header Mcp-Name repeats, absent for methods without the header.
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
		return mismatch("Header mismatch: " + name + " is '" + clip(text) + "', the body has no such value")
	}
	if rawjson.StringIs(body.Of(raw), text) {
		return nil
	}
	want, _ := rawjson.Unquote(body.Of(raw))
	return mismatch("Header mismatch: " + name + " header value '" + clip(text) + "' does not match body value '" + clip(want) + "'")
}

func mismatch(message string) *Fault { return &Fault{Name: HeaderMismatch, Message: message} }

// checkShape checks that params have what the method needs, and the log level.
func checkShape(f *Frame, p *Params) *Fault {
	if f.M.Names() != SubjectNone && !f.M.Named(p).Present() {
		return BadParams("Invalid params: params." + f.M.Names().member() + " is missing")
	}
	if level := p.MetaLogLevel.Of(f.Raw); level != nil && !isLevel(level) {
		return badMeta("Invalid params: _meta has no known io.modelcontextprotocol/logLevel")
	}
	return nil
}
