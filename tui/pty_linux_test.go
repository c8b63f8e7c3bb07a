//go:build !race

// The race detector makes a key take ten times as long. make test runs this file without it.

package tui

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"
	"golang.org/x/sys/unix"

	"goblin-actor/internal/gatetest"
	"goblin-actor/internal/status"
)

// countingPTY is a terminal that counts the bytes it receives.
type countingPTY struct {
	main  *os.File
	name  string
	bytes atomic.Int64
}

func newCountingPTY(t *testing.T, w, h int) *countingPTY {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	main := os.NewFile(uintptr(fd), "/dev/ptmx") // closing it ends a Read
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Col: uint16(w), Row: uint16(h)}); err != nil {
		t.Fatal(err)
	}
	p := &countingPTY{main: main, name: fmt.Sprintf("/dev/pts/%d", n)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		io.Copy(p, main)
	}()
	t.Cleanup(func() {
		main.Close()
		<-done
	})
	return p
}

func (p *countingPTY) Write(b []byte) (int, error) {
	p.bytes.Add(int64(len(b)))
	return len(b), nil
}

// busy is a Source of a large gateway with ten updates a second.
type busy struct{ fixed }

func (*busy) Follow(ctx context.Context, o status.FollowOptions, tell func(status.Notice) error) error {
	tick := time.NewTicker(minPause)
	defer tick.Stop()
	_ = tell(status.Notice{Hello: &status.Hello{Boot: "x"}})
	for round := 0; ; round++ {
		snapshot := largeSnapshot(round)
		_ = tell(status.Notice{Snapshot: snapshot})
		if len(o.Want) > 1 {
			_ = tell(status.Notice{Finished: largeFinished(round)})
			_ = tell(status.Notice{Log: []status.Event{{Number: uint64(round + 1), Time: snapshot.Now, Level: "INFO", Message: "server is ready", Server: "files"}}})
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (*busy) Items(context.Context, uint64) (*status.Items, error) { return largeItems(), nil }

func (*busy) Usage(context.Context) ([]status.ItemUsage, error) {
	return largeUsage(int(time.Now().Unix() % 1000)), nil
}

// timed is the console as the root of an application. It records how much CPU time the screen's thread takes from each key
// until the screen shows the key's effect, including the time for a Picture that is drawn in between. Other processes do
// not affect it.
type timed struct {
	*App
	clock   int32              // the thread's clock of CPU time
	pressed chan time.Duration // capacity 1: time of that clock when the key was pressed
	shown   chan time.Duration // what the key took
}

func (a *timed) time() time.Duration {
	var ts unix.Timespec
	_ = unix.ClockGettime(a.clock, &ts)
	return time.Duration(ts.Nano())
}

// InputHandler implements tview.Primitive.
func (a *timed) InputHandler() func(*tcell.EventKey, func(tview.Primitive)) {
	return func(e *tcell.EventKey, focus func(tview.Primitive)) {
		a.App.InputHandler()(e, focus)
		began := <-a.pressed
		a.screen.SetAfterDrawFunc(func(screen tcell.Screen) {
			screen.Show()
			a.screen.SetAfterDrawFunc(nil)
			a.shown <- a.time() - began
		})
	}
}

// With ten thousand tools, a thousand sessions and ten updates a second, a key is on the screen after at most 16 ms of CPU time
// (p99), and the terminal receives at most 32 KB a second.
func TestKeyToScreen(t *testing.T) {
	xterm, err := tcell.LookupTerminfo("xterm-256color")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, open, keys string }{
		{"overview", "", "<tab><down>"},
		{"tools", "2/", "thing<backspace><backspace><backspace><backspace><backspace>"},
		{"tools sorted", "2", "NC"},
		{"sessions", "7", "R<down>"},
		{"calls", "6", "<down>T"},
		{"actors", "8", "<down>D"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newCountingPTY(t, 120, 40)
			tty, err := tcell.NewDevTtyFromDev(p.name)
			if err != nil {
				t.Fatal(err)
			}
			own := *xterm // a screen completes its copy
			screen, err := tcell.NewTerminfoScreenFromTtyTerminfo(tty, &own)
			if err != nil {
				t.Fatal(err)
			}
			a := &timed{App: newApp(t.Context(), &busy{}, Options{}), pressed: make(chan time.Duration, 1), shown: make(chan time.Duration, 1)}
			ended := make(chan error, 1)
			thread := make(chan int32, 1)
			go func() {
				runtime.LockOSThread() // the thread that handles keys and draws; it ends with this goroutine
				thread <- int32(unix.Gettid())
				ended <- a.run(t.Context(), screen, a)
			}()
			a.clock = ^<-thread<<3 | 6 // see clock_gettime(2): the CPU time of a thread
			defer func() {
				a.quit()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			}()
			for _, key := range separate(c.open) {
				p.key(t, a, key)
			}
			time.Sleep(time.Second) // the catalog arrives
			from, began := p.bytes.Load(), time.Now()
			time.Sleep(time.Second)
			rate := float64(p.bytes.Load()-from) / time.Since(began).Seconds()
			t.Logf("%.1f KB/s", rate/1000)
			if rate > 32_000 {
				t.Errorf("the terminal receives %.1f KB/s", rate/1000)
			}
			keys := separate(c.keys)
			gatetest.Within(t, 16*time.Millisecond, "key to screen, p99", func() time.Duration {
				var all []time.Duration
				for i := range 100 {
					all = append(all, p.key(t, a, keys[i%len(keys)]))
					time.Sleep(time.Duration(i%7) * time.Millisecond)
				}
				t.Logf("p50 %v p90 %v", percentile(all, 50), percentile(all, 90))
				return percentile(all, 99)
			})
		})
	}
}

// sequences are what a terminal sends for keys.
var sequences = map[string]string{"<enter>": "\r", "<down>": "\x1b[B", "<up>": "\x1b[A", "<tab>": "\t", "<backspace>": "\x7f", "<esc>": "\x1b"}

// key presses a key and returns how long it took until the screen showed its effect.
func (p *countingPTY) key(t *testing.T, a *timed, key string) time.Duration {
	t.Helper()
	bytes := key
	if s, ok := sequences[key]; ok {
		bytes = s
	}
	a.pressed <- a.time()
	if _, err := p.main.WriteString(bytes); err != nil {
		t.Fatal(err)
	}
	return <-a.shown
}
