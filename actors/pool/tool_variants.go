package pool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
	"goblin-actor/protocol/rawjson"
)

// Replicas may define a tool differently, for example members of a group that run different versions. Clients see one
// definition, and their calls go only to replicas that define the tool that way.

// maxNamedTools is the maximum number of tools that a warning names.
const maxNamedTools = 8

// compareAllTools compares every replica's tools with those that clients see.
func (s *state) compareAllTools(listed [][]byte, out []kernel.Effect) []kernel.Effect {
	if s.replicaCount() < 2 {
		return out
	}
	s.replicas.tools.listed = listed
	for _, conn := range s.replicas.connections {
		if conn.main && !conn.leaving {
			out = s.compareTools(conn, out)
		}
	}
	return out
}

// compareTools compares one replica's tools with those that clients see, and logs what has changed since the last
// comparison.
func (s *state) compareTools(conn *connection, out []kernel.Effect) []kernel.Effect {
	if s.replicaCount() < 2 || !conn.catalog.lists[protocol.Tools].complete {
		return out
	}
	was := s.replicas.tools.deviating[conn.replica]
	found := deviatingTools(s.replicas.tools.listed, conn.catalog.lists[protocol.Tools].items)
	if maps.Equal(was, found) {
		return out
	}
	if len(found) == 0 {
		delete(s.replicas.tools.deviating, conn.replica)
		return append(out, kernel.Log(slog.LevelInfo, "replica's tools match the catalog again", s.logAttrs(conn)...))
	}
	s.replicas.tools.deviating[conn.replica] = found
	return append(out, kernel.Log(slog.LevelWarn, "replica lacks tools or defines them differently from the catalog; calls to these tools go to other replicas", s.logAttrs(conn, "tools", joinNames(found))...))
}

// definesDifferently reports whether the connection's replica lacks the called tool, or defines it differently from
// what clients see.
func (s *state) definesDifferently(w target, conn *connection) bool {
	return w.tool != "" && s.replicas.tools.deviating[conn.replica][w.tool]
}

// onlyDeviatingReady reports whether a ready connection would take calls for the target if its replica did not define
// the tool differently.
func (s *state) onlyDeviatingReady(w target) bool {
	return slices.ContainsFunc(s.replicas.connections, func(conn *connection) bool {
		return conn.phase == message.Ready && !conn.leaving && w.allows(conn) && s.definesDifferently(w, conn)
	})
}

// deviatingTools returns the listed tools that a replica's own list lacks or defines with different schemas, or nil if
// there are none.
func deviatingTools(listed, own [][]byte) map[string]bool {
	if len(listed) == len(own) && (len(own) == 0 || &listed[0] == &own[0]) {
		return nil
	}
	has := make(map[string][]byte, len(own))
	for _, raw := range own {
		has[toolName(raw)] = raw
	}
	var found map[string]bool
	for _, raw := range listed {
		name := toolName(raw)
		if other, ok := has[name]; ok && (bytes.Equal(raw, other) || sameSchemas(raw, other)) {
			continue
		}
		if found == nil {
			found = map[string]bool{}
		}
		found[name] = true
	}
	return found
}

// toolName returns the name of a tool's definition, or "" if it cannot be parsed.
func toolName(raw []byte) string {
	item, err := protocol.ParseItem(raw)
	if err != nil {
		return ""
	}
	name, _ := rawjson.Unquote(item.Name.Of(item.Raw))
	return name
}

// sameSchemas reports whether two definitions have equal schemas. Descriptions and the order of members do not
// matter.
func sameSchemas(a, b []byte) bool {
	return bytes.Equal(schemasOf(a), schemasOf(b))
}

// schemasOf returns a tool's schemas in a canonical form.
func schemasOf(raw []byte) []byte {
	var tool struct{ InputSchema, OutputSchema any }
	in := json.NewDecoder(bytes.NewReader(raw))
	in.UseNumber()
	if in.Decode(&tool) != nil {
		return raw
	}
	spelt, err := json.Marshal([]any{tool.InputSchema, tool.OutputSchema})
	if err != nil {
		return raw
	}
	return spelt
}

// joinNames lists the names of the tools, and counts those beyond the first maxNamedTools.
func joinNames(tools map[string]bool) string {
	names := slices.Sorted(maps.Keys(tools))
	if len(names) <= maxNamedTools {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNamedTools], ", "), len(names)-maxNamedTools)
}

// toolVariants records how the tools of replicas differ from those that clients see.
type toolVariants struct {
	deviating map[int]map[string]bool // names of the tools that a replica lacks or defines differently; no entry = none
	listed    [][]byte                // the tools that clients see; nil for a server with one replica
}
