package store

import (
	"errors"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/actortest"
)

// run starts a store on path, lets do talk to it, and stops the system. It returns what the gateway was told.
func run(t *testing.T, path string, do func(kernel.Reference)) message.StateLoaded {
	t.Helper()
	system := kernel.New(kernel.Options{})
	gateway := actortest.NewProbe(system, "gateway")
	ref := actortest.Child(system, func(self kernel.Self) kernel.Reference {
		return Spawn(self, Options{Path: path, Gateway: gateway.Reference, Log: slog.New(slog.DiscardHandler)})
	})
	var loaded []message.StateLoaded
	for range 20_000 {
		if loaded = actortest.Of[message.StateLoaded](gateway); len(loaded) > 0 {
			break
		}
		<-time.After(5 * time.Millisecond)
	}
	do(ref)
	for range 20_000 { // what still waits in the mailbox at the stop is not handled
		depth := 0
		for _, actor := range system.Actors() {
			depth += actor.Depth
		}
		if depth == 0 {
			break
		}
		<-time.After(5 * time.Millisecond)
	}
	actortest.Stop(t, system)
	if len(loaded) != 1 {
		t.Fatalf("StateLoaded was told %d times", len(loaded))
	}
	return loaded[0]
}

func nothing(kernel.Reference) {}

func TestStateOutlivesTheProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	first := run(t, path, func(ref kernel.Reference) {
		ref.Tell(message.RememberEra{Server: "a", Known: modern})
		ref.Tell(message.RememberEra{Server: "b", Known: legacy})
		ref.Tell(message.RememberEra{Server: "b"})
		ref.Tell(message.RememberEra{Server: "c", Known: legacy})
	})
	second := run(t, path, nothing)
	if first.Key != second.Key {
		t.Error("the key changed")
	}
	if len(second.Eras) != 2 || second.Eras["a"] != modern || second.Eras["c"] != legacy {
		t.Errorf("eras %v, want a and c", second.Eras)
	}
}

func TestTwoGateways(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	run(t, path, func(ref kernel.Reference) {
		ref.Tell(message.RememberEra{Server: "a", Known: modern})
		other := run(t, path, func(ref kernel.Reference) { ref.Tell(message.RememberEra{Server: "x", Known: modern}) })
		if len(other.Eras) != 0 || other.Key == (message.SealingKey{}) {
			t.Errorf("the second one has eras %v; want none, and a key of its own", other.Eras)
		}
	})
	if third := run(t, path, nothing); len(third.Eras) != 1 {
		t.Errorf("eras %v, want those of the first gateway", third.Eras)
	}
}

func TestWithoutAFile(t *testing.T) {
	a, b := run(t, "", nothing), run(t, "", nothing)
	if a.Key == b.Key || a.Key == (message.SealingKey{}) {
		t.Error("keys in memory must differ")
	}
}

// In any order of events: StateLoaded once, one write at a time, every file closed, nothing written after.
func TestRandomScripts(t *testing.T) {
	for seed := range uint64(500) {
		rng := rand.New(rand.NewPCG(seed, 3))
		s := &state{path: "x", dirty: map[string]message.KnownEra{}}
		told, writing, open := 0, 0, map[*file]bool{}
		do := func(msg any) {
			if o, ok := msg.(opened); ok && o.file != nil {
				open[o.file] = true
			}
			if _, ok := msg.(written); ok {
				writing--
			}
			for _, e := range step(s, msg, nil) {
				switch a := e.Act.(type) {
				case nil:
					told++
				case putEras:
					if writing++; writing > 1 || !open[a.batch.file] {
						t.Fatalf("seed %d: %d writes at once, file open: %v", seed, writing, open[a.batch.file])
					}
				case closeFile:
					if !open[a.file] {
						t.Fatalf("seed %d: a file was closed twice", seed)
					}
					delete(open, a.file)
				}
			}
		}
		do(kernel.Started{})
		waiting := true
		for range 30 {
			switch n := rng.IntN(6); {
			case n == 0 && waiting:
				waiting = false
				do(opened{file: &file{}})
			case n == 1 && waiting && rng.IntN(3) == 0:
				waiting = false
				do(opened{err: errors.New("no")})
			case n == 2 && rng.IntN(4) == 0:
				do(openExpired{})
			case n == 3 && writing > 0:
				do(written{})
			case n == 4 && writing > 0 && rng.IntN(5) == 0:
				do(written{errors.New("disk full")})
			default:
				do(message.RememberEra{Server: "a", Known: modern})
			}
		}
		if waiting {
			do(openExpired{})
		}
		do(kernel.Stopping{})
		if told != 1 || len(open) != 0 {
			t.Fatalf("seed %d: told %d times, %d files left open", seed, told, len(open))
		}
	}
}
