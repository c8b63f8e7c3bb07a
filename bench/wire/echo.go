package wire

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
)

// callParams returns params of a tools/call that makes a request of about smallBytes.
func CallParams(tool string) string {
	return fmt.Sprintf(`{"name":%q,"arguments":{"text":"%0*d"}}`, tool, SmallBytes-115, 0)
}

// Answers of the raw servers. A call costs them a scan of the request and one write.
const (
	SmallBytes = 200     // size of the small request; its answer is about as large
	BigBytes   = 1 << 20 // size of the big result's text
)

// CallParamsOf returns the params of a tools/call with arguments, a JSON object or "".
func CallParamsOf(tool, args string) string {
	name, _ := json.Marshal(tool)
	return `{"name":` + string(name) + `,"arguments":` + cmp.Or(args, "{}") + `}`
}

// tail returns what follows the id in the answer with that result.
func ResultTail(result string) []byte { return []byte(`,"result":` + result + `}`) }

func TextResult(n int) string {
	return `{"content":[{"type":"text","text":"` + strings.Repeat("x", n) + `"}]}`
}

// SmallTail returns the part of the small response after the id.
func SmallTail() []byte { return ResultTail(TextResult(SmallBytes - 80)) }

// BigTail returns the part of the big response after the id.
func BigTail() []byte { return ResultTail(TextResult(BigBytes)) }
