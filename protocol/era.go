package protocol

// Era is a way to speak MCP.
type Era string

// The eras differ in whether there is a session.
const (
	EraUnknown Era = ""       // of a server that nobody has asked yet
	EraLegacy  Era = "legacy" // initialize and a session: 2024-11-05 … 2025-11-25
	EraModern  Era = "modern" // every request carries everything: 2026-07-28
)

// Headers of streamable HTTP. // MCP 2026-07-28, basic/transports/streamable-http, request metadata
const (
	HeaderVersion = "MCP-Protocol-Version" // equal to _meta's protocolVersion
	HeaderMethod  = "Mcp-Method"           // equal to method
	HeaderName    = "Mcp-Name"             // equal to params.name, .uri or .taskId; see NameHeader
	HeaderParam   = "Mcp-Param-"           // and the name from the tool's x-mcp-header; see Bindings
)

// ModernVersions are the versions without initialize that we speak, newest first. Not to be written to.
var ModernVersions = []string{Version20260728}

// IsModern reports whether v is a version without initialize that we speak.
func IsModern(v string) bool { return v == Version20260728 }

// EraOf returns the era of a client's message. It is modern when _meta names a protocol version, or the header names one from 2026-07-28 on,
// or the method exists there only. The era is each message's own, never a connection's.
//
// header, here and below, returns a header's value, "" when absent, and of several with one name all, with commas between, so
// that none slips through unseen; it is nil on stdio.
//
// An initialize that names a version in _meta or under a modern header is modern, and CheckModern refuses it; any other one is
// legacy, whatever version its params ask for.
func EraOf(header func(name string) string, f *Frame, p *Params) Era {
	switch {
	case p.MetaVersion.Present(), modernOnly(f.M):
		return EraModern
	case header == nil:
		return EraLegacy
	}
	if v := trimHeader(header(HeaderVersion)); isDate(v) && v >= Version20260728 {
		return EraModern
	}
	return EraLegacy
}

// modernOnly reports whether the core of the modern era alone has such requests. An extension's say nothing of the era.
func modernOnly(m Method) bool {
	return modernRequest(m) && !m.In(EraLegacy) && !m.is(extension)
}

// isDate reports whether v looks like 2026-07-28: only then versions can be compared.
func isDate(v string) bool {
	if len(v) != len(Version20260728) {
		return false
	}
	for i := range len(v) {
		if digit := v[i]-'0' < 10; digit == (i == 4 || i == 7) || !digit && v[i] != '-' {
			return false
		}
	}
	return true
}
