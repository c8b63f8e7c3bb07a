package wire

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
)

// CallParams returns the params of a tools/call whose request has about SmallBytes bytes.
func CallParams(tool string) string {
	return fmt.Sprintf(`{"name":%q,"arguments":{"text":"%0*d"}}`, tool, SmallBytes-115, 0)
}

// Sizes of requests and results.
const (
	SmallBytes = 200     // of the small request, and approximately of the response to it
	BigBytes   = 1 << 20 // of the text of the big result
)

// CallParamsOf returns the params of a tools/call with arguments, a JSON object or "".
func CallParamsOf(tool, args string) string {
	name, _ := json.Marshal(tool)
	return `{"name":` + string(name) + `,"arguments":` + cmp.Or(args, "{}") + `}`
}

// ResultTail returns the part of a response after the id.
func ResultTail(result string) []byte { return []byte(`,"result":` + result + `}`) }

// TextResult returns a result of tools/call with a text of n bytes.
func TextResult(n int) string {
	return `{"content":[{"type":"text","text":"` + strings.Repeat("x", n) + `"}]}`
}

// SmallTail returns the part of the small response after the id.
func SmallTail() []byte { return ResultTail(TextResult(SmallBytes - 80)) }

// BigTail returns the part of the big response after the id.
func BigTail() []byte { return ResultTail(TextResult(BigBytes)) }
