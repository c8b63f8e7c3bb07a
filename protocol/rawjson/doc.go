// Package rawjson reads and edits JSON text without decoding it into values.
//
// A value is identified by its Span in the text. Member, Members, Elements and Walker find values. An Edit replaces one, and
// AppendEdited and Pieces apply edits. All bytes outside the edits stay as they are.
//
// The text must be valid JSON and valid UTF-8 (protocol.Frame.Parse and protocol.Valid check that). On other input the
// functions may return nonsense, but they terminate, stay inside the slice and do not panic. All functions may be called
// concurrently as long as nothing writes to the bytes.
//
//	name := rawjson.Member(raw, rawjson.Whole(raw), "name")
//	raw = rawjson.AppendEdited(nil, raw, rawjson.Edit{Span: name, With: rawjson.Quote("read_file")})
package rawjson
