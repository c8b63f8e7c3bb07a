package admission

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"goblin-actor/actors/message"
	"goblin-actor/internal/identity"
	"goblin-actor/internal/status"
	"goblin-actor/protocol"
	"goblin-actor/protocol/downstream"
)

// ClientName is the client's name and version for people, cut and without surprises.
func ClientName(info []byte) string {
	var v struct{ Name, Version string }
	if len(info) > 4096 || json.Unmarshal(info, &v) != nil {
		return ""
	}
	return strings.TrimSpace(Printable(v.Name, 64) + " " + Printable(v.Version, 32))
}

// Printable is s without control characters, or n bytes of it and a sign that there is more.
func Printable(s string, n int) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, s)
	return status.Cut(s, n)
}

// SortedKeys are the keys of m, the smallest first: a step may not depend on the order of a map.
func SortedKeys[V any](m map[uint64]V) []uint64 { return slices.Sorted(maps.Keys(m)) }

// AppendNode appends the member of a result by which a gateway learns that it talks to another one.
func AppendNode(b []byte, node string) []byte {
	return append(append(append(b, `,"_meta":{`...), protocol.NodeMember(node)...), '}')
}

// Requester names a request as its client does. Requests of several principals may come on one connection, from a proxy.
type Requester struct{ Principal, Remote, ID string }

// RequestOf names the request of an exchange.
func RequestOf(x *downstream.Exchange, who *identity.Principal) Requester {
	return Requester{message.PrincipalOf(who), x.Origin.Remote, string(x.Frame.IDBytes())}
}

// RequesterOf names the request that a client takes back.
func RequesterOf(m message.CancelStateless) Requester {
	return Requester{m.Principal, m.Remote, m.RequestID}
}
