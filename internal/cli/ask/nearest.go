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
	meantTime  = 2 * time.Second // timeout for the list of names
	meantNames = 2000            // maximum number of items whose names are compared
	meantBytes = 128             // maximum length of names that are compared, in bytes
)

// notFound returns the kind and name of the unknown tool or prompt that an error of the gateway reports.
func notFound(err error) (kind protocol.ItemKind, name string, found bool) {
	rpc, ok := errors.AsType[*client.RPCError](err)
	if !ok {
		return 0, "", false
	}
	switch rpc.Name() {
	case "TOOL_NOT_FOUND":
		kind = protocol.Tools
		name, found = strings.CutPrefix(rpc.Message, protocol.NoToolPrefix)
	case "PROMPT_NOT_FOUND":
		kind = protocol.Prompts
		name, found = strings.CutPrefix(rpc.Message, protocol.NoPromptPrefix)
	}
	return kind, name, found
}

// meant returns a hint with the tool or prompt whose name is most similar to an unknown one. It compares public names
// and the servers' own names. It returns "" if err is not about an unknown name, if that name is longer than
// meantBytes, if the list cannot be fetched within meantTime, or if no name is similar.
func meant(ctx context.Context, c *client.Client, err error) string {
	kind, name, found := notFound(err)
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
