package backend

import (
	"bytes"
	"log/slog"
	"slices"

	"goblin-actor/actors/kernel"
	"goblin-actor/protocol"
	"goblin-actor/protocol/namespace"
	"goblin-actor/protocol/rawjson"
)

// dropLoops leaves out items that came from this gateway or through too many other gateways. Gateways may be each
// other's servers, but their catalogs must not grow forever. In items of another gateway, it records that gateway as
// part of the path.
func (s *state) dropLoops(kind protocol.ItemKind, items [][]byte, out []kernel.Effect) ([][]byte, []kernel.Effect) {
	ours, far := 0, 0
	kept := items[:0]
	for _, raw := range items {
		if s.conn.peer.node == "" && !bytes.Contains(raw, []byte(s.node)) {
			kept = append(kept, raw) // the usual case
			continue
		}
		item, err := protocol.ParseItem(raw)
		if err != nil {
			kept = append(kept, raw)
			continue
		}
		switch nodes := protocol.Nodes(&item); {
		case slices.Contains(nodes, s.node):
			ours++
		case len(nodes) >= protocol.MaxNodes:
			far++
		case s.conn.peer.node != "":
			kept = append(kept, protocol.Through(&item, s.conn.peer.node, nodes))
		default:
			kept = append(kept, raw)
		}
	}
	if ours > 0 && !s.conn.peer.listsUs {
		s.conn.peer.listsUs = true
		out = append(out, kernel.Log(slog.LevelWarn, "server is a gateway that lists items of this gateway, directly or through other gateways; they are left out", "kind", kind.String(), "items", ours))
	}
	if far > 0 {
		out = append(out, kernel.Log(slog.LevelWarn, "items came through too many gateways; they are left out", "kind", kind.String(), "items", far, "limit", protocol.MaxNodes))
	}
	if s.conn.peer.node != "" {
		kept = withoutMetaTools(kept)
	}
	return kept, out
}

// withoutMetaTools leaves out the meta tools of another gateway, since this gateway's meta tools find the tools of that
// gateway, too. If it lists nothing else (metaTools: only), they are kept as the only way to its tools.
func withoutMetaTools(items [][]byte) [][]byte {
	isMeta := func(raw []byte) bool {
		if !bytes.Contains(raw, []byte(protocol.MetaServer)) {
			return false
		}
		item, err := protocol.ParseItem(raw)
		if err != nil {
			return false
		}
		server, _ := rawjson.Unquote(rawjson.Member(raw, item.Meta, protocol.MetaServer).Of(raw))
		return server == namespace.OwnServer
	}
	if !slices.ContainsFunc(items, func(raw []byte) bool { return !isMeta(raw) }) {
		return items
	}
	return slices.DeleteFunc(items, isMeta)
}
