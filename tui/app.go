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
	maxTrail  = 50 // maximum number of views in the trail
)

// Options configures a console. The zero value suits a terminal.
type Options struct {
	Screen  tcell.Screen     // nil = the terminal of this process
	Palette string           // name of a palette; "" = "colour". NO_COLOR in the environment forces "mono"
	Skin    map[string]Paint // styles by part, applied over the palette; ignored with NO_COLOR
	View    string           // the first view; "" = overview
	Ends    bool             // quitting also stops the gateway; the key hints say so
	Now     func() time.Time // nil = time.Now
}

// mode selects how key presses are interpreted.
type mode string

const (
	modeBrowse  mode = "browse"
	modeCommand mode = "command" // typing after :
	modeFilter  mode = "filter"  // typing after /
	modeConfirm mode = "confirm" // confirming a dangerous action
	modeHelp    mode = "help"
)

// App is the console. Only the screen's goroutine accesses its state.
type App struct {
	*tview.Box // the whole screen: App is the root primitive and draws everything

	screen *tview.Application
	source status.Source
	pump   *pump
	ctx    context.Context // context of the pump and of actions
	stop   context.CancelFunc
	done   chan struct{} // closed when the pump has ended

	onFirstDraw func()      // called once, at the first Draw; nil afterwards
	unhook      func() bool // stops watching the caller's context

	palette Palette
	ends    bool // quitting stops the gateway
	now     func() time.Time

	picture *Picture
	trail   []*view // the last one is visible; esc goes back through them
	before  *view   // the previous view, for the key -; nil = none

	mode    mode
	input   *tview.InputField
	confirm string        // the question of modeConfirm
	act     status.Action // executed on "yes"

	panel    bool // the side panel is open
	panelTop int
	helpTop  int

	outcomes    chan outcome // results of actions; shown with the next Picture
	flash       string
	flashHealth Health
	flashed     time.Time
	showMetrics chan bool // capacity 1: the latest value of metrics, which the pump reads
	metrics     bool      // the metrics view is visible
}

// outcome is the result of an action.
type outcome struct {
	text   string
	health Health
}

// Run shows the console and blocks until the user quits or ctx ends. It owns the terminal during that time.
func Run(ctx context.Context, source status.Source, o Options) error {
	a := newApp(ctx, source, o)
	if o.Screen != nil {
		a.screen.SetScreen(o.Screen)
	}
	go func() {
		defer close(a.done)
		a.pump.run(a.ctx)
	}()
	a.onFirstDraw = func() { a.unhook = context.AfterFunc(ctx, a.quit) } // a screen that has not started cannot be stopped
	err := a.screen.SetRoot(a, true).EnablePaste(true).Run()
	a.stop()
	if a.unhook != nil {
		a.unhook()
	}
	return err
}

func newApp(ctx context.Context, source status.Source, o Options) *App {
	a := &App{Box: tview.NewBox(), screen: tview.NewApplication(), source: source, done: make(chan struct{}),
		now: o.Now, ends: o.Ends, picture: noPicture(), mode: modeBrowse, showMetrics: make(chan bool, 1), outcomes: make(chan outcome, 16)}
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
		if ctrl('c')(e) { // tview's own handler would leave the pump blocked on a stopped screen
			a.quit()
			return nil
		}
		return e
	})
	return a
}

// wantsMetrics returns a function that reports whether the metrics view is visible. Only the pump may call the function.
func (a *App) wantsMetrics() func() bool {
	visible := false
	return func() bool {
		select {
		case visible = <-a.showMetrics:
		default:
		}
		return visible
	}
}

// take shows a newer Picture and the results of actions that have arrived since the previous one.
func (a *App) take(p *Picture) {
	if p.Lost == nil && a.picture.Lost != nil {
		a.notify("the gateway is responding again", Good)
	}
	for {
		select {
		case o := <-a.outcomes:
			a.notify(o.text, o.health)
			continue
		default:
		}
		break
	}
	a.picture = p
	a.view().show(p, a.now())
}

// view returns the visible view.
func (a *App) view() *view { return a.trail[len(a.trail)-1] }

// open goes to a view and adds it to the trail. Opening the visible view again changes nothing.
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

// shown updates the console after the visible view has changed.
func (a *App) shown() {
	a.panel = false
	a.view().last = nil
	a.view().show(a.picture, a.now())
	if metrics := a.view().kind == metricsKind; metrics != a.metrics {
		a.metrics = metrics
		select {
		case <-a.showMetrics:
		default:
		}
		a.showMetrics <- metrics
	}
	a.hurry()
}

// hurry makes the pump poll as soon as minPause allows.
func (a *App) hurry() {
	select {
	case a.pump.hurry <- struct{}{}:
	default:
	}
}

// notify shows a message in the last line for six seconds.
func (a *App) notify(text string, h Health) {
	a.flash, a.flashHealth, a.flashed = plain(text), h, a.now()
}

// quit stops the pump and then the screen. In the reverse order, the pump would block forever. quit returns immediately.
func (a *App) quit() {
	a.stop()
	go func() {
		<-a.done
		a.screen.Stop()
	}()
}

func (a *App) redraw() { go a.screen.Sync() }
