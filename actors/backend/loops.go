package backend

import (
	"bytes"
	"log/slog"
	"slices"

	"goblin-actor/actors/kernel"
	"goblin-actor/protocol"
)

// dropLoops leaves out what came from this gateway itself, or through too many others: gateways may list each other, but
// their catalogs must not grow by each other for ever. Of a gateway's items it notes the way they came.
func (s *state) dropLoops(kind protocol.ItemKind, items [][]byte, out []kernel.Effect) ([][]byte, []kernel.Effect) {
	ours, far := 0, 0
	kept := items[:0]
	for _, raw := range items {
		if s.conn.peer == "" && !bytes.Contains(raw, []byte(s.node)) {
			kept = append(kept, raw) // nearly all items there are
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
		case s.conn.peer != "":
			kept = append(kept, protocol.Through(&item, s.conn.peer, nodes))
		default:
			kept = append(kept, raw)
		}
	}
	if ours > 0 && !s.conn.listsUs {
		s.conn.listsUs = true
		out = append(out, kernel.Log(slog.LevelWarn, "the server is a gateway that has this one among its servers; what came from here is left out", "kind", kind.String(), "items", ours))
	}
	if far > 0 {
		out = append(out, kernel.Log(slog.LevelWarn, "items came through too many gateways; they are left out", "kind", kind.String(), "items", far, "limit", protocol.MaxNodes))
	}
	return kept, out
}
