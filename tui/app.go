package tui

import (
	"context"
	"sync"
	"time"

	"github.com/gdamore/tcell/v2"
	"github.com/rivo/tview"

	"goblin-actor/internal/status"
)

// flashTime is how long a message stays on the screen.
const flashTime = 6 * time.Second

// Options configures a console. The zero value suits a terminal.
type Options struct {
	Screen  tcell.Screen     // nil = the terminal of this process
	Palette string           // name of a palette; "" = "colour". NO_COLOR in the environment forces "mono"
	Skin    map[string]Paint // styles by part, applied over the palette; ignored with NO_COLOR
	View    string           // the first view; "" = overview
	Ends    bool             // quitting also stops the gateway; the key hints say so
	Now     func() time.Time // nil = time.Now
	ASCII   bool             // draw the console's own glyphs in ASCII
	Calm    bool             // no arrows, and one update a second
	NoMouse bool             // leave the mouse to the terminal

	ReadOnly bool   // the gateway refuses every action of this console
	Config   string // absolute path of the configuration file that commands of this user edit by default; "" = none
	Logins   Logins // nil = the console cannot log in

	// Explain explains whether a principal may use an item. It may block and is safe for concurrent use. nil = the
	// console cannot explain denials.
	Explain func(ctx context.Context, who, item string) (string, error)

	// Edit lets the user change a file in an editor, which has the terminal until Edit returns. nil = there is no editor.
	Edit func(path string) error

	// Reread returns the skin if its file was saved since the last call, or what is wrong with it. It returns nil and no error
	// if nothing has changed. It may block; one goroutine calls it once a second. nil = the skin cannot change.
	Reread func() (map[string]Paint, error)
}

// mode selects how key presses are interpreted.
type mode string

const (
	modeBrowse  mode = "browse"
	modeCommand mode = "command" // typing after :
	modeFilter  mode = "filter"  // typing after /
	modeConfirm mode = "confirm" // confirming a dangerous action
	modeHelp    mode = "help"
	modeFull    mode = "full" // the selected row's details on the full screen
	modeCopy    mode = "copy" // choosing what to copy
)

// App is the console. Only the screen's goroutine accesses its state.
type App struct {
	*tview.Box // the whole screen: App is the root primitive and draws everything
	machinery

	look
	ends bool // quitting stops the gateway
	now  func() time.Time

	picture *Picture
	root    *view    // the overview
	history history  // the views that were visible
	before  *view    // the previous view, for the key -; nil = none
	paused  *Picture // the newest Picture while the screen is paused; nil = not paused

	pausedAt time.Time
	window   int      // index in windows
	samples  []sample // of the metrics view
	messages messages
	prompting
	details
	acting
	pointing
	flash       string
	flashHealth Health
	flashed     time.Time
}

// machinery is what runs the console.
type machinery struct {
	screen *tview.Application
	source status.Source
	pump   *pump
	ctx    context.Context // context of the pump and of actions
	stop   context.CancelFunc

	pumping sync.WaitGroup // the goroutine of the pump
	drawing sync.WaitGroup // the goroutine that passes a Picture to the screen

	onFirstDraw func()      // called once, at the first Draw; nil afterwards
	unhook      func() bool // stops watching the caller's context

	outcomes  chan outcome // results of actions; shown with the next Picture
	shows     chan wants   // capacity 1: the latest value of shown, which the pump reads
	shown     wants        // what the visible view needs
	clipboard func(text string) error
	edit      func(path string) error          // Options.Edit
	reread    func() (map[string]Paint, error) // Options.Reread
	suspend   func(do func()) bool             // calls do while the console has left the terminal; false = do was not called
	terminal  tcell.Screen                     // the screen of the last Draw
}

// prompting is the state of the last line while it asks for something.
type prompting struct {
	mode    mode
	input   *tview.InputField
	confirm string // the question of modeConfirm
	onYes   func() // called on "yes"
}

// details is the state of the side panel, the full screen and the help.
type details struct {
	panel    bool // the side panel is open
	json     bool // the full screen shows JSON
	panelTop int
	helpTop  int
}

// wants says which data a view needs besides the data that is fetched for all views.
type wants struct {
	actors  bool  // Picture.Actors
	metrics bool  // Picture.Metrics
	usage   bool  // Picture.Usage
	access  *Kind // the kind whose Fetch to call; nil = none
	of      scope // of the view, if it has a Fetch
}

func wantsOf(v *view) wants {
	want := wants{actors: v.kind == actorsKind || v.kind == actorKind, metrics: v.kind == metricsKind, usage: v.kind.Usage}
	if v.kind.Fetch != nil {
		want.access, want.of = v.kind, v.scope
	}
	return want
}

// outcome is the result of an action.
type outcome struct {
	text   string
	health Health
}

// Run shows the console and blocks until the user quits or ctx ends. It owns the terminal during that time. It returns an error
// if the terminal cannot be used.
func Run(ctx context.Context, source status.Source, o Options) error {
	a := newApp(ctx, source, o)
	return a.run(ctx, o.Screen, a)
}

