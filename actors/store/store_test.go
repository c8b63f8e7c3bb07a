package store

import (
	"errors"
	"log/slog"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"goblin-actor/actors/kernel"
	"goblin-actor/actors/message"
	"goblin-actor/internal/actortest"
	"goblin-actor/protocol"
)

// run starts a store on path, calls do with it, and stops the system. It returns the StateLoaded that the gateway received.
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
	for range 20_000 { // messages still queued at the stop are not handled
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
		t.Fatalf("StateLoaded was sent %d times", len(loaded))
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

// Concurrent gateways of one user read and update the same file and share its key.
func TestTwoGateways(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	var first, second message.StateLoaded
	first = run(t, path, func(ref kernel.Reference) {
		ref.Tell(message.RememberEra{Server: "a", Known: modern})
		ref.Tell(message.RememberCatalog{Server: "s", Known: catalogOf(now, "x")})
		second = run(t, path, func(ref kernel.Reference) {
			ref.Tell(message.RememberEra{Server: "b", Known: modern})
			ref.Tell(message.RememberCatalog{Server: "t", Known: catalogOf(now, "y")})
		})
		ref.Tell(message.RememberCatalog{Server: "s", Known: catalogOf(now, "x", "z")})
	})
	if first.Key != second.Key {
		t.Error("the gateways have different keys")
	}
	third := run(t, path, nothing)
	if len(third.Eras) != 2 || len(third.Catalogs) != 2 || describe(third.Catalogs["s"]) != describe(catalogOf(now, "x", "z")) {
		t.Errorf("eras %v, catalogs %v; want those of both gateways, the newest of each", third.Eras, third.Catalogs)
	}
}

func TestWithoutAFile(t *testing.T) {
	a, b := run(t, "", nothing), run(t, "", nothing)
	if a.Key == b.Key || a.Key == (message.SealingKey{}) {
		t.Error("keys in memory must differ")
	}
}

// For any order of events, StateLoaded is sent once, only one write runs at a time apart from the last one at the stop, no change
// is lost while another process has locked the file, and nothing is written after the stop.
func TestRandomScripts(t *testing.T) {
	for seed := range uint64(500) {
		rng := rand.New(rand.NewPCG(seed, 3))
		s := &state{path: "x", dirty: newBatch(), inFlight: newBatch()}
		told, stopped, due := 0, false, 0
		var writing []batch
		remembered, inFile := map[string]message.KnownEra{}, map[string]message.KnownEra{}
		do := func(msg any) {
			for _, e := range step(s, msg, nil) {
				switch a := e.Act.(type) {
				case nil:
					told++
				case kernel.Wake:
					if _, ok := a.Msg.(writeDue); ok {
						due++
					}
				case writeFile:
					if len(writing) > 0 && !a.last || stopped {
						t.Fatalf("seed %d: two concurrent writes, or a write after the stop", seed)
					}
					if a.last {
						maps.Copy(inFile, a.batch.eras)
						continue
					}
					writing = append(writing, a.batch)
				}
			}
			if due > 1 {
				t.Fatalf("seed %d: two timers", seed)
			}
		}
		do(kernel.Started{})
		waiting, broken := true, false
		for n := range 40 {
			switch rng.IntN(6) {
			case 0:
				if waiting {
					waiting = false
					do(loaded{})
				}
			case 1:
				if waiting && rng.IntN(3) == 0 {
					waiting, broken = false, true
					do(loaded{err: errors.New("no")})
				}
			case 2:
				if due > 0 {
					due--
					do(writeDue{})
				}
			case 3, 4:
				if len(writing) == 0 {
					continue
				}
				b := writing[0]
				writing = nil
				switch rng.IntN(8) {
				case 0:
					broken = true
					do(written{batch: b, err: errors.New("disk full")})
				case 1, 2, 3:
					do(written{batch: b, err: errLocked})
				default:
					maps.Copy(inFile, b.eras)
					do(written{batch: b})
				}
			default:
				era := message.KnownEra{Era: protocol.EraModern, At: now.Add(time.Duration(n))}
				server := string(rune('a' + rng.IntN(3)))
				remembered[server] = era
				do(message.RememberEra{Server: server, Known: era})
			}
		}
		if waiting {
			broken = true
			do(openExpired{})
		}
		for _, b := range writing {
			maps.Copy(inFile, b.eras)
		}
		do(kernel.Stopping{})
		stopped = true
		do(message.RememberEra{Server: "late", Known: modern})
		if told != 1 {
			t.Fatalf("seed %d: StateLoaded sent %d times", seed, told)
		}
		if !broken && !maps.Equal(inFile, remembered) {
			t.Fatalf("seed %d: the file has %v, want %v", seed, inFile, remembered)
		}
	}
}
