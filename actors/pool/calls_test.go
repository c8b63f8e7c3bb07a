package pool

import (
	"math/rand/v2"
	"testing"

	"goblin-actor/actors/message"
)

// Every running call is counted exactly once: as parked, as waiting, or at its connection.
func TestCallCounters(t *testing.T) {
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 0))
		c := calls{running: map[message.CallRef]*run{}}
		conns := []*connection{{}, {}, {}}
		for seq := range uint64(200) {
			switch rng.IntN(3) {
			case 0:
				c.begin(message.CallRef{Seq: seq}, &run{conn: conns[rng.IntN(len(conns))], waitsOnly: rng.IntN(4) == 0})
			case 1:
				for call, r := range c.running {
					c.finish(call, r)
					break
				}
			case 2:
				for _, r := range c.running {
					c.setParked(r, !r.parked)
					break
				}
			}
			parked, waiting, inFlight := 0, 0, map[*connection]int{}
			for _, r := range c.running {
				switch {
				case r.parked:
					parked++
				case r.waitsOnly:
					waiting++
				default:
					inFlight[r.conn]++
				}
			}
			if c.parked != parked || c.waiting != waiting || c.working() != len(c.running)-parked-waiting {
				t.Fatalf("seed %d, step %d: counted %d parked, %d waiting, %d working; want %d, %d, %d",
					seed, seq, c.parked, c.waiting, c.working(), parked, waiting, len(c.running)-parked-waiting)
			}
			for i, conn := range conns {
				if conn.inFlight != inFlight[conn] {
					t.Fatalf("seed %d, step %d: connection %d counts %d calls, want %d", seed, seq, i, conn.inFlight, inFlight[conn])
				}
			}
		}
	}
}