// run shows root, which draws the App, until the user quits or ctx ends. A nil screen is the terminal of this process.
func (a *App) run(ctx context.Context, screen tcell.Screen, root tview.Primitive) error {
	if screen == nil {
		tcell.SetEncodingFallback(tcell.EncodingFallbackASCII) // for locales that tcell does not know
		var err error
		if screen, err = tcell.NewScreen(); err != nil {
			return err
		}
	}
	f := &frame{Screen: screen}
	if a.screen.SetScreen(f); f.err != nil {
		return f.err
	}
	a.onFirstDraw = func() { // not earlier: a screen that has not started cannot be stopped, and shows no Pictures
		a.pumping.Go(func() { a.pump.run(a.ctx) })
		a.unhook = context.AfterFunc(ctx, a.quit)
		if a.reread != nil && !a.noColor {
			go a.followSkin(a.reread) // quit does not wait for it, because it may block
		}
	}
	err := a.screen.SetRoot(root, true).EnablePaste(true).EnableMouse(a.mouse).Run()
	a.stop()
	if a.unhook != nil {
		a.unhook()
	}
	a.pumping.Wait()
	return err
}

func newApp(ctx context.Context, source status.Source, o Options) *App {
	a := &App{Box: tview.NewBox(), now: o.Now, ends: o.Ends, picture: noPicture(), prompting: prompting{mode: modeBrowse},
		machinery: machinery{screen: tview.NewApplication(), source: source, shows: make(chan wants, 1), outcomes: make(chan outcome, 16)}}
	a.clipboard, a.edit, a.reread, a.suspend = a.toClipboard, o.Edit, o.Reread, a.screen.Suspend
	a.later, a.readOnly, a.config, a.logins, a.explain = make(chan func(), 16), o.ReadOnly, o.Config, o.Logins, o.Explain
	a.ctx, a.stop = context.WithCancel(context.WithoutCancel(ctx))
	if a.now == nil {
		a.now = time.Now
	}
	a.look, a.mouse = newLook(o), !o.NoMouse
	a.pump = newPump(source, a.now, a.draws)
	a.pump.calm = o.Calm
	a.pump.wants = a.wants()
	a.newInput()
	a.history.add(a.home())
	if kind := kindOf(o.View); kind != nil && kind != overviewKind {
		v := newView(kind, "", "")
		v.up = a.above(v)
		a.history = history{views: []*view{v}}
		a.changed()
	}
	a.screen.SetInputCapture(func(e *tcell.EventKey) *tcell.EventKey {
		if ctrl('c')(e) { // tview's own handler would leave the pump blocked on a stopped screen
			a.quit()
			return nil
		}
		return e
	})
	return a
}

// wants returns a function that returns what the visible view needs. Only the pump may call the function.
func (a *App) wants() func() wants {
	var visible wants
	return func() wants {
		select {
		case visible = <-a.shows:
		default:
		}
		return visible
	}
}

// draws passes a newer Picture to take on the screen's goroutine. It blocks until the screen is drawn or the console ends.
func (a *App) draws(p *Picture) {
	drawn := make(chan struct{})
	a.drawing.Go(func() {
		a.screen.QueueUpdateDraw(func() { a.take(p) })
		close(drawn)
	})
	select {
	case <-drawn:
	case <-a.ctx.Done():
	}
}

// take shows a newer Picture or, while the screen is paused, keeps it. It also shows the results of actions that have arrived
// since the previous Picture.
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
	a.catchUp()
	if a.paused != nil {
		a.paused = p
		a.keepingWhilePaused(p)
		return
	}
	a.display(p)
}

// display shows a Picture, together with what the console has learned from earlier ones.
func (a *App) display(p *Picture) {
	copied := *p
	copied.Window = a.window
	a.samples = sampled(a.samples, p.Metrics, p.Now)
	copied.samples = a.samples
	a.messages = a.messages.next(p)
	copied.messages = a.messages
	a.picture = &copied
	a.view().show(a.picture, a.now())
}

// widen computes rates over the next longer or shorter window, if there is one.
func (a *App) widen(e *tcell.EventKey) {
	step := 1
	if e.Rune() == ',' {
		step = -1
	}
	if next := a.window + step; next >= 0 && next < len(windows) {
		a.window = next
	}
	a.notify("rates over the last "+windowName(windows[a.window]), Plain)
	a.display(a.picture)
}

// pause pauses the screen. If it is paused, pause shows the newest Picture and continues.
func (a *App) pause(*tcell.EventKey) {
	if a.paused == nil {
		a.paused, a.pausedAt = a.picture, a.now()
		return
	}
	p := a.paused
	a.paused = nil
	a.take(p)
}

// changed updates the console after the visible view has changed.
func (a *App) changed() {
	a.panel = false
	if a.before != nil && a.before != a.view() {
		a.before.forget()
	}
	a.view().last = nil
	a.view().show(a.picture, a.now())
	if v := a.view(); !v.panels[v.focus].visible() {
		v.selectPanel(0)
	}
	if want := wantsOf(a.view()); want != a.shown {
		a.shown = want
		select {
		case <-a.shows:
		default:
		}
		a.shows <- want
	}
	a.hurry()
}

// hurry makes the pump fetch what the view needs as soon as minPause allows.
func (a *App) hurry() {
	select {
	case a.pump.hurry <- struct{}{}:
	default:
	}
}

// notify shows a message at the bottom of the screen for flashTime, or until the next message.
func (a *App) notify(text string, h Health) {
	a.flash, a.flashHealth, a.flashed = plain(text), h, a.now()
}

// quit stops the pump and then the screen, since a Picture that waits for a stopped screen would wait forever. quit returns
// immediately.
func (a *App) quit() {
	a.stop()
	go func() {
		a.pumping.Wait()
		a.drawing.Wait()
		a.screen.Stop()
	}()
}

func (a *App) redraw() { go a.screen.Sync() }
