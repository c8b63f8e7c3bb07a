package admission

import (
	"goblin-actor/protocol/rawjson"
)

// capabilities are the capabilities that the gateway announces itself, to clients of both eras.
const capabilities = `{"completions":{},"logging":{},"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true},"tools":{"listChanged":true}}`

// Declares reports whether capabilities, a raw JSON object, contain the extension.
func Declares(capabilities []byte, extension string) bool {
	whole := rawjson.Span{End: uint32(len(capabilities))}
	if whole.End == 0 {
		return false
	}
	settings := rawjson.Member(capabilities, rawjson.Member(capabilities, whole, "extensions"), extension).Of(capabilities)
	return settings != nil && settings[0] == '{'
}
