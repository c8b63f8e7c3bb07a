package limits

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"goblin-actor/bench/load"
	"goblin-actor/bench/wire"
)

// tool is an item of a list of tools.
type tool struct {
	Name        string
	InputSchema struct {
		Properties map[string]json.RawMessage
		Required   []string
	}
	Annotations struct{ ReadOnlyHint, OpenWorldHint bool }
	Meta        struct {
		Server string `json:"goblin-actor/server"`
		Name   string `json:"goblin-actor/name"`
	} `json:"_meta"`

	original string // the tool's name at the server
	args     string // arguments of the call as a JSON object; "" = none
}

// safe reports whether the tool may be called repeatedly without the user's consent. The server must declare it
// read-only and must not declare it open-world, and its required arguments must be simple enough to be generated from
// its schema. args holds these arguments.
func (t tool) safe() (args string, ok bool) {
	if !t.Annotations.ReadOnlyHint || t.Annotations.OpenWorldHint {
		return "", false
	}
	given := map[string]any{}
	for _, name := range t.InputSchema.Required {
		if given[name], ok = example(t.InputSchema.Properties[name]); !ok {
			return "", false
		}
	}
	text, err := json.Marshal(given)
	return string(text), err == nil
}

// example returns a value for a simple schema. It ignores constraints such as pattern, so the value may be invalid.
func example(schema json.RawMessage) (value any, ok bool) {
	var s struct {
		Type           any
		Default, Const any
		Enum, Examples []any
		Minimum        *float64
	}
	if json.Unmarshal(schema, &s) != nil {
		return nil, false
	}
	for _, value := range slices.Concat([]any{s.Const, s.Default}, s.Enum, s.Examples) {
		if value != nil {
			return value, true
		}
	}
	switch s.Type {
	case "string":
		return "a", true
	case "integer", "number":
		if s.Minimum != nil {
			return *s.Minimum, true
		}
		return 1, true
	case "boolean":
		return false, true
	}
	return nil, false
}

// maxTools is the number of tools after which no further page is requested.
const maxTools = 100_000

// listTools returns the valid tools of an endpoint.
func listTools(p *load.Endpoint, modern bool) ([]tool, error) {
	c, err := p.Connect(modern)
	if err != nil {
		return nil, err
	}
	defer c.Leave()
	var all []tool
	for cursor := ""; len(all) < maxTools; {
		params := "{}"
		if cursor != "" {
			text, _ := json.Marshal(cursor)
			params = `{"cursor":` + string(text) + `}`
		}
		result, err := c.Request(c.NewRequest("tools/list", "", params))
		var page struct {
			Tools      []json.RawMessage
			NextCursor string
		}
		if err == nil {
			err = json.Unmarshal(result, &page)
		}
		if err != nil {
			return nil, fmt.Errorf("tools/list: %w", err)
		}
		for _, raw := range page.Tools {
			var t tool
			if json.Unmarshal(raw, &t) == nil && t.Name != "" { // skip invalid items
				t.original = t.Name
				if t.Meta.Name != "" {
					t.original = t.Meta.Name
				}
				all = append(all, t)
			}
		}
		if page.NextCursor == "" || page.NextCursor == cursor {
			break
		}
		cursor = page.NextCursor
	}
	return all, nil
}

// choose returns the server's safe tool with the fewest required arguments and, among equals, the fewest arguments. ok
// is false if the server has no safe tool.
func choose(tools []tool, server string) (best tool, ok bool) {
	needs := func(t tool) int { return 1000*len(t.InputSchema.Required) + len(t.InputSchema.Properties) }
	for _, t := range tools {
		args, safe := t.safe()
		if t.Meta.Server != server || !safe || ok && needs(t) >= needs(best) {
			continue
		}
		best, ok = t, true
		best.args = args
	}
	return best, ok
}

// named returns the tool with that name. Its error lists similar names.
func named(tools []tool, name string) (tool, error) {
	for _, t := range tools {
		if t.Name == name {
			return t, nil
		}
	}
	var near []string
	for _, t := range tools {
		if strings.HasSuffix(t.Name, name) || t.original == name {
			near = append(near, t.Name)
		}
	}
	if len(near) > 0 {
		slices.Sort(near)
		return tool{}, fmt.Errorf("%w: %q; similar names: %s", ErrNoTool, name, strings.Join(near[:min(len(near), 5)], ", "))
	}
	return tool{}, fmt.Errorf("%w: %q", ErrNoTool, name)
}

// probe makes one call and returns an error unless it has a result.
func probe(p *load.Endpoint, t tool, modern bool) error {
	c, err := p.Connect(modern)
	if err != nil {
		return err
	}
	defer c.Leave()
	_, err = c.Request(c.NewRequest("tools/call", t.Name, wire.CallParamsOf(t.Name, t.args)))
	return err
}
