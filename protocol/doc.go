// Package protocol parses and translates JSON-RPC 2.0 and MCP messages as bytes. It contains a scanner that validates a
// message and finds its members, the table of methods, the gateway's errors, protocol versions, and the translation
// between the two eras. Package rawjson finds and replaces parts of a message.
//
// The package is pure: no I/O, no clock, no goroutines, and no state except tables and a pool of buffers. All functions
// are safe for concurrent use as long as nothing writes to the bytes of a message.
//
// A frame that Parse accepts is valid JSON in valid UTF-8, and none of its top-level keys (jsonrpc, id, method, params,
// result, error) occurs twice, escaped or in another case. Params.Scan also refuses repeated keys in params, if the
// gateway reads their values. So all decoders read a message in the same way, and the gateway can forward it as it
// arrived. It replaces only the fields that must differ (such as id, name and URI) and leaves every other byte
// unchanged.
//
// The eras are the legacy versions (2024-11-05 to 2025-11-25) and the modern one (2026-07-28). EraOf and CheckModern
// classify and check client messages. ToLegacyRequest, ToModernRequest, ToLegacyResult, ToModernResult and TranslateError
// return the edits that translate a message. Bindings describes a tool's Mcp-Param headers.
//
//	var f protocol.Frame
//	if err := f.Parse(line); err != nil { … }          // *ParseError
//	var p protocol.Params
//	if err := p.Scan(&f); err != nil { … }
//	out := rawjson.AppendEdited(nil, f.Raw,
//		rawjson.Edit{Span: f.ID, With: []byte("17")},
//		rawjson.Edit{Span: p.Name, With: []byte(`"read_file"`)})
package protocol
