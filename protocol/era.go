package protocol

// Era is a family of MCP versions.
type Era string

// The eras differ in whether clients have sessions.
const (
	EraUnknown Era = ""       // not yet determined for a server
	EraLegacy  Era = "legacy" // initialize and a session: 2024-11-05 to 2025-11-25
	EraModern  Era = "modern" // self-contained requests without a session: 2026-07-28
)

// Headers of streamable HTTP. MCP 2026-07-28, basic/transports/streamable-http, request metadata
const (
	HeaderVersion = "MCP-Protocol-Version" // equal to _meta's protocolVersion
	HeaderMethod  = "Mcp-Method"           // equal to method
	HeaderName    = "Mcp-Name"             // equal to params.name, .uri or .taskId; see NameHeader
	HeaderParam   = "Mcp-Param-"           // followed by the name in the tool's x-mcp-header; see Bindings
)

// ModernVersions lists the supported versions of the modern era, newest first. Do not modify it.
var ModernVersions = []string{Version20260728}

// IsModern reports whether v is a supported version of the modern era.
func IsModern(v string) bool { return v == Version20260728 }

// EraOf returns the era of a client's message. A message is modern if _meta names a protocol version, if the header names
// 2026-07-28 or later, or if only the modern era has the method. The era belongs to a message, not to a connection.
//
// header returns the value of a header, "" if it is absent, and the values joined with commas if it occurs several times.
// header is nil on stdio.
//
// An initialize with a version in _meta or a modern version header is modern, and CheckModern refuses it. Any other
// initialize is legacy, whatever version its params request.
func EraOf(header func(name string) string, f *Frame, p *Params) Era {
	switch {
	case p.MetaVersion.Present(), modernOnly(f.Method):
		return EraModern
	case header == nil:
		return EraLegacy
	}
	if v := trimHeader(header(HeaderVersion)); isDate(v) && v >= Version20260728 {
		return EraModern
	}
	return EraLegacy
}

// modernOnly reports whether only the modern era has requests of the method. Methods of extensions do not count.
func modernOnly(m Method) bool {
	return modernRequest(m) && !m.In(EraLegacy) && !m.is(extension)
}

// isDate reports whether v has the form of 2026-07-28. Only then can versions be compared as strings.
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
