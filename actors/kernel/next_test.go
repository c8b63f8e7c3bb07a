package kernel

import (
	"testing"
	"time"
)

// A message queued with Next is handled before the ChildStopped of a child spawned in the same effect.
func TestNextComesBeforeChildStopped(t *testing.T) {
	bubble(t, func(t *testing.T, s *System) {
		var d diary
		r := Spawn(s, SpawnOptions{Name: "p"}, d.build(func(self Self, msg any) {
			if msg != "spawn" {
				return
			}
			SpawnChild(self, SpawnOptions{Name: "c"}, func(self Self) Logic {
				self.Stop()
				return d.build(nil)(self)
			})
			time.Sleep(time.Second) // the child has ended
			self.Next("spawned")
			self.Next("as well")
			self.Reference().Tell("later")
		}))
		r.Tell("spawn")
		time.Sleep(2 * time.Second)
		d.expect(t, "p#1 started", "p#1 spawn", "p/c#1 started", "p/c#1 stopped", "p#1 spawned", "p#1 as well", "p#1 p/c gone <nil>", "p#1 later")
	})
}
