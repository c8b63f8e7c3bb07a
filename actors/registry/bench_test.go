package registry

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"goblin-actor/actors/catalog"
	"goblin-actor/actors/message"
	"goblin-actor/protocol"
)

// BenchmarkChange measures a whole publication: from the changed list of one of 100 servers, which together have
// 10 000 tools of typical size (about 600 bytes), to the effects for subscribers and watchers.
func BenchmarkChange(b *testing.B) {
	s := newState(Options{Naming: naming})
	now := time.Unix(1e9, 0)
	var lists [2][][]byte
	for server := range 100 {
		s.step(now, message.SetServerRules{Server: catalog.Server{Name: fmt.Sprint("server", server), Order: server}}, nil)
		var list [][]byte
		for tool := range 100 {
			list = append(list, fmt.Appendf(nil, `{"name":"tool_%d","description":%q,"inputSchema":{"type":"object","properties":{"path":{"type":"string","description":%q}},"required":["path"]}}`,
				tool, strings.Repeat("does a thing ", 15), strings.Repeat("where it is ", 20)))
		}
		s.step(now, message.ServerCatalog{Server: fmt.Sprint("server", server), Kind: protocol.Tools, Items: list}, nil)
		lists = [2][][]byte{list, list[1:]}
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		now = now.Add(time.Hour)
		s.pace.restarted()
		s.changeLog.waiting = false
		effects := s.step(now, message.ServerCatalog{Server: "server99", Kind: protocol.Tools, Items: append([][]byte(nil), lists[i%2]...)}, nil)
		told := 0
		for _, e := range effects {
			if r, ok := e.Act.(remember); ok {
				told += len(r.changes)
			}
		}
		if i > 1 && told != 1 {
			b.Fatalf("%d changes recorded in %d effects", told, len(effects))
		}
	}
}
