package kernel

import (
	"context"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"
)

// work is a message like those on the hot path: a pointer. Its reply may be nil.
type work struct{ reply chan int }

// pure is a Logic that handles only work: it marks the message as done in seen, if seen is set, and answers it. Its
// effects are values, as in real actors.
type pure struct{ seen *sync.WaitGroup }

type replied struct{ reply chan int }

func (*pure) Step(_ time.Time, msg any, out []Effect) []Effect {
	if w, ok := msg.(*work); ok {
		return append(out, Act(replied{w.reply}))
	}
	return out
}

func (p *pure) Act(_ Self, act any) {
	e := act.(replied)
	if p.seen != nil {
		p.seen.Done()
	}
	if e.reply != nil {
		select {
		case e.reply <- 1:
		default:
		}
	}
}

func spawnPure(s *System, name string, limit int, seen *sync.WaitGroup) Reference {
	return Spawn(s, SpawnOptions{Name: name, Mailbox: limit}, func(Self) Logic { return &pure{seen} })
}

func benchSystem(b *testing.B) *System {
	s := New(Options{})
	b.Cleanup(func() {
		if err := s.Stop(context.Background()); err != nil {
			b.Error(err)
		}
	})
	return s
}

// BenchmarkTell measures sending messages to one actor from one goroutine, including their handling.
func BenchmarkTell(b *testing.B) {
	var seen sync.WaitGroup
	r := spawnPure(benchSystem(b), "a", 1<<30, &seen)
	msg := &work{}
	b.ReportAllocs()
	for b.Loop() {
		seen.Add(1)
		r.Tell(msg)
	}
	seen.Wait()
}

// BenchmarkTellWait measures TellWait from one goroutine to an actor with a mailbox of 256. The actor is idle most of
// the time, so it handles most messages on the sender's goroutine.
func BenchmarkTellWait(b *testing.B) {
	var seen sync.WaitGroup
	r := spawnPure(benchSystem(b), "a", 256, &seen)
	msg := &work{}
	b.ReportAllocs()
	for b.Loop() {
		seen.Add(1)
		if err := r.TellWait(context.Background(), msg); err != nil {
			b.Fatal(err)
		}
	}
	seen.Wait()
}

// BenchmarkAsk measures a message with a reply channel to an idle actor and back.
func BenchmarkAsk(b *testing.B) {
	r := spawnPure(benchSystem(b), "a", 0, nil)
	b.ReportAllocs()
	for b.Loop() {
		w := &work{make(chan int, 1)}
		r.Tell(w)
		<-w.reply
	}
}

// BenchmarkAskParallel measures messages with a reply channel from 32 × GOMAXPROCS goroutines to 64 actors.
func BenchmarkAskParallel(b *testing.B) {
	s := benchSystem(b)
	var actors [64]Reference
	for i := range actors {
		actors[i] = spawnPure(s, strconv.Itoa(i), 0, nil)
	}
	b.SetParallelism(32)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for i := 0; pb.Next(); i++ {
			w := &work{make(chan int, 1)}
			actors[i%len(actors)].Tell(w)
			<-w.reply
		}
	})
}

// BenchmarkFanOut measures, per recipient, sending one message to each of 10,000 idle actors until all have handled it.
func BenchmarkFanOut(b *testing.B) {
	s := benchSystem(b)
	var seen sync.WaitGroup
	actors := make([]Reference, 10_000)
	for i := range actors {
		actors[i] = spawnPure(s, strconv.Itoa(i), 0, &seen)
	}
	msg := &work{}
	b.ReportAllocs()
	for b.Loop() {
		seen.Add(len(actors))
		for _, r := range actors {
			r.Tell(msg)
		}
		seen.Wait()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(actors)), "ns/recipient")
}

// BenchmarkSpawnStop measures spawning and stopping an actor.
func BenchmarkSpawnStop(b *testing.B) {
	s := benchSystem(b)
	b.ReportAllocs()
	for b.Loop() {
		r := spawnPure(s, "a", 0, nil)
		r.cell.stop(WhyAsked)
		<-r.cell.stopped
	}
}

// BenchmarkIdle measures the heap memory of an idle actor that has handled one message.
func BenchmarkIdle(b *testing.B) {
	const actors = 10_000
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	for b.Loop() {
		s := New(Options{})
		before := heap()
		var seen sync.WaitGroup
		seen.Add(actors)
		for i := range actors {
			spawnPure(s, "session/"+strconv.Itoa(i), 0, &seen).Tell(&work{})
		}
		seen.Wait()
		b.ReportMetric(float64(heap()-before)/actors, "B/actor")
		if err := s.Stop(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkNewSystem measures creating an empty System, as each start of the gateway does.
func BenchmarkNewSystem(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		New(Options{})
	}
}
