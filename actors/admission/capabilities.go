package admission

import (
	"goblin-actor/protocol/rawjson"
)

// capabilities are what clients of every era are told.
const capabilities = `{"completions":{},"logging":{},"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true},"tools":{"listChanged":true}}`

// Declares reports whether capabilities, a raw JSON object, have the extension.
func Declares(capabilities []byte, extension string) bool {
	whole := rawjson.Span{End: uint32(len(capabilities))}
	if whole.End == 0 {
		return false
	}
	settings := rawjson.Member(capabilities, rawjson.Member(capabilities, whole, "extensions"), extension).Of(capabilities)
	return settings != nil && settings[0] == '{'
}
