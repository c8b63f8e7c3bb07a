package ask

import (
	"encoding/json"
	"strings"

	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/client"
)

// problemsOf lists up to ten argument errors of a call that the gateway rejected because of the configuration key
// validateArguments, one per line. The last line says how to see the arguments. It returns "" for other errors.
func problemsOf(rpc *client.RPCError) string {
	var data struct {
		Tool     string `json:"tool"`
		Problems []struct {
			Pointer  string `json:"pointer"`
			Expected string `json:"expected"`
		} `json:"problems"`
	}
	if rpc.Name() != "INVALID_PARAMS" || json.Unmarshal(rpc.Data, &data) != nil || len(data.Problems) == 0 {
		return ""
	}
	var lines []string
	for _, p := range data.Problems[:min(len(data.Problems), 10)] {
		where := p.Pointer
		if where == "" {
			where = "the arguments"
		}
		lines = append(lines, "correct "+terminal.OneLine(where, 200)+": "+terminal.OneLine(p.Expected, 300))
	}
	return strings.Join(append(lines, `run "goblin-actor describe `+terminal.OneLine(data.Tool, 200)+`" to see the tool's arguments`), "\n")
}
