package node

import (
	"strings"
	"testing"

	"goblin-actor/internal/bus"
	"goblin-actor/internal/cluster"
)

// The bus carries the largest note.
func TestLargestNote(t *testing.T) {
	n := cluster.Note{Cluster: strings.Repeat("c", 64), From: "abcdefg2", Seq: 1 << 63, Session: strings.Repeat("s", cluster.MaxSessionID),
		Holder: strings.Repeat("\"", cluster.MaxHolder), Level: "emergency"}
	n.SetURIs([]string{strings.Repeat("u", cluster.MaxNote-len(`[""]`))})
	if size := len(n.Encode()); n.TooLarge || size > bus.MaxQuestion {
		t.Errorf("%d bytes, the bus carries %d", size, bus.MaxQuestion)
	}
}
