package session

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// clientName is the client's name and version for people, cut and without surprises.
func clientName(info []byte) string {
	var v struct{ Name, Version string }
	if len(info) > 4096 || json.Unmarshal(info, &v) != nil {
		return ""
	}
	return strings.TrimSpace(cut(v.Name, 64) + " " + cut(v.Version, 32))
}

func cut(s string, n int) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, s)
	if len(s) > n {
		s = strings.ToValidUTF8(s[:n], "")
	}
	return s
}

func sortedKeys[V any](m map[uint64]V) []uint64 { return slices.Sorted(maps.Keys(m)) }

// appendNode appends the member of a result by which a gateway learns that it talks to another one.
func appendNode(b []byte, node string) []byte {
	return append(append(append(b, `,"_meta":{`...), protocol.NodeMember(node)...), '}')
}

// clientID names a request as its client does.
type clientID struct{ remote, id string }

func idOf(x *downstream.Exchange) clientID {
	return clientID{x.Origin.Remote, string(x.Frame.IDBytes())}
}

func serverInfo(version string) []byte {
	return append(protocol.AppendQuoted([]byte(`{"name":"goblin-actor","version":`), version), '}')
}
