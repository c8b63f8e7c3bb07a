package tui

import (
	"cmp"
	"context"
	"os"
	"time"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"

	"goblin-actor/internal/status"
)

const (
	flashTime = 6 * time.Second
	maxTrail  = 50 // views that esc goes back through
)

// Options are how a console looks; the zero value is right for a terminal.
type Options struct {
	Screen  tcell.Screen     // nil = the terminal of this process
	Palette string           // name of a palette; "" = "colour". NO_COLOR in the environment makes it "mono", whatever else is asked for
	Skin    map[string]Paint // by name of a part, laid over the palette; not with NO_COLOR
	View    string           // the first view; "" = overview
	Ends    bool             // leaving ends the gateway: the user is told
	Now     func() time.Time // nil = time.Now
}

// mode is what keys mean now.
type mode string

const (
	modeBrowse  mode = "browse"
	modeCommand mode = "command" // : is being typed
	modeFilter  mode = "filter"  // / is being typed
	modeConfirm mode = "confirm" // a dangerous action asks
	modeHelp    mode = "help"
)

// App is the console. Its state belongs to the goroutine of the screen.
type App struct {
	*tview.Box // the whole screen: App is the root primitive, and draws everything

	screen *tview.Application
	source status.Source
	pump   *pump
	ctx    context.Context // of the pump and of actions
	stop   context.CancelFunc
	done   chan struct{} // closed when the pump has ended

	drawn  func()      // called once, at the first Draw; nil = done
	unhook func() bool // ends the wait for the caller's ctx

	palette Palette
	ends    bool // leaving ends the gateway
	now     func() time.Time

	picture *Picture
	trail   []*view // the last one is shown; esc goes back through them
	before  *view   // what - goes to; nil = nothing

	mode    mode
	input   *tview.InputField
	kept    string        // the filter as it was before it is typed
	confirm string        // the question
	act     status.Action // what a yes does

	panel    bool // the side panel is open
	panelTop int
	helpTop  int

	outcomes    chan outcome // of actions; shown with the next Picture
	flash       string
	flashHealth Health
	flashed     time.Time
	looking     chan bool // capacity 1: whether metrics are looked at, newest
	metrics     bool
}

// outcome says what has become of an action.
type outcome struct {
	text   string
	health Health
}

// Run shows the console until the user leaves or ctx ends. It takes the terminal meanwhile. Blocks.
func Run(ctx context.Context, source status.Source, o Options) error {
	a := newApp(ctx, source, o)
	if o.Screen != nil {
		a.screen.SetScreen(o.Screen)
	}
	go func() {
		defer close(a.done)
		a.pump.run(a.ctx)
	}()
	a.drawn = func() { a.unhook = context.AfterFunc(ctx, a.quit) } // a screen that has not begun cannot be stopped
	err := a.screen.SetRoot(a, true).EnablePaste(true).Run()
	a.stop()
	if a.unhook != nil {
		a.unhook()
	}
	return err
}

func newApp(ctx context.Context, source status.Source, o Options) *App {
	a := &App{Box: tview.NewBox(), screen: tview.NewApplication(), source: source, done: make(chan struct{}),
		now: o.Now, ends: o.Ends, picture: nothing(), mode: modeBrowse, looking: make(chan bool, 1), outcomes: make(chan outcome, 16)}
	a.ctx, a.stop = context.WithCancel(context.WithoutCancel(ctx))
	if a.now == nil {
		a.now = time.Now
	}
	a.palette = paletteOf(cmp.Or(o.Palette, "colour"), o.Skin)
	if os.Getenv("NO_COLOR") != "" {
		a.palette = palettes["mono"]
	}
	a.pump = &pump{source: source, now: a.now, hurry: make(chan struct{}, 1), metrics: a.wantsMetrics(),
		show: func(p *Picture) { a.screen.QueueUpdateDraw(func() { a.take(p) }) }}
	a.newInput()
	kind := kindOf(o.View)
	if kind == nil {
		kind = overviewKind
	}
	a.trail = []*view{newView(kind, "", "")}
	a.screen.SetInputCapture(func(e *tcell.EventKey) *tcell.EventKey {
		if ctrl('c')(e) { // tview's own way out would leave the pump waiting for it
			a.quit()
			return nil
		}
		return e
	})
	return a
}

// wantsMetrics returns what the pump asks: whether metrics are looked at, as it was told last.
func (a *App) wantsMetrics() func() bool {
	looked := false
	return func() bool {
		select {
		case looked = <-a.looking:
		default:
		}
		return looked
	}
}

// take shows a newer Picture.
func (a *App) take(p *Picture) {
	if p.Lost == nil && a.picture.Lost != nil {
		a.say("the gateway answers again", Good)
	}
	for {
		select {
		case o := <-a.outcomes:
			a.say(o.text, o.health)
			continue
		default:
		}
		break
	}
	a.picture = p
	a.view().show(p, a.now())
}

// view is the one that is shown.
func (a *App) view() *view { return a.trail[len(a.trail)-1] }

// open goes to a view. Who asks for the one that is shown keeps it as it is.
func (a *App) open(v *view) {
	if now := a.view(); now.kind == v.kind && now.server == v.server && now.session == v.session {
		return
	}
	a.before = a.view()
	a.trail = append(a.trail, v)
	if len(a.trail) > maxTrail {
		a.trail = append(a.trail[:1:1], a.trail[2:]...)
	}
	a.shown()
}

// shown follows a change of the view.
func (a *App) shown() {
	a.panel = false
	a.view().last = nil
	a.view().show(a.picture, a.now())
	if looks := a.view().kind == metricsKind; looks != a.metrics {
		a.metrics = looks
		select {
		case <-a.looking:
		default:
		}
		a.looking <- looks
	}
	a.hurry()
}

// hurry has the pump ask soon.
func (a *App) hurry() {
	select {
	case a.pump.hurry <- struct{}{}:
	default:
	}
}

// say shows a message for six seconds.
func (a *App) say(text string, h Health) {
	a.flash, a.flashHealth, a.flashed = plain(text), h, a.now()
}

// quit ends the pump, then the screen: a pump without screen would wait for ever. It returns at once.
func (a *App) quit() {
	a.stop()
	go func() {
		<-a.done
		a.screen.Stop()
	}()
}

func (a *App) redraw() { go a.screen.Sync() }
