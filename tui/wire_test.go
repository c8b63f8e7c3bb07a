package tui

import (
	"bytes"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/gdamore/tcell/v2"

	"goblin-actor/internal/gatetest"
)

// wire is a terminal on which nothing is typed. It shows what it receives on a gatetest.VT.
type wire struct {
	t      *testing.T
	screen *frame
	vt     *gatetest.VT

	mu    sync.Mutex
	out   bytes.Buffer
	ended chan struct{}
	once  sync.Once
}

// newWire returns a terminal with 256 colors, of w columns and h lines.
func newWire(t *testing.T, w, h int) *wire {
	t.Helper()
	t.Setenv("LC_ALL", "C.UTF-8")
	xterm, err := tcell.LookupTerminfo("xterm-256color")
	if err != nil {
		t.Fatal(err)
	}
	own := *xterm // a screen completes its copy
	i := &wire{t: t, vt: gatetest.NewVT(w, h), ended: make(chan struct{})}
	screen, err := tcell.NewTerminfoScreenFromTtyTerminfo(&wireTTY{i, w, h}, &own)
	if err != nil {
		t.Fatal(err)
	}
	i.screen = &frame{Screen: screen}
	if err := i.screen.Init(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(i.screen.Fini)
	return i
}

// shows draws a console and checks that the terminal shows what the console has drawn, and that it received nothing else. after says
// what was done before.
func (i *wire) shows(a *App, after string) {
	i.t.Helper()
	w, h := i.screen.Size()
	a.SetRect(0, 0, w, h)
	i.screen.Clear()
	a.Draw(i.screen)
	i.screen.Show()
	i.mu.Lock()
	out := i.out.String()
	i.out.Reset()
	i.mu.Unlock()
	i.vt.Feed(out)
	if len(i.vt.Faults) > 0 {
		i.t.Fatalf("%.80q: the terminal received %q", after, i.vt.Faults)
	}
	for _, r := range out {
		if r > '~' && harmful(r) {
			i.t.Fatalf("%.80q: the terminal received %q", after, r)
		}
	}
	if got, want := i.vt.String(), strings.Join(screenLines(i.screen), "\n")+"\n"; got != want {
		i.t.Fatalf("%.80q: the terminal shows\n%s\nwant\n%s", after, got, want)
	}
}

// wireTTY is the device of a wire.
type wireTTY struct {
	*wire
	w, h int
}

// The methods of tcell.Tty.
func (*wireTTY) Start() error        { return nil }
func (*wireTTY) Stop() error         { return nil }
func (*wireTTY) Close() error        { return nil }
func (*wireTTY) NotifyResize(func()) {}

func (i *wireTTY) Drain() error {
	i.once.Do(func() { close(i.ended) })
	return nil
}

func (i *wireTTY) WindowSize() (tcell.WindowSize, error) {
	return tcell.WindowSize{Width: i.w, Height: i.h}, nil
}

func (i *wireTTY) Read([]byte) (int, error) {
	<-i.ended
	return 0, io.EOF
}

func (i *wireTTY) Write(b []byte) (int, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.out.Write(b)
}
