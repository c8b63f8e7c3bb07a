package tui

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gdamore/tcell/v2"

	"goblin-actor/internal/status"
)

// watched is a Source that can stop responding.
type watched struct {
	fixed
	mu       sync.Mutex
	gone     bool
	followed atomic.Bool // a stream was opened
}

func (w *watched) Status(ctx context.Context) (*status.Snapshot, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.gone {
		return nil, errGone
	}
	return w.fixed.Status(ctx)
}

func (w *watched) Follow(ctx context.Context, _ status.FollowOptions, tell func(status.Notice) error) error {
	w.followed.Store(true)
	return followed(ctx, w, w.get().rates, tell)
}

func (w *watched) set(gone bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gone = gone
}

// stage runs a console on a simulated screen.
type stage struct {
	t      *testing.T
	screen *copied
	source *watched
	cancel context.CancelFunc
	ended  chan error
}

func run(t *testing.T) *stage {
	t.Helper()
	s := &stage{t: t, screen: &copied{SimulationScreen: tcell.NewSimulationScreen("UTF-8")}, source: &watched{}, ended: make(chan error, 1)}
	s.source.acted = make(chan status.Action, 1)
	var ctx context.Context
	ctx, s.cancel = context.WithCancel(t.Context())
	go func() { s.ended <- Run(ctx, s.source, Options{Screen: s.screen}) }()
	return s
}

func (s *stage) key(k tcell.Key, r rune) { s.screen.InjectKey(k, r, tcell.ModNone) }

func (s *stage) typed(text string) {
	for _, r := range text {
		s.key(tcell.KeyRune, r)
	}
}

// await waits until the screen shows a text.
func (s *stage) await(want string) {
	s.t.Helper()
	limit := time.After(20 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		shown := s.shown()
		if strings.Contains(shown, want) {
			return
		}
		select {
		case <-tick.C:
		case <-limit:
			s.t.Fatalf("the screen does not show %q:\n%s", want, shown)
		}
	}
}

// copied is a screen that keeps a copy of its content.
type copied struct {
	tcell.SimulationScreen
	mu   sync.Mutex
	text string
}

// Show implements tcell.Screen.
func (c *copied) Show() {
	c.SimulationScreen.Show()
	text := strings.Join(screenLines(c.SimulationScreen), "\n")
	c.mu.Lock()
	defer c.mu.Unlock()
	c.text = text
}

func (s *stage) shown() string {
	s.screen.mu.Lock()
	defer s.screen.mu.Unlock()
	return s.screen.text
}

func (s *stage) end() {
	s.t.Helper()
	select {
	case err := <-s.ended:
		if err != nil {
			s.t.Error(err)
		}
	case <-time.After(20 * time.Second):
		buf := make([]byte, 1<<16)
		s.t.Fatalf("the console did not end:\n%s", buf[:runtime.Stack(buf, true)])
	}
}

func TestRun(t *testing.T) {
	before := runtime.NumGoroutine()
	s := run(t)
	s.await("servers[5] worst first")
	s.typed(":servers")
	s.key(tcell.KeyEnter, 0)
	s.await("› servers")
	s.key(tcell.KeyCtrlD, 0)
	s.await("y/n")
	s.typed("n")
	s.await("canceled")
	s.key(tcell.KeyCtrlD, 0)
	s.await("y/n")
	s.typed("y")
	if got, want := <-s.source.acted, samplePicture().Aimed(status.Action{Verb: status.Restart, Server: "issues"}); got != want {
		t.Errorf("action %+v, want %+v", got, want)
	}
	s.await("restart issues: requested")
	s.typed(":metrics")
	s.key(tcell.KeyEnter, 0)
	s.await("goblin_in_flight")
	s.source.set(true)
	s.await("no answer for")
	s.source.set(false)
	s.await("the gateway is responding again")
	for _, size := range [][2]int{{20, 5}, {1, 1}, {500, 2}, {2, 100}, {80, 24}} {
		s.screen.SetSize(size[0], size[1])
		s.screen.PostEvent(tcell.NewEventResize(size[0], size[1]))
	}
	s.typed("-")
	s.await("› servers")
	s.typed(":quit")
	s.key(tcell.KeyEnter, 0)
	s.end()
	s.cancel()
	s.leftNothing(before)
}

// leftNothing checks that the console has left no goroutine running.
func (s *stage) leftNothing(before int) {
	s.t.Helper()
	for range 400 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	buf := make([]byte, 1<<16)
	s.t.Errorf("%d goroutines before, %d after:\n%s", before, runtime.NumGoroutine(), buf[:runtime.Stack(buf, true)])
}

// Run ends when the caller's context ends, even before the first draw.
func TestRunEndsWithItsContext(t *testing.T) {
	for _, wait := range []time.Duration{0, 50 * time.Millisecond} {
		s := run(t)
		if wait > 0 {
			s.await("overview")
		}
		s.cancel()
		s.end()
	}
	s := run(t)
	s.await("overview")
	s.key(tcell.KeyCtrlC, 0)
	s.end()
}
