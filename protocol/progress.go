package protocol

import (
	"strconv"

	"goblin-actor/protocol/rawjson"
)

// ProgressOf returns the progress and the total of a notifications/progress (MCP 2025-11-25, basic/utilities/progress). Each is 0
// if it is absent, invalid or negative.
func ProgressOf(f *Frame) (progress, total float64) {
	number := func(key string) float64 {
		n, err := strconv.ParseFloat(string(rawjson.Member(f.Raw, f.Params, key).Of(f.Raw)), 64)
		if err != nil || !(n > 0) {
			return 0
		}
		return n
	}
	return number("progress"), number("total")
}
