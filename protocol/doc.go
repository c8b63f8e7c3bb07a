// Package protocol is JSON-RPC 2.0 and MCP as bytes and numbers: one scanner that checks a message and says where its
// members stand, edits that splice new bytes in, method numbers, errors, versions, public names and URI templates.
// It is pure: no I/O, no clock, no goroutine, no state but tables. Everything may be used from any goroutine as long as
// nobody writes to the bytes.
//
// A frame that Parse accepted is valid JSON and UTF-8 with exactly one meaning: no key we route on stands there twice or
// in disguise. So it may be forwarded as it came; what must differ (id, name, URI) is spliced, every other byte stays.
//
// Messages of the two eras (up to 2025-11-25, from 2026-07-28 on) are made into each other the same way: EraOf and CheckModern judge
// what a client sends, ToLegacyRequest, ToModernRequest, ToLegacyResult, ToModernResult and TranslateError return the edits, Bindings know
// a tool's headers, and package seal makes requestState.
//
//	var f protocol.Frame
//	if err := f.Parse(line); err != nil { … }          // *ParseError
//	var p protocol.Params
//	if err := p.Scan(&f); err != nil { … }
//	out := rawjson.AppendEdited(nil, f.Raw,
//		rawjson.Edit{Span: f.ID, With: []byte("17")},
//		rawjson.Edit{Span: p.Name, With: []byte(`"read_file"`)})
package protocol
