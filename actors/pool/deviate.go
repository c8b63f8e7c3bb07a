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
)

// Replicas may define a tool in different ways, as members of a group do that run different versions. Clients are shown one
// definition, and a call that was made after it goes to those only that have the same.

// maxNamed is how many tools a warning names.
const maxNamed = 8

// compareTools looks for tools that replicas define otherwise than they are listed.
func (s *state) compareTools(listed [][]byte, out []kernel.Effect) []kernel.Effect {
	if s.replicas() < 2 {
		return out
	}
	s.listedTools = listed
	for _, sl := range s.slots {
		if sl.main && !sl.leaving {
			out = s.compareReplica(sl, out)
		}
	}
	return out
}

// compareReplica does so for one; it is told when what was found is news.
func (s *state) compareReplica(sl *slot, out []kernel.Effect) []kernel.Effect {
	if s.replicas() < 2 || !sl.lists[protocol.Tools].came {
		return out
	}
	was := s.deviations[sl.replica]
	found := differing(s.listedTools, sl.lists[protocol.Tools].items)
	if maps.Equal(was, found) {
		return out
	}
	if len(found) == 0 {
		delete(s.deviations, sl.replica)
		return append(out, kernel.Log(slog.LevelInfo, "the replica defines its tools like the others again", s.whose(sl)...))
	}
	s.deviations[sl.replica] = found
	return append(out, kernel.Log(slog.LevelWarn, "the replica defines tools otherwise than they are listed; calls of these go to others", s.whose(sl, "tools", named(found))...))
}

// differs reports whether the slot's replica defines the tool that is called otherwise.
func (s *state) differs(w wanted, sl *slot) bool {
	return w.tool != "" && s.deviations[sl.replica][w.tool]
}

// onlyDeviating reports whether there is somebody who would take such calls but for that.
func (s *state) onlyDeviating(w wanted) bool {
	return slices.ContainsFunc(s.slots, func(sl *slot) bool {
		return sl.phase == message.Ready && !sl.leaving && w.replicaIs(sl) && s.differs(w, sl)
	})
}

// differing are the tools listed that a replica's own list lacks, or has with other schemas; nil = none. Lists that replicas share
// are one in memory.
func differing(listed, own [][]byte) map[string]bool {
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

func toolName(raw []byte) string {
	item, err := protocol.ParseItem(raw)
	if err != nil {
		return ""
	}
	name, _ := protocol.Unquote(item.Name.Of(item.Raw))
	return name
}

// sameSchemas reports whether two definitions take and give the same; descriptions and the order of members do not matter.
func sameSchemas(a, b []byte) bool {
	return bytes.Equal(schemasOf(a), schemasOf(b))
}

// schemasOf are the schemas of a tool, spelt in one way.
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

// named names the first few of them for people.
func named(tools map[string]bool) string {
	names := slices.Sorted(maps.Keys(tools))
	if len(names) <= maxNamed {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNamed], ", "), len(names)-maxNamed)
}

// warnings are what people are told of the server although it works.
func (s *state) warnings() []string {
	var list []string
	for _, replica := range slices.Sorted(maps.Keys(s.deviations)) {
		whose := fmt.Sprintf("replica %d", replica)
		if entry, own, _ := s.server.Replica(replica); len(s.server.Members) > 0 {
			whose = entry.Name
			if entry.ReplicaCount() > 1 {
				whose = fmt.Sprintf("%s@%d", entry.Name, own)
			}
		}
		list = append(list, fmt.Sprintf("%s gets no calls of tools that it defines otherwise: %s", whose, named(s.deviations[replica])))
	}
	return list
}
