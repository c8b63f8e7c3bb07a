package demo

import (
	"encoding/base64"
	"maps"
	"slices"

	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
)

// list answers list requests, one page at a time, ordered by name or URI. The cursor contains the last key of
// the previous page, so it stays valid when items change. MCP 2025-11-25, server/utilities/pagination.
func (f *front) list(c *Call) (any, error) {
	after := ""
	if span := c.x.Params.Cursor; span.Present() {
		text, ok := rawjson.Unquote(span.Of(c.x.Frame.Raw))
		key, err := base64.RawURLEncoding.DecodeString(text)
		if !ok || err != nil || len(key) == 0 {
			return nil, &Error{Code: codeInvalidParams, Message: "cursor: not a cursor of this server"}
		}
		after = string(key)
	}
	size := f.PageSize
	if size <= 0 {
		size = defaultPageSize
	}
	titled := c.session.knows(protocol.Version20250618)
	annotated := c.session.knows(protocol.Version20250326)
	f.mu.Lock()
	defer f.mu.Unlock()
	switch c.x.Frame.Method {
	case protocol.MethodToolsList:
		return page("tools", f.toolsFor(c.session), after, size, func(t Tool) any {
			if !titled {
				t.Title, t.Output = "", nil
			}
			if !annotated {
				t.Annotations = nil
			}
			return t
		}), nil
	case protocol.MethodPromptsList:
		return page("prompts", f.prompts, after, size, func(p Prompt) any {
			if !titled {
				p.Title = ""
			}
			return p
		}), nil
	case protocol.MethodTemplatesList:
		return page("resourceTemplates", f.templates, after, size, func(t Template) any {
			if !titled {
				t.Title = ""
			}
			return t
		}), nil
	}
	return page("resources", f.resources, after, size, func(r Resource) any {
		if !titled {
			r.Title = ""
		}
		return r
	}), nil
}

// page returns at most size items after the key `after`, and a cursor if there are more.
func page[T any](member string, items map[string]T, after string, size int, show func(T) any) any {
	keys := slices.Sorted(maps.Keys(items))
	first, found := slices.BinarySearch(keys, after)
	if found {
		first++
	}
	keys = keys[first:]
	shown := []any{}
	for _, k := range keys[:min(size, len(keys))] {
		shown = append(shown, show(items[k]))
	}
	result := map[string]any{member: shown}
	if len(keys) > size {
		result["nextCursor"] = base64.RawURLEncoding.EncodeToString([]byte(keys[size-1]))
	}
	return result
}

// toolsFor returns the tools that work in the session's version. The caller must hold mu.
func (f *front) toolsFor(s *session) map[string]Tool {
	tools := maps.Clone(f.tools)
	maps.DeleteFunc(tools, func(_ string, t Tool) bool { return !s.knows(t.Since) })
	return tools
}
