package ask

import (
	"context"
	"errors"
	"strings"
	"time"

	"goblin-actor/internal/cli/terminal"
	"goblin-actor/internal/client"
	"goblin-actor/internal/config"
	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
)

const (
	meantTime  = 2 * time.Second // for the list that is searched
	meantNames = 2000            // of it, at most
	meantBytes = 128             // longer names are not compared
)

// meant is a hint that names the tool or prompt whose name is most like the one nobody knows; "" when err is not about a
// name, or none is near. Names as the servers give them count, too.
func meant(ctx context.Context, c *client.Client, err error) string {
	rpc, ok := errors.AsType[*client.RPCError](err)
	if !ok {
		return ""
	}
	kind, name, found := protocol.Tools, "", false
	switch rpc.Name() {
	case "TOOL_NOT_FOUND":
		name, found = strings.CutPrefix(rpc.Message, protocol.NoToolPrefix)
	case "PROMPT_NOT_FOUND":
		kind = protocol.Prompts
		name, found = strings.CutPrefix(rpc.Message, protocol.NoPromptPrefix)
	}
	if !found || name == "" || len(name) > meantBytes {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, meantTime)
	defer cancel()
	items, err := c.List(ctx, kind)
	if err != nil {
		return ""
	}
	var names []string
	public := map[string]string{}
	for _, item := range items[:min(len(items), meantNames)] {
		own, _ := rawjson.Unquote(item.Name.Of(item.Raw))
		for _, n := range []string{own, meta(item, "goblin-actor/name")} {
			if _, known := public[n]; n != "" && len(n) <= meantBytes && !known {
				names, public[n] = append(names, n), own
			}
		}
	}
	near := config.Nearest(name, names)
	if near == "" {
		return ""
	}
	return "did you mean " + terminal.OneLine(public[near], meantBytes) + "?"
}
